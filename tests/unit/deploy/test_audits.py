"""What an audit's row says: never "nothing" for a service that did not answer."""

import importlib.util
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[3] / "deploy" / "audits.py"
NOW = datetime(2026, 11, 23, 4, 30, tzinfo=UTC)
BAD = {"name": "jinja2", "version": "2.11.2", "vulns": [{"id": "PYSEC-2021-66"}]}
GOOD = {"name": "django", "version": "5.2.19", "vulns": []}
UNKNOWN = {"name": "amqp", "skip_reason": "not found on\nPyPI | https://mirror.test/pypi"}


@pytest.fixture(scope="module")
def audits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audits", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["audits"] = module
    spec.loader.exec_module(module)
    return module


def report(*packages: dict[str, Any]) -> dict[str, Any]:
    return {"dependencies": list(packages), "fixes": []}


@pytest.mark.parametrize(
    ("packages", "canary", "answered", "found"),
    [
        ((GOOD, GOOD), BAD, "2 of 2", "nothing"),
        ((GOOD, BAD), BAD, "2 of 2", "jinja2 2.11.2: PYSEC-2021-66"),
        ((GOOD, UNKNOWN), BAD, "1 of 2: not found on PyPI /", "**cannot be said**"),
        ((UNKNOWN,), UNKNOWN, "0 of 1: not found on PyPI /", "**cannot be said**"),
        ((), BAD, "0 of 0", "**cannot be said**"),
        (
            (GOOD,),
            {**BAD, "vulns": []},
            "1 of 1: it does not know that jinja2==2.11.2 is vulnerable",
            "**cannot be said**",
        ),
    ],
    ids=["clean", "a finding", "one unknown", "no service", "no packages", "empty advisories"],
)
def test_a_row_about_python(
    audits: ModuleType, packages: Any, canary: Any, answered: str, found: str
) -> None:
    row = audits.python_audit("pip-audit 2", report(*packages), report(canary)).row(NOW)
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    assert cells == ["2026-11-23 04:30 UTC", "pip-audit 2", str(len(packages)), answered, found]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"vulnerabilities": {}, "metadata": {}}, "nothing"),
        (
            {"vulnerabilities": {"x": {"name": "x", "range": "<2", "severity": "high"}}},
            "x <2: high",
        ),
        ({"message": "405 Method Not Allowed - POST https://mirror.test/x"}, "**cannot be said**"),
    ],
)
def test_a_row_about_the_studio(audits: ModuleType, said: Any, found: str) -> None:
    row = audits.studio_audit("npm 11", 192, said).row(NOW)
    assert row.endswith(f"| {found} |\n")
    assert "mirror" not in row


def test_rows_go_to_the_top_of_the_table(audits: ModuleType) -> None:
    page = (Path(__file__).parents[3] / "docs" / "audits.md").read_text(encoding="utf-8")
    grown = audits.with_rows(page, ["| new |\n"])
    assert grown.replace("| new |\n", "") == page
    assert grown.index("| new |") == grown.index(audits.MARK) + len(audits.MARK)
    with pytest.raises(ValueError, match="no table"):
        audits.with_rows("no table", [])
