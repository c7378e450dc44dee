"""Uploads in one call, and an inspection program that behaves as its input says."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from controlplane.accounts.models import User
from controlplane.registry.models import Upload
from controlplane.registry.services import ingest, uploads
from tests.support.migrations import migrate  # noqa: F401 - a fixture

STUB = Path(__file__).parents[3] / "support" / "inspection_stub.py"


class Source:
    """Bytes that are read in pieces, as from a request."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, size: int, /) -> bytes:
        piece, self.content = self.content[:size], self.content[size:]
        return piece


@pytest.fixture(autouse=True)
def inspection(settings: Settings) -> None:
    settings.SHOAL_INSPECTION_COMMAND = [sys.executable, str(STUB)]


@pytest.fixture
def append() -> Callable[[Upload, int, bytes], Upload]:
    def send(upload: Upload, offset: int, content: bytes) -> Upload:
        return uploads.chunk_append(
            upload_id=upload.pk, offset=offset, source=Source(content), checksum=None
        )

    return send


@pytest.fixture
def complete(
    deployer: User, append: Callable[[Upload, int, bytes], Upload]
) -> Callable[[str, bytes], Upload]:
    """An upload of which all bytes arrived and that waits for ingest."""

    def send(filename: str, content: bytes, sha256: str = "") -> Upload:
        upload = uploads.upload_create(
            filename=filename, size=len(content), sha256=sha256, user=deployer
        )
        append(upload, 0, content)
        return uploads.upload_complete(upload_id=upload.pk, sha256="", actor="dora")

    return send


@pytest.fixture
def ingested(complete: Callable[[str, bytes], Upload]) -> Callable[[str, bytes], Upload]:
    """An upload that went through ingest, to whatever end."""

    def send(filename: str, content: bytes) -> Upload:
        upload = complete(filename, content)
        ingest.ingest_run(upload_id=upload.pk)
        upload.refresh_from_db()
        return upload

    return send


@pytest.fixture
def later() -> Callable[[float], None]:
    """Move every upload's last sign of life into the past, instead of waiting."""

    def age(seconds: float) -> None:
        for upload in Upload.objects.exclude(heartbeat_at=None):
            beat = (upload.heartbeat_at or timezone.now()) - timedelta(seconds=seconds)
            Upload.objects.filter(pk=upload.pk).update(heartbeat_at=beat)

    return age
