"""Asks a real Prometheus for the burn rates of every made history, and prints them as JSON.

``promtool`` makes blocks of what was scraped, and ``prometheus`` answers over them. Both are of the
PATH, or below the folder that is named. See ``make objectives-oracle``.

    python -m tests.support.promql.oracle [FOLDER WITH usr/bin/promtool]
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx

from tests.support.promql.histories import HISTORIES, TARGETS, WINDOWS, History, expression

READY_S = 60.0
KEPT = "--storage.tsdb.retention.time=100y"  # the histories are of long ago


def main() -> None:
    path = f"{Path(sys.argv[1]).resolve()}/usr/bin" if len(sys.argv) > 1 else None
    promtool, prometheus = (
        shutil.which(name, path=path) or _absent(name) for name in ("promtool", "prometheus")
    )
    with tempfile.TemporaryDirectory(prefix="shoal-promql-") as name:
        folder = Path(name)
        with (folder / "scraped.om").open("w") as file:
            for one in HISTORIES.values():
                _write(one, file)
            file.write("# EOF\n")
        blocks = folder / "blocks"
        subprocess.run(
            [promtool, "tsdb", "create-blocks-from", "openmetrics", file.name, str(blocks)],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        with _running(prometheus, folder, blocks) as url:
            version = _get(url, "status/buildinfo")["version"]
            answers = {one.name: _asked(url, one) for one in HISTORIES.values()}
    json.dump({"prometheus": version, "answers": answers}, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _absent(name: str) -> str:
    sys.exit(f"{name} is not installed; on Debian it is in the package prometheus.")


def _write(history: History, file: IO[str]) -> None:
    for at, series in history.scraped():
        for (name, labels), value in series.items():
            told = ",".join(f'{label}="{text}"' for label, text in labels)
            file.write(f"{name}{{{told}}} {value:g} {at:.3f}\n")


@contextmanager
def _running(prometheus: str, folder: Path, blocks: Path) -> Iterator[str]:
    """On a free port, until the block ends."""
    (folder / "prometheus.yml").write_text("{}\n")
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            [prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={blocks}",
             "--web.listen-address=127.0.0.1:0", KEPT],
            stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield f"http://{_address(process, folder / 'log')}"
        finally:
            process.terminate()
            process.wait(READY_S)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        text = log.read_text()
        found = re.search(r"Listening on\D*address=(\S+)", text)
        if found and "ready to receive web requests" in text:
            return found[1]
        threading.Event().wait(0.1)
    sys.exit(f"Prometheus is not ready:\n{log.read_text()}")


def _get(url: str, path: str, **query: Any) -> Any:
    answer = httpx.get(f"{url}/api/v1/{path}", params=query, trust_env=False, timeout=60)
    assert answer.is_success, answer.text
    return answer.json()["data"]


def _asked(url: str, history: History) -> dict[str, dict[str, dict[str, float | None]]]:
    """Kind, seconds after the first scrape, window: the burn rate. None: no number."""
    return {
        kind: {
            f"{moment - history.scrapes[0]:g}": {
                window: _rate(url, history, kind, moment, window) for window in WINDOWS
            }
            for moment in history.moments
        }
        for kind in TARGETS
    }


def _rate(url: str, history: History, kind: str, moment: float, window: str) -> float | None:
    asked = expression(kind, history.endpoint, window)
    found = _get(url, "query", query=asked, time=f"{moment:.3f}")["result"]
    value = float(found[0]["value"][1]) if found else float("nan")
    return None if value != value else value  # only what is no number is not itself


if __name__ == "__main__":
    main()
