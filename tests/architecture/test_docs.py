"""Every page of the documentation is reached from the README, and its links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
PAGES = sorted((ROOT / "docs").glob("*.md"))
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))
RUNBOOKS = sorted((ROOT / "docs" / "runbooks").glob("*.md"))
READ_FIRST = [ROOT / "README.md", *PAGES, *DECISIONS, *RUNBOOKS]


def local_links(page: Path) -> list[str]:
    """Targets within the repository; backticks hold code, not links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "", text)
    return [target for target in LINK.findall(text) if ":" not in target.split("/")[0]]


def test_readme_links_every_page() -> None:
    linked = set(local_links(ROOT / "README.md"))
    missing = sorted(f"docs/{page.name}" for page in PAGES if f"docs/{page.name}" not in linked)
    assert not missing, f'add a line to the table "Where to read on" of README.md for {missing}'


def test_the_list_of_runbooks_has_every_one() -> None:
    index = ROOT / "docs" / "runbooks" / "README.md"
    assert "docs/runbooks/README.md" in local_links(ROOT / "README.md")
    missing = {page.name for page in RUNBOOKS} - set(local_links(index)) - {index.name}
    assert not missing, f"add them to the table of {index.relative_to(ROOT)}"


@pytest.mark.parametrize("page", READ_FIRST, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    broken = [target for target in local_links(page) if not (page.parent / target).exists()]
    assert not broken, f"{page.relative_to(ROOT)} links what is not there: {broken}"
