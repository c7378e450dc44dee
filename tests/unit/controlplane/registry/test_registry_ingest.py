"""Ingest always ends: ready with blobs, or failed with a reason, never with files left behind."""

import hashlib
import io
import logging
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from controlplane.core.models import Event
from controlplane.registry import inspector, storage, unpacker
from controlplane.registry.models import Blob, Upload
from controlplane.registry.services import blobs, ingest, resume, uploads
from controlplane.registry.stores import blob_store

Send = Callable[..., Upload]


def a_zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def leftovers(stores: Path) -> list[Path]:
    folder = stores / "uploads"
    return list(folder.iterdir()) if folder.is_dir() else []


def test_a_single_file_becomes_a_repository_of_blobs(ingested: Send, stores: Path) -> None:
    upload = ingested("digits.onnx", b"a model")
    sha256 = hashlib.sha256(b"a model").hexdigest()
    assert upload.state == Upload.State.READY, upload.error
    assert upload.sha256 == sha256
    assert upload.manifest() == [{"path": "digits/1/model.onnx", "size": 7, "sha256": sha256}]
    assert blob_store().open(sha256).read() == b"a model"
    assert Blob.objects.get(pk=sha256).size == 7
    assert upload.inspection is not None
    assert [model["name"] for model in upload.inspection["models"]] == ["digits"]
    warnings = [problem["message"] for problem in upload.inspection["problems"]]
    assert "Created version 1: digits/1/model.onnx (was digits.onnx)." in warnings
    assert [step["status"] for step in upload.steps] == ["succeeded"] * 3
    assert all(step["started_at"] <= step["ended_at"] for step in upload.steps)
    assert leftovers(stores) == []
    assert Event.objects.filter(verb="upload.ready", subject=f"upload/{upload.pk}").exists()


def test_an_archive_becomes_its_models(ingested: Send, stores: Path) -> None:
    content = a_zip({"repo/a/1/model.onnx": b"a", "repo/b/1/model.onnx": b"b", "x/.DS_Store": b""})
    upload = ingested("repo.zip", content)
    assert upload.state == Upload.State.READY, upload.error
    assert [entry["path"] for entry in upload.manifest()] == ["a/1/model.onnx", "b/1/model.onnx"]
    assert leftovers(stores) == []


def test_the_same_bytes_are_stored_once(ingested: Send, stores: Path) -> None:
    ingested("one.onnx", b"same")
    ingested("two.onnx", b"same")
    assert [p.name for p in (stores / "blobs").rglob("*") if p.is_file() and p.name != ".lock"] == [
        hashlib.sha256(b"same").hexdigest()
    ]


@pytest.mark.parametrize(
    ("filename", "content", "code", "step"),
    [
        ("m.onnx", b"BAD", "NotAnOnnxFile", "inspect"),
        ("m.onnx", b"CRASH", "InspectionFailed", "inspect"),
        ("m.onnx", b"GARBAGE", "InspectionFailed", "inspect"),
        ("m.txt", b"hello there", "UnknownFile", "unpack"),
        ("m.xml", b"<net/>", "WeightsMissing", "unpack"),
        ("m.zip", b"PK\x03\x04 not a zip", "ArchiveDamaged", "unpack"),
        ("m.zip", a_zip({"../evil": b"x"}), "ArchiveUnsafe", "unpack"),
        ("m.zip", a_zip({"m/1/model.onnx": bytes(20 * 2**20)}), "ArchiveBomb", "unpack"),
        ("m.zip", a_zip({"readme/readme.txt": b"x"}), "NoModelFound", "inspect"),
    ],
)
def test_a_bad_file_ends_failed_with_a_reason(
    ingested: Send, stores: Path, filename: str, content: bytes, code: str, step: str
) -> None:
    upload = ingested(filename, content)
    assert upload.state == Upload.State.FAILED
    assert upload.error is not None
    assert upload.error["code"] == code
    assert upload.error["message"]
    failed = [entry["name"] for entry in upload.steps if entry["status"] == "failed"]
    assert failed == [step]
    assert leftovers(stores) == []
    assert not (stores / "evil").exists()
    assert Event.objects.filter(verb="upload.failed", severity="error").count() == 1


def test_the_words_of_the_inspection_are_passed_on(ingested: Send) -> None:
    error = ingested("m.onnx", b"BAD").error
    assert error == {
        "code": "NotAnOnnxFile",
        "message": "This is not an ONNX file.",
        "detail": "verbatim",
        "hints": ["Export it again."],
    }
    crash = ingested("m.onnx", b"CRASH").error
    assert crash is not None
    assert "signal 11" in crash["message"]
    assert crash["detail"] == "about to fall"


def test_a_wrong_checksum_fails_the_first_step(complete: Send, stores: Path) -> None:
    upload = complete("m.onnx", b"a model", sha256="0" * 64)
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.error is not None
    assert upload.error["code"] == "ChecksumMismatch"
    assert [step["status"] for step in upload.steps] == ["failed", "pending", "pending"]
    assert leftovers(stores) == []


