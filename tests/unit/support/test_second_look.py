"""Failed tests are asked once more, where that was asked for, and what they say then counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import second_look

ROOT = Path(__file__).parents[3]
RACY = """
from pathlib import Path
def test_racy():
    mark = Path(__file__).with_name("mark")
    first = not mark.exists()
    mark.touch()
    assert not first
"""
BROKEN = "def test_broken():\n    assert False\n"
SOUND = "def test_sound():\n    pass\n"
MANY = (
    "import pytest\n@pytest.mark.parametrize('n', range(13))\ndef test_many(n):\n    assert False\n"
)


@pytest.mark.parametrize(
    ("files", "asked", "code", "told"),
    [
        ([SOUND], True, 0, ""),
        ([SOUND, RACY], True, 0, "passed only when asked again"),
        ([SOUND, RACY], False, 1, ""),
        ([SOUND, RACY, BROKEN], True, 1, "2 failed; a second look"),
        ([MANY], True, 1, "13 failed"),
        ([], True, 5, "no tests ran"),
    ],
    ids=["all-pass", "racy", "racy-not-asked", "broken", "too-many", "nothing-to-run"],
)
def test_what_a_second_look_decides(
    files: list[str], asked: bool, code: int, told: str, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for number, text in enumerate(files):
        (tmp_path / f"test_{number}.py").write_text(text)
    environment = {key: value for key, value in os.environ.items() if key != "SECOND_LOOK"}
    if asked:
        environment["SECOND_LOOK"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", second_look.__name__, "-q", "-n", "0", "-p", "no:django",
         "-c", str(tmp_path / "pytest.ini"), str(tmp_path)],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    assert told in done.stdout
    assert ("a second look" in done.stdout) == (asked and 0 < done.stdout.count("FAILED ") < 13)


def test_a_second_look_needs_no_workers() -> None:
    left = second_look.alone(["-q", "-n", "2", "--dist", "loadfile", "tests/e2e"])
    assert left[:2] == ["-q", "tests/e2e"]
