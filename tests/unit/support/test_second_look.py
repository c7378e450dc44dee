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
KNOWN = "2026-11-01 test_1.py::test_racy\n"
MANY = (
    "import pytest\n@pytest.mark.parametrize('n', range(13))\ndef test_many(n):\n    assert False\n"
)


@pytest.mark.parametrize(
    ("files", "asked", "known", "code", "told"),
    [
        ([SOUND], True, "", 0, ""),
        ([SOUND, RACY], True, "", 0, "passed only when asked again: look for a race"),
        ([SOUND, RACY], True, KNOWN, 1, "stand in {ledger} already: mend the race"),
        ([SOUND, RACY], False, "", 1, ""),
        ([SOUND, RACY, BROKEN], True, "", 1, "2 failed; a second look"),
        ([MANY], True, "", 1, "13 failed"),
        ([], True, "", 5, "no tests ran"),
    ],
    ids=["all-pass", "racy", "racy-again", "racy-not-asked", "broken", "too-many", "nothing"],
)
def test_what_a_second_look_decides(
    files: list[str], asked: bool, known: str, code: int, told: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.txt"
    ledger.write_text("# what has raced\n" + known)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for number, text in enumerate(files):
        (tmp_path / f"test_{number}.py").write_text(text)
    ours = ("SECOND_LOOK", "PYTEST_ADDOPTS")
    environment = {key: value for key, value in os.environ.items() if key not in ours}
    if asked:
        environment["SECOND_LOOK"] = "1"
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take seconds to import
    done = subprocess.run(
        [sys.executable, "-m", second_look.__name__, str(ledger),
         "-q", "-p", "xdist", "-p", "randomly", "-n", "0",
         "-c", str(tmp_path / "pytest.ini"), str(tmp_path)],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    assert told.format(ledger=ledger) in done.stdout
    assert ("a second look" in done.stdout) == (asked and 0 < done.stdout.count("FAILED ") < 13)


def test_a_race_is_written_down_once(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.txt"
    assert second_look.seen_before(ledger) == set()
    assert second_look.enter(ledger, ["a.py::test_b[x y]", "a.py::test_c"]) == 0
    assert second_look.seen_before(ledger) == {"a.py::test_b[x y]", "a.py::test_c"}
    before = ledger.read_text()
    assert second_look.enter(ledger, ["a.py::test_b[x y]", "a.py::test_new"]) == 1
    assert ledger.read_text() == before


def test_what_is_in_the_ledger_is_a_test_once() -> None:
    lines = (ROOT / "tests" / "second_looks.txt").read_text().splitlines()
    names = [line.split(" ", 1)[1] for line in lines if not line.startswith("#")]
    assert len(names) == len(set(names))
    assert [name for name in names if not (ROOT / name.split("::")[0]).is_file()] == []


def test_a_second_look_needs_no_workers() -> None:
    left = second_look.alone(["-q", "-n", "2", "--dist", "loadfile", "tests/e2e"])
    assert left[:2] == ["-q", "tests/e2e"]
