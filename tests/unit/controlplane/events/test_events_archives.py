"""Events of long ago in archives: they verify, tampering is named, nothing is lost in between."""

import gzip
import hashlib
import io
import json
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.config import env
from controlplane.core import archives, audit, chain, events, seals
from controlplane.core.models import AuditHead, Event, EventArchive
from controlplane.events import services
from controlplane.registry.errors import UploadIncomplete
from controlplane.registry.models import Blob
from controlplane.registry.services.blobs import blobs_collect
from controlplane.registry.services.file_lists import file_list_create
from controlplane.registry.services.upload_progress import check_all_here, files_missing
from controlplane.registry.stores import blob_store
from controlplane.registry.types import FileEntry
from tests.support.audit_log import only_sqlite, put_back, snapshot, spoil

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def home(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.SHOAL_HOME = tmp_path
    settings.SHOAL_AUDIT_ANCHORS = tmp_path / "audit" / "anchors.jsonl"
    settings.SHOAL_BLOB_DIR = tmp_path / "blobs"
    settings.SHOAL_UPLOAD_DIR = tmp_path / "uploads"
    settings.SHOAL_EVENT_RETENTION_DAYS = 30
    monkeypatch.setattr(audit, "ANCHOR_EVERY", timedelta(0))
    return tmp_path


def happen(*days: int, actor: str = "dana", subject: str = "endpoint/e") -> list[Event]:
    """Events of so many days ago, sealed together and anchored."""
    made = [
        Event(
            at=NOW - timedelta(days=ago),
            actor=actor,
            verb="endpoint.traffic_changed",
            subject=subject,
            message=f"ü \U0001f600 {ago}",
            data={"ü": [1.5, 1.0, None, {"deep": ago}], "large": 10**20},
        )
        for ago in days
    ]
    events.record_all(made)
    audit.seal()
    return made


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> list[EventArchive]:
    happen(60, 60, 40, 39, 2)
    monkeypatch.setattr(archives, "MOST", 2)
    assert services.events_archive(now=NOW) == 4
    audit.seal()
    return list(EventArchive.objects.order_by("first_link"))


def test_events_go_to_archives_and_the_chain_goes_on() -> None:
    rows = happen(60, 59, 40, 31, 29, 2)
    found = audit.verify()
    assert services.events_archive(now=NOW) == 4
    (row,) = EventArchive.objects.all()
    assert (row.first_link, row.last_link, row.events) == (1, 4, 4)
    assert (row.first_seq, row.last_seq) == (rows[0].seq, rows[3].seq)
    assert (row.before, row.removed_at is not None) == (chain.START, True)
    assert list(Event.objects.order_by("seq").values_list("verb", flat=True)[:3]) == [
        "endpoint.traffic_changed",
        "endpoint.traffic_changed",
        "audit.archived",
    ]
    after = services.verify()
    assert (after.ok, after.broken) == (True, None)
    assert (after.sealed, after.archives, after.archived) == (found.sealed + 1, 1, 4)
    assert services.events_archive(now=NOW) == 0
    kept = archives.read(row, services.opened)
    assert [(e.seq, e.at, e.data, e.message) for e in kept] == [
        (e.seq, e.at, e.data, e.message) for e in rows[:4]
    ]


def test_by_default_all_stay(settings: Settings) -> None:
    settings.SHOAL_EVENT_RETENTION_DAYS = 0
    happen(4000)
    happen(1)
    assert services.events_archive(now=NOW) == 0
    assert not EventArchive.objects.exists()


def test_the_last_link_stays_whatever_its_age() -> None:
    happen(90, 80)
    assert services.events_archive(now=NOW) == 1
    audit.seal()
    assert services.verify().ok


def test_a_younger_event_keeps_those_that_were_sealed_behind_it() -> None:
    happen(60, 2, 50, 2)
    assert services.events_archive(now=NOW) == 1


def test_the_file_says_what_it_is(two: list[EventArchive]) -> None:
    first, second = two
    assert second.before == first.after
    with blob_store().open(second.sha256) as file:
        content = file.read()
    assert hashlib.sha256(content).hexdigest() == second.sha256
    head, lines = gzip.decompress(content).split(b"\n", 1)
    seal = json.loads(head)
    assert seal["sha256"] == hashlib.sha256(lines).hexdigest()
    assert (seal["first_link"], seal["last_link"], seal["events"]) == (3, 4, 2)
    assert (seal["before"], seal["after"]) == (first.after, second.after)
    assert [json.loads(line)["link"] for line in lines.splitlines()] == [3, 4]


# What somebody may do to archives: (to the rows, to the files).


def write(row: EventArchive, content: bytes) -> str:
    """Another file under the name that it then has; returns that."""
    sha256 = hashlib.sha256(content).hexdigest()
    staged = Path(str(blob_store().path(row.sha256)) + ".staged")  # type: ignore[attr-defined]
    staged.write_bytes(content)
    blob_store().put(staged, sha256)
    return sha256


def lines_of(row: EventArchive) -> list[bytes]:
    with blob_store().open(row.sha256) as file:
        return gzip.decompress(file.read()).splitlines(keepends=True)


def replaced(row: EventArchive, lines: list[bytes]) -> None:
    """A file of these lines, and a row that names it."""
    EventArchive.objects.filter(pk=row.pk).update(
        sha256=write(row, content := gzip.compress(b"".join(lines), mtime=0)), size=len(content)
    )


def drop_row(two: list[EventArchive]) -> None:
    two[0].delete()


def drop_last_row(two: list[EventArchive]) -> None:
    two[1].delete()


def drop_file(two: list[EventArchive]) -> None:
    blob_store().remove(two[1].sha256)


def flip_a_byte(two: list[EventArchive]) -> None:
    path = blob_store().path(two[1].sha256)  # type: ignore[attr-defined]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)


def change_an_event(two: list[EventArchive]) -> None:
    head, one, other = lines_of(two[1])
    replaced(two[1], [head, one.replace(b"dana", b"eve!"), other])


def change_an_event_and_its_seal(two: list[EventArchive]) -> None:
    head, one, other = lines_of(two[1])
    one = one.replace(b"dana", b"eve!")
    seal = json.loads(head) | {"sha256": hashlib.sha256(one + other).hexdigest()}
    EventArchive.objects.filter(pk=two[1].pk).update(content_sha256=seal["sha256"])
    replaced(two[1], [json.dumps(seal).encode() + b"\n", one, other])


def reorder_events(two: list[EventArchive]) -> None:
    head, one, other = lines_of(two[1])
    replaced(two[1], [head, other, one])


def cut_an_event(two: list[EventArchive]) -> None:
    replaced(two[1], lines_of(two[1])[:2])


def no_gzip(two: list[EventArchive]) -> None:
    content = b"nothing of the kind"
    sha256 = write(two[1], content)
    EventArchive.objects.filter(pk=two[1].pk).update(sha256=sha256, size=len(content))


def no_end(two: list[EventArchive]) -> None:
    with blob_store().open(two[1].sha256) as file:
        content = file.read()[:-4]
    sha256 = write(two[1], content)
    EventArchive.objects.filter(pk=two[1].pk).update(sha256=sha256, size=len(content))


def something_behind(two: list[EventArchive]) -> None:
    with blob_store().open(two[1].sha256) as file:
        content = file.read() + b"more"
    sha256 = write(two[1], content)
    EventArchive.objects.filter(pk=two[1].pk).update(sha256=sha256, size=len(content))


def swap_files(two: list[EventArchive]) -> None:
    EventArchive.objects.filter(pk=two[0].pk).update(sha256=two[1].sha256, size=two[1].size)


def swap_places(two: list[EventArchive]) -> None:
    for row, first, last in ((two[0], 91, 92), (two[1], 1, 2), (two[0], 3, 4)):
        EventArchive.objects.filter(pk=row.pk).update(first_link=first, last_link=last)


def say_less(two: list[EventArchive]) -> None:
    EventArchive.objects.filter(pk=two[1].pk).update(events=1)


def put_a_copy_of_an_archived_event_in(two: list[EventArchive]) -> None:
    copy = archives.read(two[0], services.opened)[1]
    copy.pk, copy.link, copy.digest = None, None, ""
    copy.save(force_insert=True)


def remove_the_first_here(two: list[EventArchive]) -> None:
    Event.objects.filter(link=5).delete()


def change_the_first_here(two: list[EventArchive]) -> None:
    Event.objects.filter(link=5).update(actor="eve")


def drop_all_archives(two: list[EventArchive]) -> None:
    EventArchive.objects.all().delete()


@pytest.mark.parametrize(
    ("tamper", "kind", "link", "says"),
    [
        (drop_row, chain.REMOVED, 3, "from link 1 on, is missing"),
        (drop_last_row, chain.REMOVED, 3, "No event holds link 3"),
        (drop_all_archives, chain.REMOVED, 1, "No event holds link 1"),
        (drop_file, chain.REMOVED, 3, "its file is gone"),
        (flip_a_byte, chain.CHANGED, 3, "other bytes than were stored"),
        (change_an_event, chain.CHANGED, 3, "other bytes than were sealed"),
        (change_an_event_and_its_seal, chain.CHANGED, 3, "its seal is not what Shoal wrote"),
        (reorder_events, chain.CHANGED, 3, "other bytes than were sealed"),
        (cut_an_event, chain.CHANGED, 3, "other bytes than were sealed"),
        (no_gzip, chain.CHANGED, 3, "cannot be read"),
        (no_end, chain.CHANGED, 3, "it ends in the middle"),
        (something_behind, chain.CHANGED, 3, "something stands behind its end"),
        (swap_files, chain.CHANGED, 1, "another seal than the database"),
        (swap_places, chain.CHANGED, 1, "its seal is not what Shoal wrote"),
        (say_less, chain.CHANGED, 3, "its seal is not what Shoal wrote"),
        (put_a_copy_of_an_archived_event_in, chain.FORGED, 2, "which is in archive"),
        (remove_the_first_here, chain.REMOVED, 5, "No event holds link 5"),
        (change_the_first_here, chain.CHANGED, 5, "is not what was sealed"),
    ],
)
def test_tampering_is_found_and_named(
    two: list[EventArchive],
    tamper: Callable[[list[EventArchive]], None],
    kind: str,
    link: int,
    says: str,
) -> None:
    assert services.verify().ok
    tamper(two)
    broken = services.verify().broken
    assert broken is not None
    assert (broken.kind, broken.link) == (kind, link)
    assert says in broken.reason


def test_a_file_that_grows_is_not_unpacked(
    two: list[EventArchive], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LARGEST", 2**20)
    content = gzip.compress(bytes(2**26))
    sha256 = write(two[1], content)
    EventArchive.objects.filter(pk=two[1].pk).update(sha256=sha256, size=len(content))
    two[1].refresh_from_db()
    tracemalloc.start()
    try:
        with pytest.raises(archives.ArchiveBroken, match="unpacks to more than 1,048,576 bytes"):
            archives.read(two[1], services.opened)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2**23


def test_large_events_are_in_more_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST", archives._HEAD_BYTES + 1200)
    happen(60, 60, 40, 39, 38, 2)
    assert services.events_archive(now=NOW) == 5
    audit.seal()
    assert [row.events for row in EventArchive.objects.order_by("first_link")] == [2, 2, 1]
    assert audit.verify(opened=services.opened).broken is None


def test_who_has_the_key_must_change_all_that_follows(two: list[EventArchive]) -> None:
    """An archive that is sealed again does not lead to the event after it."""
    found = archives.read(two[1], services.opened)
    found[1].message = "nothing happened"
    found[1].mac = seals.event_mac(found[1])
    found[1].digest = seals.digest_of(found[0].digest, 4, found[1])
    row, content = archives.made(found, two[0].after)
    row.pk, row.removed_at, row.created_at = two[1].pk, two[1].removed_at, two[1].created_at
    write(two[1], content)
    row.save()
    broken = services.verify().broken
    assert broken is not None
    assert (broken.kind, broken.link) == (chain.CHANGED, 5)


def test_rows_that_cannot_be_read_are_named(two: list[EventArchive]) -> None:
    only_sqlite("its columns take moments alone")
    spoil("core_eventarchive", "first_at", "'yesterday'")
    broken = services.verify().broken
    assert broken is not None
    assert "cannot be read" in broken.reason
    assert archives.last() is None


def test_a_log_that_is_broken_stays() -> None:
    rows = happen(60, 50, 2)
    Event.objects.filter(pk=rows[1].pk).update(actor="eve")
    assert services.events_archive(now=NOW) == 0
    assert not EventArchive.objects.exists()
    assert Event.objects.count() == 3


# What ends a run in between.


class Died(BaseException):
    """As the process does: nothing catches it."""


def test_a_run_that_ended_after_storing_is_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    happen(60, 50, 2)
    with monkeypatch.context() as patch:
        patch.setattr(services, "_remove", lambda row: (_ for _ in ()).throw(Died))
        with pytest.raises(Died):
            services.events_archive(now=NOW)
    (row,) = EventArchive.objects.all()
    assert (row.removed_at, Event.objects.count()) == (None, 3)
    assert services.verify().ok  # they are in both
    settings.SHOAL_EVENT_RETENTION_DAYS = 0  # what was begun is ended
    assert services.events_archive(now=NOW + timedelta(days=5)) == 2
    (row,) = EventArchive.objects.all()
    assert row.removed_at is not None
    audit.seal()
    found = services.verify()
    assert (found.ok, found.archived, found.sealed) == (True, 2, 4)


def test_a_run_that_ended_before_the_row_stores_the_same_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    happen(60, 50, 2)
    with monkeypatch.context() as patch:
        patch.setattr(
            type(EventArchive.objects), "get_or_create", lambda *a, **k: (_ for _ in ()).throw(Died)
        )
        with pytest.raises(Died):
            services.events_archive(now=NOW)
    assert (EventArchive.objects.count(), Event.objects.count()) == (0, 3)
    assert services.events_archive(now=NOW + timedelta(hours=9)) == 2
    assert Blob.objects.count() == len(list(blob_store().names())) == 1


def test_what_was_not_stored_whole_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    happen(60, 50, 2)
    with monkeypatch.context() as patch:
        patch.setattr(services, "opened", lambda _: io.BytesIO(b"half"))
        assert services.events_archive(now=NOW) == 0
        assert services.events_archive(now=NOW) == 0
    assert Event.objects.count() == 3
    assert "other bytes than were stored" in caplog.text
    assert services.events_archive(now=NOW) == 2


def test_an_event_changed_between_is_named_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = happen(60, 50, 2)
    with monkeypatch.context() as patch:
        patch.setattr(services, "_remove", lambda row: 0)
        services.events_archive(now=NOW)
    Event.objects.filter(pk=rows[0].pk).update(message="nothing")
    broken = services.verify().broken
    assert broken is not None
    assert (broken.seq, broken.kind) == (rows[0].seq, chain.CHANGED)
    assert services.events_archive(now=NOW) == 0
    assert Event.objects.filter(pk=rows[0].pk).exists()


def test_the_second_of_two_workers_deletes_and_tells_nothing() -> None:
    happen(60, 50, 2)
    services.events_archive(now=NOW)
    (row,) = EventArchive.objects.all()
    assert services._remove(row) == 0
    assert Event.objects.filter(verb="audit.archived").count() == 1


# Around it.


def test_a_lost_end_goes_on_behind_the_archives(two: list[EventArchive]) -> None:
    Event.objects.all().delete()
    AuditHead.objects.all().delete()
    audit.seal()
    assert AuditHead.objects.get().link > two[1].last_link - 1
    assert not services.verify().ok


def test_a_restore_keeps_the_anchors_of_archived_events(two: list[EventArchive]) -> None:
    kept = snapshot()
    happen(1)
    put_back(kept)
    broken = services.verify().broken
    assert broken is not None
    assert broken.kind == chain.REWOUND
    put_back(kept)
    Event.objects.filter(link__gt=5).delete()  # anchored was link 5, and later ones
    Event.objects.filter(link=5).delete()
    last = archives.last()
    assert last is not None
    AuditHead.objects.update(link=last.last_link, digest=last.after)
    head = AuditHead.objects.get()
    AuditHead.objects.update(mac=seals.head_mac(head))
    audit.restored("backup of Monday")
    found = services.verify()
    assert (found.broken, found.restores) == (None, 1)


def test_files_of_archives_are_not_collected(two: list[EventArchive]) -> None:
    Blob.objects.update(seen_at=NOW - timedelta(days=900))
    assert blobs_collect(now=NOW) == 0
    assert services.verify().ok


def test_who_knows_the_name_of_a_file_is_not_given_it_as_a_model(two: list[EventArchive]) -> None:
    """Everybody may read that name in the event log."""
    row = two[0]
    file = FileEntry(path="m/1/model.onnx", size=row.size, sha256=row.sha256)
    dora = User.objects.create_user("dora", password="x", role=User.Role.DEPLOYER)
    upload = file_list_create(filename="m", files=[file], user=dora)
    assert [one["sha256"] for one in files_missing(upload.pk)] == [row.sha256]
    with pytest.raises(UploadIncomplete):
        check_all_here(upload)


@pytest.fixture
def about_ada(db: None) -> EventArchive:
    happen(60, subject="user/ada")
    happen(50, 2)
    services.events_archive(now=NOW)
    return EventArchive.objects.get()


@pytest.fixture
def operator(client_of: Callable[[User], APIClient]) -> APIClient:
    return client_of(User.objects.create_user("olga", password="x", role=User.Role.OPERATOR))


def streamed(answer: Any) -> str:
    return b"".join(answer).decode()


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous")
def test_operators_list_and_read_archives(
    two: list[EventArchive], operator: APIClient, api: APIClient
) -> None:
    page = operator.get("/api/v1/events/archives", {"limit": 1}).json()
    assert [item["id"] for item in page["items"]] == [two[1].pk]
    rest = operator.get("/api/v1/events/archives", {"cursor": page["next_cursor"]}).json()
    assert [(item["id"], item["after"]) for item in rest["items"]] == [(two[0].pk, two[0].after)]
    path = f"/api/v1/events/archives/{two[1].pk}/export"
    rows = [json.loads(line) for line in streamed(operator.get(path)).splitlines()]
    assert [row["link"] for row in rows] == [3, 4]
    assert streamed(operator.get(path, {"file_format": "csv"})).count("\n") == 3
    noted = Event.objects.filter(verb="events.exported", actor="olga")
    assert [event.data["archive"] for event in noted] == [two[1].pk] * 2
    found = operator.get("/api/v1/events/verify").json()
    assert (found["ok"], found["archives"], found["archived"]) == (True, 2, 4)
    assert operator.get("/api/v1/events/archives/99/export").json()["code"] == (
        "EventArchiveNotFound"
    )
    for url in ("/api/v1/events/archives", path):
        assert api.get(url).status_code == 403
    drop_file(two)
    answer = operator.get(path)
    assert (answer.status_code, answer.json()["code"]) == (503, "EventArchiveBroken")


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous")
def test_events_about_people_are_for_who_may_read_people(
    about_ada: EventArchive, operator: APIClient, admin_api: APIClient
) -> None:
    path = f"/api/v1/events/archives/{about_ada.pk}/export"
    assert streamed(operator.get(path)).count("\n") == 1
    assert streamed(admin_api.get(path)).count("\n") == 2


def test_the_command_line_reads_archives(
    two: list[EventArchive], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("audit", "verify")
    assert "4 of them in 2 archives" in capsys.readouterr().out
    call_command("audit", "export", "--archive", str(two[0].pk))
    assert capsys.readouterr().out.count("\n") == 2
    with pytest.raises(CommandError, match="no archive 99"):
        call_command("audit", "export", "--archive", "99")
    drop_file(two)
    with pytest.raises(CommandError, match="its file is gone"):
        call_command("audit", "verify")


@pytest.mark.parametrize(("said", "days"), [("", 0), ("0", 0), ("30", 30), ("365", 365)])
def test_days_that_are_kept(monkeypatch: pytest.MonkeyPatch, said: str, days: int) -> None:
    monkeypatch.delenv("SHOAL_EVENT_RETENTION_DAYS", raising=False)
    if said:
        monkeypatch.setenv("SHOAL_EVENT_RETENTION_DAYS", said)
    assert env.days_or_ever("SHOAL_EVENT_RETENTION_DAYS", least=30) == days


def test_too_few_days_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_EVENT_RETENTION_DAYS", "7")
    with pytest.raises(ImproperlyConfigured, match="=7: expected 30 or more, or 0"):
        env.days_or_ever("SHOAL_EVENT_RETENTION_DAYS", least=30)


def test_events_that_leave_while_the_chain_is_walked_are_not_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    happen(60, 50, 40, 2)
    monkeypatch.setattr(archives, "MOST", 2)
    walk, left = archives.walk, []

    def walk_slowly(*given: Any) -> chain.Break | None:
        found = walk(*given)
        monkeypatch.setattr(archives, "walk", walk)
        left.append(services.events_archive(now=NOW))
        return found

    monkeypatch.setattr(archives, "walk", walk_slowly)
    assert services.verify().broken is None
    assert left == [3]
    Event.objects.filter(link=4).delete()
    broken = services.verify().broken
    assert broken is not None
    assert "No event holds link 4" in broken.reason
