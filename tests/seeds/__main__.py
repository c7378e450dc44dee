"""``make seeds``: the first seed's tabs and Azure's kinds of samples against a fresh installation,
over TLS."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.e2e.product import ROOT, Product
from tests.seeds.files import write_all
from tests.support import reaper

HERE = Path(__file__).parent
LABEL = "84 : PEACOCK"
LONGEST_S = 600


def main() -> int:
    reaper.guard()
    with tempfile.TemporaryDirectory(prefix="shoal-seeds-") as folder:
        work = Path(folder) / "work"
        shutil.copytree(HERE, work, ignore=shutil.ignore_patterns("__pycache__"))
        write_all(work / "single-model")
        product = Product(Path(folder) / "home")
        product.home.mkdir()
        try:
            print("== make up, on free ports", flush=True)
            product.start()
            return run_all(work, product.home, product.client["ca_path"])
        finally:
            product.stop()


def run_all(work: Path, home: Path, authority: str) -> int:
    """0 when every tab printed the label."""
    programs = work / "bin"
    programs.mkdir()
    installed = Path(sys.executable).parent
    (programs / "az").symlink_to(installed / "shoal")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")
    } | {
        "PATH": f"{programs}:{installed}:{os.environ['PATH']}",
        "SHOAL_HOME": str(home),
        "XDG_CONFIG_HOME": str(work / "config"),
        "XDG_STATE_HOME": str(work / "state"),
        "SSL_CERT_FILE": authority,
        "REQUESTS_CA_BUNDLE": authority,
        "PYTHONPATH": f"{work / 'stand_ins'}:{ROOT}",
    }
    tabs = {
        "Azure CLI": ["bash", "cli.sh"],
        "Python": [sys.executable, "sdk.py"],
        "Scoring script": ["bash", "scoring.sh"],
        "MLflow": ["bash", "mlflow.sh"],
        "Local endpoint": ["bash", "local.sh"],
        "Samples": [sys.executable, "samples.py"],
    }
    failed = []
    for tab, command in tabs.items():
        print(f"== {tab}", flush=True)
        done = subprocess.run(
            command, cwd=work, env=environment, stdout=subprocess.PIPE, text=True, timeout=LONGEST_S
        )
        print(done.stdout, flush=True)
        if done.returncode or LABEL not in done.stdout:
            failed.append(f"{tab} (exit code {done.returncode})")
    print(f"FAILED: {', '.join(failed)}" if failed else f"Every tab printed {LABEL}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
