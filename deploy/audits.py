"""Asks the advisory services about every package, and writes down who answered what.

``python deploy/audits.py docs/audits.md`` puts two rows at the top of that page's table. A service
that does not answer is a result of its own: pip-audit says "no known vulnerabilities" of packages
that it could not look up, so they are counted here, and a package that is known to be vulnerable is
asked about as well. Exit code 0: all answered and nothing found; 1: findings; 2: no full answer.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MARK = "|---|---|---|---|---|\n"
KNOWN_BAD = "jinja2==2.11.2"  # PYSEC-2021-66: a service that has advisories has this one
LONGEST_REASON = 160


@dataclass(frozen=True, slots=True)
class Audit:
    """``asked`` packages, of which the service knew ``answered``; ``why`` it did not know more."""

    tool: str
    asked: int
    answered: int
    findings: tuple[str, ...]
    why: str = ""

    @property
    def whole(self) -> bool:
        return 0 < self.asked == self.answered and not self.why

    def row(self, now: datetime) -> str:
        told = f"{self.answered} of {self.asked}" + (f": {self.why}" if self.why else "")
        found = ", ".join(self.findings)
        verdict = found or ("nothing" if self.whole else "**cannot be said**")
        return f"| {now:%Y-%m-%d %H:%M} UTC | {self.tool} | {self.asked} | {told} | {verdict} |\n"


def python_audit(tool: str, report: dict[str, Any], canary: dict[str, Any]) -> Audit:
    """From two reports of ``pip-audit -f json``: of our packages, and of ``KNOWN_BAD`` alone."""
    packages = report["dependencies"]
    unknown = [package for package in packages if "skip_reason" in package]
    why = _short(unknown[0]["skip_reason"]) if unknown else ""
    if not any(package.get("vulns") for package in canary["dependencies"]):
        why = why or f"it does not know that {KNOWN_BAD} is vulnerable"
    return Audit(tool, len(packages), len(packages) - len(unknown), _findings(packages), why)


def _findings(packages: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(
        f"{package['name']} {package['version']}: {vulnerability['id']}"
        for package in packages
        for vulnerability in package.get("vulns", [])
    )


def studio_audit(tool: str, asked: int, report: dict[str, Any]) -> Audit:
    """From the report of ``npm audit --json``, which is an error's text where nobody answered."""
    if "vulnerabilities" not in report:
        return Audit(tool, asked, 0, (), _short(str(report.get("message", report))))
    found = report["vulnerabilities"].values()
    findings = tuple(f"{one['name']} {one['range']}: {one['severity']}" for one in found)
    return Audit(tool, asked, asked, findings)


def _short(reason: str) -> str:
    plain = re.sub(r"[( -]*https?://[^\s)]+[)]*", "", reason)  # which mirror was asked is local
    return " ".join(plain.split()).replace("|", "/")[:LONGEST_REASON]


def with_rows(page: str, rows: Iterable[str]) -> str:
    before, mark, after = page.partition(MARK)
    if not mark:
        raise ValueError(f"no table whose head ends with {MARK!r}")
    return before + mark + "".join(rows) + after


def main(page: Path) -> int:
    packages = output([str(ROOT / ".venv/bin/python"), "-m", "pip", "freeze", "--exclude-editable"])
    names = [line for line in packages.splitlines() if "==" in line]
    lock = json.loads((ROOT / "frontend" / "package-lock.json").read_text(encoding="utf-8"))
    studio = json.loads(output(["npm", "audit", "--json"], ROOT / "frontend"))
    audits = [
        python_audit(
            f"pip-audit {version('pip-audit')}", _pip_audit(names), _pip_audit([KNOWN_BAD])
        ),
        studio_audit(
            f"npm {output(['npm', '--version']).strip()}", len(lock["packages"]) - 1, studio
        ),
    ]
    rows = [audit.row(datetime.now(UTC)) for audit in audits]
    page.write_text(with_rows(page.read_text(encoding="utf-8"), rows), encoding="utf-8")
    sys.stdout.write("".join(rows))
    if any(audit.findings for audit in audits):
        return 1
    return 0 if all(audit.whole for audit in audits) else 2


def _pip_audit(requirements: list[str]) -> dict[str, Any]:
    file = ROOT / ".build" / "audited.txt"
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(requirements) + "\n", encoding="utf-8")
    options = ["--disable-pip", "--no-deps", "--progress-spinner=off", "-f=json", "-r", str(file)]
    found: dict[str, Any] = json.loads(output([sys.executable, "-m", "pip_audit", *options]))
    return found


def output(command: list[str], folder: Path = ROOT) -> str:
    """What a program writes; both audits exit 1 where they find something. Its words for people go
    to stderr."""
    return subprocess.run(
        command, cwd=folder, check=False, stdout=subprocess.PIPE, text=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
