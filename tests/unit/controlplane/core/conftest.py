"""What tests of the event log share."""

from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from controlplane.core import audit


@pytest.fixture
def anchored(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Anchors of its own; each sealing adds one."""
    settings.SHOAL_HOME = tmp_path
    settings.SHOAL_AUDIT_ANCHORS = tmp_path / "audit" / "anchors.jsonl"
    settings.SHOAL_AUDIT_WEBHOOK = ""
    monkeypatch.setattr(audit, "ANCHOR_EVERY", timedelta(0))
    return Path(settings.SHOAL_AUDIT_ANCHORS)
