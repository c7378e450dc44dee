"""Azure's routes as its package asks them; ingest happens at once, with the stub that reads."""

import sys
from pathlib import Path

import pytest
from pytest_django import Settings

from controlplane.registry.services import ingest, uploads

STUB = Path(__file__).parents[3] / "support" / "inspection_stub.py"


@pytest.fixture(autouse=True)
def ingested_at_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SHOAL_INSPECTION_COMMAND = [sys.executable, str(STUB)]
    settings.SHOAL_PUBLIC_URL = "https://testserver"

    def at_once(job: str, *, queue: str, upload_id: str) -> None:
        assert (job, queue) == ("registry.ingest", "ingest")
        ingest.ingest_run(upload_id=upload_id)

    monkeypatch.setattr(uploads, "enqueue_on_commit", at_once)
