"""pytest, and a second look at the few tests that failed, where one was asked for.

    SECOND_LOOK=1 python -m tests.support.second_look LEDGER PYTEST-ARGUMENT...

Without ``SECOND_LOOK`` this is pytest and nothing else. With it, up to ``MOST`` failed tests are
asked once more, one at a time, by a new pytest with new products, browsers and databases. What
fails again has failed. What passes then is a race: it is named, and written into the file LEDGER,
which is committed. What stands there already has had its second look, and has failed
(docs/adr/0358). Whoever mends a race deletes its line.
"""

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

MOST = 12
_TESTS_FAILED = 1
_PYTEST = [sys.executable, "-m", "pytest"]


def failed_tests(cache: Path) -> list[str]:
    """The names that pytest's own cache plugin wrote below ``cache``."""
    written = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(written.read_text())) if written.exists() else []


def alone(arguments: list[str]) -> list[str]:
    """``arguments`` for few tests: no worker processes, in the order of their files."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in {"-n", "--dist"}:
            skip = True
        else:
            kept.append(argument)
    return [
        *kept,
        "--randomly-dont-reorganize",
        "--last-failed",
        "--last-failed-no-failures",
        "none",
    ]


def seen_before(ledger: Path) -> set[str]:
    """The tests in ``ledger``: lines of a date, a space and a name; ``#`` begins a comment."""
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    return {line.split(" ", 1)[1] for line in lines if line and not line.startswith("#")}


def enter(ledger: Path, names: list[str]) -> int:
    """Write what passed only when asked again into ``ledger``; 1 where a name stood there."""
    known = seen_before(ledger)
    if again := [name for name in names if name in known]:
        say(f"== passed only when asked again, and stand in {ledger} already: mend the race", again)
        return 1
    today = datetime.now(UTC).date().isoformat()
    with ledger.open("a") as lines:
        lines.writelines(f"{today} {name}\n" for name in names)
    say(f"== passed only when asked again: look for a race, and commit {ledger}", names)
    return 0


def main(ledger: Path, arguments: list[str]) -> int:
    """The exit code of pytest: of the second look where there was one."""
    if not os.environ.get("SECOND_LOOK"):
        return subprocess.run([*_PYTEST, *arguments], check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        command = [*_PYTEST, "-o", f"cache_dir={folder}"]
        code = subprocess.run([*command, *arguments], check=False).returncode
        names = failed_tests(Path(folder))
        if code != _TESTS_FAILED or not 0 < len(names) <= MOST:
            return code
        say(f"== {len(names)} failed; a second look at", names)
        code = subprocess.run([*command, *alone(arguments)], check=False).returncode
        return code or enter(ledger, names)


def say(headline: str, names: list[str]) -> None:
    sys.stdout.write("\n".join([headline, *(f"   {name}" for name in names), ""]))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
