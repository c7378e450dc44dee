"""Decisions in docs/adr have their four parts, stand in the index, and references lead to them."""

import re
import subprocess
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "adr"
INDEX = FOLDER / "README.md"
RECORDS = sorted(path for path in FOLDER.iterdir() if path != INDEX)
NAMES = {path.name for path in RECORDS}
NUMBERS = {name[:4] for name in NAMES}
MOST_LINES = 40

FORM = re.compile(
    r"# (?P<number>\d{4})\. (?P<title>\S[^\n]*)\n\n"
    r"\*\*Status\.\*\* (?P<status>Accepted|Superseded by (?P<by>\d{4})), (?P<date>[\d-]+)\."
    r"(?: Merged from [^\n]+\.)?\n\n"
    r"\*\*Context\.\*\*\s+\S.*\n\n\*\*Decision\.\*\*\s+\S.*\n\n\*\*Cost\.\*\*\s+\S.*",
    re.DOTALL,
)
HEAD = ("| number | decision | status | date |", "|---|---|---|---|")
# "ADR 0001", "ADR-0001", "ADRs 0001, 0002 and 0003", also over the end of a line of a comment
NUMBER = r"\d{4}\b(?!-\d)"  # no date
NAMED = re.compile(rf"\bADRs?[-\s#*/]{{0,9}}({NUMBER}(?:(?:, and |, | and ){NUMBER})*)")
PATHS = re.compile(r"\badr/(\d{4}(?:-[\w-]+\.md)?)")


def parts(path: Path) -> re.Match[str]:
    found = FORM.fullmatch(path.read_text())
    assert found, f"{path.name} is not as the template of docs/adr/README.md says"
    return found


def astray(text: str) -> set[str]:
    """References in ``text`` to records that are not there: numbers, or names of files."""
    told = set(PATHS.findall(text))
    for numbers in NAMED.findall(text):
        told |= set(re.findall(r"\d{4}", numbers))
    return told - NUMBERS - NAMES


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_there_are_records() -> None:
    assert len(RECORDS) > 20
    assert len(NUMBERS) == len(RECORDS), "two records have one number"


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name[:4])
def test_a_record_has_its_parts(path: Path) -> None:
    found = parts(path)
    assert re.fullmatch(found["number"] + r"-[a-z0-9-]+\.md", path.name)
    assert date.fromisoformat(found["date"]).isoformat() == found["date"]
    assert found["by"] is None or found["by"] in NUMBERS - {found["number"]}
    assert len(path.read_text().splitlines()) <= MOST_LINES, "what is more belongs on a page"


def test_the_index_has_every_record_and_nothing_else() -> None:
    rows = [line for line in INDEX.read_text().splitlines() if line.startswith("|")]
    wanted = [
        f"| [{found['number']}]({path.name}) | {found['title']} | {found['status'].lower()}"
        f" | {found['date']} |"
        for path, found in ((path, parts(path)) for path in RECORDS)
    ]
    assert sorted(row for row in rows if row not in HEAD) == wanted


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git says which files are ours")
def test_references_lead_to_records() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): sorted(names)
        for path in tracked()
        if path.is_file() and path != Path(__file__)
        if (names := astray(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert not found, f"name a record that is there, or the page that says it: {found}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("(ADR 9991)", {"9991"}),
        ("ADR-9991: why", {"9991"}),
        ("ADRs 9991, 9992 and 9993", {"9991", "9992", "9993"}),
        ("# is kept (ADR\n# 9991)", {"9991"}),
        ("docs/adr/9991)", {"9991"}),
        ("[why](adr/9991-some-thing.md)", {"9991-some-thing.md"}),
        ("ADR 9991, 2026-11-23", {"9991"}),
        ("an ADR of 2026", set()),
    ],
)
def test_a_reference_that_leads_nowhere_is_found(text: str, told: set[str]) -> None:
    assert astray(text) == told


def test_one_that_leads_to_a_record_is_let_pass() -> None:
    path = RECORDS[0]
    assert not astray(f"ADR {path.name[:4]}, docs/adr/{path.name[:4]}, adr/{path.name}")
