"""The page about the sandbox says what the hostile model tries."""

from pathlib import Path

from tests.support import hostile

PAGE = Path(__file__).parents[3] / "docs" / "security.md"


def test_the_page_has_the_table_of_what_is_tried() -> None:
    assert hostile.table() in PAGE.read_text(), "write hostile.table() to docs/security.md"


def test_attempts_have_names_of_their_own() -> None:
    names = [one.name for one in hostile.ATTEMPTS]
    assert len(set(names)) == len(names) >= 25
