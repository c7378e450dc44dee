"""``make azure``: the genuine package's public flow against a fresh installation behind TLS.

``--record FILE`` writes what it asked, for ``tests/unit/controlplane/azure/test_azure_replay.py``.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from shoal.local import ports
from tests.azure.tls import TlsProxy
from tests.e2e.product import ROOT, Product
from tests.seeds.files import write_all
from tests.support import reaper

HERE = Path(__file__).parent
LONGEST_S = 900


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.azure")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--python", type=Path, default=ROOT / ".venv-azure" / "bin" / "python")
    chosen = parser.parse_args()
    reaper.guard()
    with tempfile.TemporaryDirectory(prefix="shoal-azure-") as name, ExitStack() as held:
        folder = Path(name)
        proxy = TlsProxy(folder)
        held.callback(proxy.close)
        port = ports.reserve(0, held)
        more = {
            "SHOAL_AZURE_API": "on",
            "SHOAL_PUBLIC_URL": proxy.url,
            "SHOAL_STUDIO_PORT": str(port),
        }
        product = Product(folder / "home", more)
        product.home.mkdir()
        try:
            print(f"== shoal up, behind {proxy.url}", flush=True)
            product.start()
            proxy.start(("127.0.0.1", port))
            return flow(folder, product, proxy, chosen.python, chosen.record)
        finally:
            product.stop()


def flow(folder: Path, product: Product, proxy: TlsProxy, python: Path, record: Path | None) -> int:
    work = folder / "work"
    shutil.copytree(ROOT / "tests" / "seeds" / "scoring-script", work / "scoring-script")
    write_all(work / "single-model")
    trusted = folder / "trusted.pem"
    trusted.write_text(proxy.authority.read_text() + Path(product.client["ca_path"]).read_text())
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {
        "AZUREML_DEV_URL_MFE": proxy.url,
        "REQUESTS_CA_BUNDLE": str(trusted),
        "SHOAL_TOKEN": product.client["token"],
        **({"SHOAL_RECORD": str(record.resolve())} if record else {}),
    }
    done = subprocess.run(
        [str(python), str(HERE / "flow.py")], cwd=work, env=environment, timeout=LONGEST_S
    )
    if done.returncode:
        print(product.last_words(), flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
