"""No file of the product is longer than one reads at a sitting: who adds to it parts it first."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 400
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/py.typed"))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_is_too_long(package: str) -> None:
    """Migrations are made by a program, and never read again."""
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts
    }
    assert len(lengths) > 2
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}