def test_an_inspection_that_hangs_is_ended(
    ingested: Send, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SHOAL_INSPECTION_TIMEOUT_S = 1
    monkeypatch.setattr("controlplane.registry.programs.TICK_S", 0.2)
    upload = ingested("m.onnx", b"HANG")
    assert upload.error is not None
    assert upload.error["code"] == "InspectionTimeout"


def test_an_ingest_that_takes_too_long_ends_by_itself(
    ingested: Send, settings: Settings, stores: Path
) -> None:
    """Where it runs in a thread, which Celery cannot end."""
    settings.SHOAL_INGEST_TASK_LIMIT_S = -1
    upload = ingested("m.onnx", b"a model")
    assert upload.error is not None
    assert (upload.state, upload.error["code"]) == ("failed", "IngestTimeout")
    assert leftovers(stores) == []


def test_unpacking_more_than_the_limit_ends(ingested: Send, settings: Settings) -> None:
    settings.SHOAL_MAX_UNPACKED_BYTES = 1000
    upload = ingested("m.zip", a_zip({"m/1/model.onnx": bytes(range(256)) * 10}))
    assert upload.error is not None
    assert upload.error["code"] == "ArchiveBomb"


def test_a_disk_that_fills_up_while_unpacking_is_called_so(
    complete: Send, monkeypatch: pytest.MonkeyPatch, stores: Path
) -> None:
    upload = complete("m.zip", a_zip({"m/1/model.onnx": bytes(range(256)) * 100}))
    # the kernel lets the program write no file larger than what is left
    monkeypatch.setattr(unpacker, "room_bytes", lambda where: 5_000)
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.error is not None
    assert upload.error["code"] == "DiskFull"
    assert leftovers(stores) == []


def test_many_files_do_not_take_the_databases_reserve_either(
    complete: Send, monkeypatch: pytest.MonkeyPatch, stores: Path
) -> None:
    files = {f"m/1/{number}.bin": bytes(range(256)) * 10 for number in range(10)}
    upload = complete("m.zip", a_zip(files))
    monkeypatch.setattr(unpacker, "room_bytes", lambda where: 5_000)  # each has 2560
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.error is not None
    assert (upload.error["code"], "more than the 5000 bytes" in upload.error["message"]) == (
        "DiskFull", True,
    )  # fmt: skip
    assert leftovers(stores) == []


def test_a_second_message_for_the_same_upload_does_nothing(ingested: Send) -> None:
    upload = ingested("m.onnx", b"a model")
    ingest.ingest_run(upload_id=upload.pk)
    assert Upload.objects.get(pk=upload.pk).attempts == 1


def test_an_upload_that_somebody_works_on_is_left_alone(complete: Send) -> None:
    upload = complete("m.onnx", b"a model")
    Upload.objects.filter(pk=upload.pk).update(claim="other", heartbeat_at=timezone.now())
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert (upload.claim, upload.state) == ("other", Upload.State.VERIFYING)


def test_a_dead_workers_upload_is_taken_over(
    complete: Send,
    later: Callable[[float], None],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    upload = complete("m.onnx", b"a model")
    Upload.objects.filter(pk=upload.pk).update(claim="dead", attempts=1)
    half_done = storage.work_path(upload.pk, "dead")
    half_done.mkdir()
    assert resume.ingests_resume(now=timezone.now()) == 0
    later(60)
    with django_capture_on_commit_callbacks() as sent:
        assert resume.ingests_resume(now=timezone.now()) == 1
        assert resume.ingests_resume(now=timezone.now()) == 0
    assert len(sent) == 1
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.attempts) == (Upload.State.READY, 2)
    assert not half_done.exists()


def test_a_file_that_kills_every_worker_ends_failed(
    complete: Send, later: Callable[[float], None], stores: Path
) -> None:
    upload = complete("m.onnx", b"a model")
    steps = [{**upload.steps[0], "status": "running"}, *upload.steps[1:]]
    Upload.objects.filter(pk=upload.pk).update(claim="dead", attempts=3, steps=steps)
    later(60)
    resume.ingests_resume(now=timezone.now())
    upload.refresh_from_db()
    assert upload.state == Upload.State.FAILED
    assert upload.error is not None
    assert upload.error["code"] == "WorkerDied"
    assert leftovers(stores) == []


def test_a_worker_that_lost_its_claim_cannot_write(
    complete: Send, monkeypatch: pytest.MonkeyPatch, stores: Path
) -> None:
    upload = complete("m.onnx", b"a model")
    real = inspector.inspect

    def taken_over_meanwhile(directory: Path, *, tick: Callable[[], None]) -> object:
        Upload.objects.filter(pk=upload.pk).update(claim="other")
        return real(directory, tick=tick)

    monkeypatch.setattr(inspector, "inspect", taken_over_meanwhile)
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.claim) == (Upload.State.INSPECTING, "other")
    assert [path.suffix for path in leftovers(stores)] == [".part"]


def test_an_upload_deleted_during_ingest_leaves_nothing(
    complete: Send, monkeypatch: pytest.MonkeyPatch, stores: Path
) -> None:
    upload = complete("m.onnx", b"a model")
    real = inspector.inspect

    def deleted_meanwhile(directory: Path, *, tick: Callable[[], None]) -> object:
        uploads.upload_delete(upload_id=upload.pk, actor="dora")
        return real(directory, tick=tick)

    monkeypatch.setattr(inspector, "inspect", deleted_meanwhile)
    ingest.ingest_run(upload_id=upload.pk)
    assert leftovers(stores) == []


def test_an_unforeseen_failure_ends_the_upload_too(
    complete: Send, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    upload = complete("m.onnx", b"a model")

    def broken(directory: Path, *, tick: Callable[[], None]) -> object:
        raise KeyError("surprise")

    monkeypatch.setattr(inspector, "inspect", broken)
    with caplog.at_level(logging.ERROR):
        ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.error is not None
    assert upload.error["code"] == "InternalError"
    assert "surprise" in caplog.text


def test_blobs_that_nobody_names_are_collected_after_a_day(ingested: Send) -> None:
    kept = ingested("kept.onnx", b"kept")
    gone = ingested("gone.onnx", b"gone")
    Upload.objects.filter(pk=gone.pk).delete()
    assert blobs.blobs_collect(now=timezone.now()) == 0
    assert blobs.blobs_collect(now=timezone.now() + timedelta(hours=25)) == 1
    assert blob_store().size(kept.sha256) is not None
    assert blob_store().size(gone.sha256) is None
