"""pytest, and a second look at the few tests that failed, where one was asked for.

    SECOND_LOOK=1 python -m tests.support.second_look PYTEST-ARGUMENT...

Without ``SECOND_LOOK`` this is pytest and nothing else. With it, up to ``MOST`` failed tests are
asked once more, one at a time, by a new pytest with new products, browsers and databases. What
fails again has failed; what passes then is named, so that nobody takes it for a test that passed
(docs/adr/0358).
"""

import json
import os
import subprocess
import sys
import tempfile
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


def main(arguments: list[str]) -> int:
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
        if code == 0:
            say("== passed only when asked again, so look for a race in", names)
        return code


def say(headline: str, names: list[str]) -> None:
    sys.stdout.write("\n".join([headline, *(f"   {name}" for name in names), ""]))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
