"""What the cases of tests/gpu found: a table at the end, and a file of JSON for docs/gpu.md."""

import contextlib
import json
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.support.gpu_device import Device, about_card

_MOST_OUTPUT = 8000


class CaseTable:
    """A plugin of pytest. A case's figures are the properties that it recorded."""

    def __init__(self, device: Device, path: str) -> None:
        self._device = device
        self._path = path
        self._about = _about(device)
        self._cases: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if "gpu" not in report.keywords:
            return
        name = report.nodeid.rpartition("/")[2]
        case = self._cases.setdefault(name, {"outcome": "passed", "seconds": 0.0})
        case["seconds"] = round(case["seconds"] + report.duration, 2)
        if report.outcome != "passed":
            case["outcome"] = report.outcome
            case.setdefault("reason", _reason(report))
        case["figures"] = dict(report.user_properties)
        if report.when == "teardown" and case["outcome"] == "failed":
            # the server's words among them (conftest.py): nobody can ask for them later
            case["output"] = "\n".join(text for _, text in report.sections)[-_MOST_OUTPUT:]
        if self._path and report.when == "teardown":
            # why each time: the time on such a machine may end before the cases do
            Path(self._path).write_text(json.dumps(self._about | {"cases": self._cases}, indent=1))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._cases:
            return
        terminalreporter.section(f"cases on {self._device.name}")
        for name, case in sorted(self._cases.items()):
            figures = ", ".join(f"{key} {value}" for key, value in case["figures"].items())
            line = f"{case['outcome']:8} {case['seconds']:7.2f} s  {name}  {figures}"
            terminalreporter.write_line(line.rstrip())


def _about(device: Device) -> dict[str, Any]:
    versions = {}
    for name in ("torch", "onnxruntime-gpu", "tritonclient", "numpy"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    about = {"date": datetime.now(UTC).date().isoformat(), "device": device.name}
    return about | (about_card() if device.is_gpu else {}) | {"versions": versions}


def _reason(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)[:600]
