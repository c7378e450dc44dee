"""Runs every example that calls an endpoint, against a fresh installation of its own.

    python examples/run_all.py [NAME ...]        # or: make examples

Starts `shoal up` on free ports with an empty home, runs the scripts one after another, and stops
it again. Exits 1 when one of them found a wrong result.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = ("digits", "sentence_embedding", "image_pipeline", "voice_activity")
PORTS = (
    "SHOAL_STUDIO_PORT",
    "SHOAL_AGENT_PORT",
    "SHOAL_GATEWAY_TLS_PORT",
    "SHOAL_GATEWAY_PORT",
)
START_S, STOP_S, POLL_S = 180.0, 60.0, 0.2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXAMPLES)}")
    names = parser.parse_args().names or EXAMPLES
    if unknown := set(names) - set(EXAMPLES):
        parser.error(f"no such example: {', '.join(sorted(unknown))}")
    ended: dict[str, tuple[int, float]] = {}
    with tempfile.TemporaryDirectory(prefix="shoal-examples-") as folder:
        environment = _environment(Path(folder) / "home")
        with installation(environment):
            for name in names:
                print(f"\n== {name}", flush=True)
                started = time.monotonic()
                done = subprocess.run(
                    [sys.executable, str(HERE / name / "run.py"), "--no-keep"],
                    env=environment,
                    check=False,
                )
                ended[name] = done.returncode, time.monotonic() - started
    print()
    for name, (status, seconds) in ended.items():
        outcome = "as it should be" if status == 0 else f"WRONG (exit {status})"
        print(f"{name:20} {seconds:6.1f} s  {outcome}")
    return 1 if any(status for status, _ in ended.values()) else 0


def _environment(home: Path) -> dict[str, str]:
    """Ours without the settings of another installation, on ports that are free."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    return {**kept, **dict.fromkeys(PORTS, "0"), "SHOAL_HOME": str(home)}


@contextmanager
def installation(environment: dict[str, str]) -> Iterator[None]:
    """A running `shoal up`, stopped at the end. Raises SystemExit with its words when it fails."""
    home = Path(environment["SHOAL_HOME"])
    output = home.with_name("up.log")
    with output.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal.local"],
            cwd=HERE.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # why: Ctrl-C is ours to pass on, once
        )
    try:
        deadline = time.monotonic() + START_S
        while not (home / "client.json").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"Shoal did not start:\n{output.read_text(errors='replace')}")
            time.sleep(POLL_S)
        yield
    finally:
        _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(STOP_S)


if __name__ == "__main__":
    sys.exit(main())
