"""What the cases of tests/gpu found: a table at the end, and a file of JSON for docs/gpu.md."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.gpu_device import Device, about_card


class CaseTable:
    """A plugin of pytest. A case's figures are the properties that it recorded."""

    def __init__(self, device: Device, path: str) -> None:
        self._device = device
        self._path = path
        self._cases: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "gpu" not in report.keywords:
            return
        name = report.nodeid.rpartition("/")[2]
        case = self._cases.setdefault(name, {"outcome": "passed", "seconds": 0.0})
        case["seconds"] = round(case["seconds"] + report.duration, 2)
        if report.outcome != "passed":
            case["outcome"] = report.outcome
            case["reason"] = _reason(report)
        case["figures"] = dict(report.user_properties)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._cases:
            return
        terminalreporter.section(f"cases on {self._device.name}")
        for name, case in sorted(self._cases.items()):
            figures = ", ".join(f"{key} {value}" for key, value in case["figures"].items())
            line = f"{case['outcome']:8} {case['seconds']:7.2f} s  {name}  {figures}"
            terminalreporter.write_line(line.rstrip())
        if self._path:
            Path(self._path).write_text(json.dumps(self._whole(), indent=1) + "\n")

    def _whole(self) -> dict[str, Any]:
        about = {"date": datetime.now(UTC).date().isoformat(), "device": self._device.name}
        if self._device.is_gpu:
            about |= about_card()
        return about | {"cases": self._cases}


def _reason(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)[:600]
