"""Whatever happens to an upload, in whatever order: it follows its table, and always ends."""

import hashlib
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.accounts.models import User
from controlplane.core.errors import DomainError
from controlplane.core.states import IllegalTransition
from controlplane.registry import inspector
from controlplane.registry.errors import IngestFailed
from controlplane.registry.models import Upload
from controlplane.registry.services import ingest, resume, uploads
from controlplane.registry.services.ingest import Ingest, Superseded
from controlplane.registry.states import STEPS, UPLOADS, UploadState
from controlplane.registry.types import Inspection
from tests.support.watched_states import Watch, watched

pytestmark = pytest.mark.django_db
CONTENT = b"a model"
PHASES = ("verify", "unpack", "inspect", "")
EVENTS = st.one_of(
    st.sampled_from(["append", "complete", "resume", "expire", "delete", "late word"]),
    st.tuples(st.sampled_from(["refused", "killed"]), st.sampled_from(PHASES)),
)


class Scripted(Ingest):
    """A worker whose steps go as a test says, without unpacking or inspecting anything."""

    how, phase = "", ""
    dead: list["Scripted"] = []

    def _reach(self, phase: str) -> None:
        if phase != self.phase:
            return
        if self.how == "refused":
            raise IngestFailed("It is not well.", code="NoModelFound", hints=("Mend it.",))
        self.dead.append(self)
        raise Superseded  # why: like a kill, it leaves the row just as it is

    def _verify(self) -> str:
        self._reach("verify")
        return "hashed"

    def _unpack(self) -> list[str]:
        self._reach("unpack")
        return []

    def inspected(self) -> Inspection:
        self._reach("inspect")
        return Inspection(models=[_model()], problems=[])


def _model() -> dict[str, object]:
    return {"name": "m", "warnings": []}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work: list[Scripted] = []

    class Noted(Scripted):
        def run(self) -> None:
            at_work.append(self)
            super().run()

    monkeypatch.setattr(ingest, "Ingest", Noted)
    monkeypatch.setattr(inspector, "inspect", lambda *_, **__: at_work[-1].inspected())


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENTS, max_size=12))
def test_an_upload_follows_its_table(
    deployer: User,
    append: Callable[[Upload, int, bytes], Upload],
    scripted: None,
    events: list[str | tuple[str, str]],
) -> None:
    Scripted.dead.clear()
    steps = [Watch(Upload, STEPS, lambda row, n=n: row.steps[n]["status"]) for n in range(3)]  # type: ignore[misc]
    with watched(Watch(Upload, UPLOADS), *steps):
        upload = uploads.upload_create(
            filename="m.onnx",
            size=len(CONTENT),
            sha256=hashlib.sha256(CONTENT).hexdigest(),
            user=deployer,
        )
        for event in events:
            try:
                happen(upload, event, append)
            except IllegalTransition:
                raise
            except DomainError:
                continue
        # whatever came before: it is dropped in any state, or comes to an end by itself
        row = Upload.objects.filter(pk=upload.pk).first()
        if row is not None and row.state in (UploadState.VERIFYING, UploadState.INSPECTING):
            Scripted.how, Scripted.phase = "killed", "inspect"
            for _ in range(resume.MAX_ATTEMPTS + 1):
                later()
                resume.ingests_resume(now=timezone.now())
                ingest.ingest_run(upload_id=upload.pk)
            row.refresh_from_db()
            assert row.state == UploadState.FAILED
        if row is not None:
            uploads.upload_delete(upload_id=upload.pk, actor="dora")
        assert not Upload.objects.exists()


def later() -> None:
    """The last sign of life is half a minute ago."""
    beat = timezone.now() - ingest.STALE - timedelta(seconds=1)
    Upload.objects.exclude(heartbeat_at=None).update(heartbeat_at=beat)


def happen(
    upload: Upload,
    event: str | tuple[str, str],
    append: Callable[[Upload, int, bytes], Upload],
) -> None:
    match event:
        case "append":
            append(upload, 0, CONTENT)
        case "complete":
            uploads.upload_complete(upload_id=upload.pk, sha256="", actor="dora")
        case "resume":
            later()
            resume.ingests_resume(now=timezone.now())
        case "expire":
            uploads.uploads_expire(now=timezone.now() + timedelta(days=365))
        case "delete":
            uploads.upload_delete(upload_id=upload.pk, actor="dora")
        case "late word":
            for worker in Scripted.dead:
                late_word(worker)
        case (how, phase):
            Scripted.how, Scripted.phase = how, phase
            ingest.ingest_run(upload_id=upload.pk)


def late_word(worker: Scripted) -> None:
    """One that was taken for dead says something: it is heard only while its claim holds."""
    row = Upload.objects.filter(pk=worker.upload.pk).first()
    held = row is not None and row.claim == worker.claim and row.state in UPLOADS_UNDER_WAY
    try:
        worker.save()
    except Superseded:
        assert not held
    else:
        assert held


UPLOADS_UNDER_WAY = (UploadState.VERIFYING, UploadState.INSPECTING)


def test_a_word_after_the_outcome_is_no_change_of_it(
    complete: Callable[[str, bytes], Upload], scripted: None
) -> None:
    """Once an upload is ready, nothing makes it a failed one."""
    Scripted.how, Scripted.phase = "", "none"
    upload = complete("m.onnx", CONTENT)
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == UploadState.READY
    worker = Ingest(upload, upload.claim)
    with pytest.raises(IllegalTransition, match="ready cannot become failed by refuse"):
        ingest.ingest_fail(worker, "InternalError", "Too late.")
    upload.refresh_from_db()
    assert (upload.state, upload.error) == (UploadState.READY, None)
