"""`make test` runs every part once, and fails with any of them, also where two run side by side."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[3] / "Makefile"
# What runs in the place of every program: notes its words, and fails where they have $BROKEN.
PROGRAM = """#!/bin/bash
said="${0##*/} $*"
echo "$said" >> ran
if [ -n "$BROKEN" ] && [[ "$said" == *"$BROKEN"* ]]; then echo "broken: $said"; exit 1; fi
"""
PARTS = [
    "ruff check", "mypy", "lint-imports", "makemigrations", "build-studio --check",
    "-m pytest -q -n 2\n", "build-studio --test-browser", "tests/integration tests/conformance",
    "tests/load", "tests/hostile", "tests/chaos -m quick", "-m tests.fuzz",
    "tests.api_fuzz --seconds 120", "deploy/with_postgres.py", "tests/e2e",
]  # fmt: skip

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The Makefile where everything is installed, and every program a stand-in."""
    shutil.copy(MAKEFILE, tmp_path)
    for name in ("", "-cpu", "-cuda", "-dev"):
        (tmp_path / f"requirements{name}.lock").touch()
    (tmp_path / "pyproject.toml").touch()
    for name in ("python", "ruff", "mypy", "lint-imports"):
        program(tmp_path / ".venv" / "bin" / name)
    program(tmp_path / "deploy" / "build-studio")
    stamps = tmp_path / ".venv" / ".stamps"
    stamps.mkdir()
    for name in ("requirements", "package", "dev"):
        (stamps / name).touch()
    return tmp_path


def program(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PROGRAM)
    path.chmod(0o755)


def make_test(folder: Path, broken: str) -> "subprocess.CompletedProcess[str]":
    # why without: this test may itself be run by a make, whose flags are not for another
    flags = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}
    kept = {name: value for name, value in os.environ.items() if name not in flags}
    return subprocess.run(
        ["make", "test"], cwd=folder, env={**kept, "BROKEN": broken},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
    )  # fmt: skip


def test_every_part_runs_once(folder: Path) -> None:
    done = make_test(folder, "")
    assert done.returncode == 0, done.stdout
    ran = (folder / "ran").read_text()
    assert {part: ran.count(part) for part in PARTS} == dict.fromkeys(PARTS, 1)


@pytest.mark.parametrize("part", ["mypy", "tests/load", "tests.api_fuzz", "tests/e2e"])
def test_a_part_that_fails_fails_all_and_is_shown(folder: Path, part: str) -> None:
    done = make_test(folder, part)
    assert done.returncode != 0, done.stdout
    (shown,) = [line for line in done.stdout.splitlines() if line.startswith("broken: ")]
    assert part in shown


def test_what_runs_beside_another_is_told_whole(folder: Path) -> None:
    done = make_test(folder, "tests.fuzz")
    assert done.returncode != 0, done.stdout
    said = done.stdout.splitlines()
    assert said[said.index("== fuzzing") + 1].startswith("broken: python -m tests.fuzz")
