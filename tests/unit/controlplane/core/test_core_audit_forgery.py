"""Somebody who writes to the database, and not to the anchors: what they try is found and named."""

import fcntl
import importlib
import json
import logging
import shutil
import stat
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from controlplane.config import env
from controlplane.core import anchors, audit, events, seals
from controlplane.core.models import AuditHead, Event

pytestmark = pytest.mark.django_db
Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def anchored(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Anchors of its own; each sealing adds one."""
    settings.SHOAL_HOME = tmp_path
    settings.SHOAL_AUDIT_ANCHORS = tmp_path / "audit" / "anchors.jsonl"
    settings.SHOAL_AUDIT_WEBHOOK = ""
    monkeypatch.setattr(audit, "ANCHOR_EVERY", timedelta(0))
    return Path(settings.SHOAL_AUDIT_ANCHORS)


def happen(count: int = 3, actor: str = "dana") -> list[Event]:
    made = [
        events.record(actor=actor, verb="x.done", subject=f"x/{n}", message=f"{n}", data={"n": n})
        for n in range(count)
    ]
    audit.seal()
    return made


def snapshot() -> tuple[Rows, Rows]:
    """All rows, as a copy of the database has them."""
    return list(Event.objects.values()), list(AuditHead.objects.values())


def put_back(kept: tuple[Rows, Rows]) -> None:
    Event.objects.all().delete()
    AuditHead.objects.all().delete()
    Event.objects.bulk_create([Event(**row) for row in kept[0]])
    AuditHead.objects.bulk_create([AuditHead(**row) for row in kept[1]])


def forge(**fields: Any) -> Event:
    values = {"actor": "eve", "verb": "x.done", "subject": "x/1", "message": "all is well"}
    return Event.objects.create(**{**values, **fields})


# The three proofs.


def slip_in() -> None:
    happen()
    forge()


def delete_everything() -> None:
    happen()
    Event.objects.all().delete()
    AuditHead.objects.all().delete()


def cut_with_an_older_end() -> None:
    happen()
    older = list(AuditHead.objects.values())
    happen()
    Event.objects.filter(link__gt=3).delete()
    AuditHead.objects.update(**older[0])


# And what else there is.


def delete_everything_and_begin_anew() -> None:
    """The end as it was before the first event: whoever saw the installation early has it."""
    first = snapshot()
    happen()
    put_back(first)


def put_an_older_database_back_and_go_on() -> None:
    happen()
    older = snapshot()
    happen(5)
    put_back(older)
    happen(9, actor="eve")


def only_the_end_is_older() -> None:
    happen()
    older = list(AuditHead.objects.values())
    happen()
    AuditHead.objects.update(**older[0])


def reorder() -> None:
    one, two, _ = happen()
    Event.objects.filter(pk=one.pk).update(link=99)
    Event.objects.filter(pk=two.pk).update(link=1)
    Event.objects.filter(pk=one.pk).update(link=2)


def reorder_with_digests() -> None:
    one, two, _ = happen()
    first, second = (Event.objects.values("link", "digest").get(pk=e.pk) for e in (one, two))
    Event.objects.filter(pk=one.pk).update(link=99)
    Event.objects.filter(pk=two.pk).update(**first)
    Event.objects.filter(pk=one.pk).update(**second)


def copy_a_genuine_event() -> None:
    one, *_ = happen()
    copied = Event.objects.get(pk=one.pk)
    forge(
        **{name: getattr(copied, name) for name in ("at", "actor", "subject", "message", "data")},
        mac=copied.mac,
    )


def lend_a_genuine_mac() -> None:
    one, *_ = happen()
    forge(mac=Event.objects.get(pk=one.pk).mac)


def swap_the_actor_before_sealing() -> None:
    happen()
    made = events.record(actor="eve", verb="x", subject="x", message="m")
    Event.objects.filter(pk=made.pk).update(actor="dana")


def swap_the_actor() -> None:
    Event.objects.filter(pk=happen()[1].pk).update(actor="somebody")


def move_the_clock_before_sealing() -> None:
    made = events.record(actor="eve", verb="x", subject="x", message="m")
    Event.objects.filter(pk=made.pk).update(at=made.at - timedelta(days=1))


def truncate_and_write_again() -> None:
    rows = [row for row in list_after(happen()) if row["link"] <= 2]
    Event.objects.all().delete()
    Event.objects.bulk_create([Event(**row) for row in rows])


def list_after(made: list[Event]) -> Rows:
    del made
    return list(Event.objects.order_by("link").values())


def second_end() -> None:
    happen()
    head = AuditHead.objects.get()
    head.pk = 2
    head.save(force_insert=True)


def hide_behind_a_huge_link() -> None:
    happen()
    forge(link=2**63 - 1, digest="f" * 64)


def hide_below_the_first_link() -> None:
    happen()
    forge(link=-1, digest="f" * 64)


def hide_beyond_the_end() -> None:
    happen()
    forge(link=50, digest="f" * 64)


def many_forged_to_starve_the_sealing() -> None:
    happen()
    Event.objects.bulk_create(
        [Event(actor="e", verb="v", subject="s", message="m") for _ in range(audit.BATCH + 1)]
    )


def claim_to_be_from_before() -> None:
    happen()
    AuditHead.objects.update(boundary=1000)
    forge()


def take_the_macs_away() -> None:
    happen()
    Event.objects.update(mac="")


def drop_the_end_and_seal_by_hand() -> None:
    made = happen()
    AuditHead.objects.all().delete()
    Event.objects.filter(pk=made[2].pk).delete()


def put_off_the_anchors() -> None:
    happen()
    AuditHead.objects.update(anchored_at=timezone.now() + timedelta(days=365))


# What a database takes from who may do anything in it: each has means of its own.

LONG = "9" * 5000  # Python reads no whole number of this length
NO_TIME = {"sqlite": "yesterday", "postgresql": "infinity"}  # which Python's datetime cannot hold


def run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def spoil(table: str, column: str, text: str, where: str = "") -> None:
    """Store what the column's own kind of field would refuse."""
    update = f"UPDATE {table} SET {column} = {text} {where}"
    if connection.vendor == "sqlite":
        pragma = "PRAGMA ignore_check_constraints = "
        return run(f"{pragma}ON", update, f"{pragma}OFF")
    return run(update)


def spoil_event(seq: int, column: str, text: str) -> None:
    spoil("core_event", column, f"'{text}'", f"WHERE seq = {seq}")


@contextmanager
def end_set_at_each_update(column: str, value: str) -> Iterator[None]:
    """A trigger of the database: once the end has been looked at, it is written otherwise."""
    if connection.vendor == "sqlite":
        run(
            "CREATE TRIGGER eve AFTER UPDATE ON core_audithead BEGIN "
            f"UPDATE core_audithead SET {column} = {value}; END"
        )
    else:
        run(
            "CREATE FUNCTION eve() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN NEW.{column} := {value}; RETURN NEW; END $$",
            "CREATE TRIGGER eve BEFORE UPDATE ON core_audithead "
            "FOR EACH ROW EXECUTE FUNCTION eve()",
        )
    yield
    run("DROP TRIGGER eve" + ("" if connection.vendor == "sqlite" else " ON core_audithead"))


def only_sqlite(why: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip(f"{connection.vendor} cannot store it: {why}")


def change_the_end_between_two_looks() -> None:
    happen()
    head = AuditHead.objects.get()
    with end_set_at_each_update("boundary", "1000000"):
        happen()
    assert AuditHead.objects.get().boundary != head.boundary
    forge()


def regret() -> Event:
    """What is not sealed can be removed unseen: so let nothing be sealed."""
    regretted = events.record(actor="eve", verb="x.done", subject="x", message="she did it")
    audit.seal()
    return regretted


def stop_the_sealing_and_remove() -> None:
    happen()
    stopper = forge()
    spoil_event(stopper.seq, "data", f'{{"n": {LONG}}}')
    regretted = regret()
    stopper.delete()
    regretted.delete()


def stop_the_sealing_by_the_end_and_remove() -> None:
    happen()
    genuine = AuditHead.objects.values().get()
    spoil("core_audithead", "anchored_at", f"'{NO_TIME[connection.vendor]}'")
    regret().delete()
    AuditHead.objects.update(**genuine)


def stop_the_sealing_by_an_end_that_is_no_text() -> None:
    only_sqlite("a character column holds characters only")
    happen()
    spoil("core_audithead", "mac", "x'ff'")
    regret()


def stop_the_sealing_by_an_end_that_is_no_number() -> None:
    only_sqlite("a bigint column holds whole numbers only")
    happen()
    spoil("core_audithead", "link", "CAST(x'ff' AS TEXT)")
    regret()


def make_the_end_unreadable_between_two_looks() -> None:
    happen()
    with end_set_at_each_update("anchored_at", f"'{NO_TIME[connection.vendor]}'"):
        regret()


def make_the_end_unreadable_for_good() -> None:
    happen()
    with end_set_at_each_update("anchored_at", f"'{NO_TIME[connection.vendor]}'"):
        regret()
        found = audit.verify()
    assert found.broken is not None
    assert found.broken.kind == "changed"


def stop_the_sealing_by_a_digest_beyond_the_end() -> None:
    only_sqlite("a character column holds characters only")
    happen()
    made = forge(link=5)
    spoil("core_event", "digest", "x'ff'", f"WHERE seq = {made.seq}")
    regret()


def stop_the_sealing_by_the_digest_to_go_on_from() -> None:
    only_sqlite("a character column holds characters only")
    *_, three = happen()
    genuine = Event.objects.values("digest").get(pk=three.pk), AuditHead.objects.values().get()
    spoil("core_event", "digest", "CAST(x'ff' AS TEXT)", f"WHERE seq = {three.seq}")
    AuditHead.objects.update(mac="", link=100)
    regret().delete()
    Event.objects.filter(pk=three.pk).update(**genuine[0])
    AuditHead.objects.update(**genuine[1])


def stop_the_sealing_from_beyond_the_end() -> None:
    happen()
    spoil_event(forge(link=5, digest="0" * 64).seq, "data", f'{{"n": {LONG}}}')


def stop_the_sealing_by_a_time() -> None:
    happen()
    spoil_event(forge().seq, "at", NO_TIME[connection.vendor])


def stop_the_sealing_by_a_number() -> None:
    happen()
    spoil_event(forge().seq, "data", f'{{"n": {"9" * 400}}}')


def make_a_sealed_one_unreadable() -> None:
    _, two, _ = happen()
    spoil_event(two.seq, "data", f'{{"n": {LONG}}}')


def make_a_sealed_one_unreadable_by_its_time() -> None:
    one, *_ = happen()
    spoil_event(one.seq, "at", NO_TIME[connection.vendor])


@pytest.mark.parametrize(
    ("tamper", "kind", "link"),
    [
        (change_the_end_between_two_looks, "changed", 7),
        (stop_the_sealing_and_remove, "removed", 4),
        (stop_the_sealing_from_beyond_the_end, "forged", 4),
        (stop_the_sealing_by_a_time, "forged", 4),
        (stop_the_sealing_by_a_number, "changed", 4),
        (stop_the_sealing_by_the_end_and_remove, "changed", 4),
        (stop_the_sealing_by_an_end_that_is_no_text, "changed", 5),
        (stop_the_sealing_by_an_end_that_is_no_number, "changed", 5),
        (make_the_end_unreadable_between_two_looks, "changed", 5),
        (make_the_end_unreadable_for_good, "changed", 5),
        (stop_the_sealing_by_a_digest_beyond_the_end, "forged", 4),
        (stop_the_sealing_by_the_digest_to_go_on_from, "changed", 3),
        (make_a_sealed_one_unreadable, "changed", 1),
        (make_a_sealed_one_unreadable_by_its_time, "changed", 1),
        (slip_in, "forged", 4),
        (delete_everything, "removed", 1),
        (cut_with_an_older_end, "rewound", 4),
        (delete_everything_and_begin_anew, "rewound", 1),
        (put_an_older_database_back_and_go_on, "rewound", 8),
        (only_the_end_is_older, "rewound", 7),
        (reorder, "changed", 1),
        (reorder_with_digests, "changed", 1),
        (copy_a_genuine_event, "forged", 4),
        (lend_a_genuine_mac, "forged", 4),
        (swap_the_actor_before_sealing, "forged", 4),
        (swap_the_actor, "changed", 2),
        (move_the_clock_before_sealing, "forged", 1),
        (truncate_and_write_again, "removed", 3),
        (second_end, "forged", 3),
        (hide_behind_a_huge_link, "forged", 4),
        (hide_below_the_first_link, "forged", 1),
        (hide_beyond_the_end, "forged", 4),
        (many_forged_to_starve_the_sealing, "forged", 4),
        (claim_to_be_from_before, "forged", 4),
        (take_the_macs_away, "changed", 1),
        (drop_the_end_and_seal_by_hand, "removed", 3),
        (put_off_the_anchors, "changed", 4),
    ],
)
def test_a_forgery_is_found_and_named(tamper: Callable[[], None], kind: str, link: int) -> None:
    tamper()
    found = audit.verify()
    assert found.broken is not None
    assert (found.broken.kind, found.broken.link) == (kind, link), found.broken.reason
    assert found.unsealed == 0
    for _ in range(8):  # it stays, although anchors go on as well
        happen(1)
        found = audit.verify()
        assert found.broken is not None
        assert found.broken.kind == kind


def test_a_genuine_log_holds_whatever_clocks_do() -> None:
    happen()
    for index, back in enumerate((0, 3600, -86400)):
        event = Event(actor="d", verb="v", subject="s", message=str(index), data={})
        event.at = timezone.now() - timedelta(seconds=back)
        event.mac = seals.event_mac(event)
        event.save(force_insert=True)
    found = audit.verify()
    assert (found.broken, found.sealed) == (None, 6)


@pytest.mark.parametrize(
    "data",
    [
        {"a": [1, 1.0, -0.0, 1e16, 1e20, 1e23, 2**60, 1e-7, 0.1, True, None]},
        {"ü€": "\u2028 \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")},
        {"nested": {"b": {"z": 1, "a": [{}, []]}}},
        {10: "ten", 9: "nine"},
        {"tuple": (1, 2)},
    ],
)
def test_what_an_event_carries_survives_the_database(data: dict[Any, Any]) -> None:
    events.record(actor="ä", verb="x", subject="s", message="m\n", data=data)
    assert audit.verify().broken is None


# Anchors.


def test_anchors_are_private_appended_and_say_where_the_chain_ended(
    anchored: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "controlplane.core.anchors")
    happen(2)
    happen(1)
    lines = [json.loads(line) for line in anchored.read_text().splitlines()]
    digests = dict(Event.objects.values_list("link", "digest"))
    assert [(line["link"], line["digest"]) for line in lines] == [(2, digests[2]), (3, digests[3])]
    assert stat.S_IMODE(anchored.stat().st_mode) == 0o600
    assert [r.message for r in caplog.records] == [
        f"audit anchor {line}" for line in anchored.read_text().splitlines()
    ]
    assert audit.verify().anchors == 2


def test_anchors_come_once_a_minute_or_after_a_thousand_events(
    anchored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "ANCHOR_EVERY", timedelta(minutes=1))
    monkeypatch.setattr(audit, "ANCHOR_EVENTS", 4)
    for count in (1, 2, 1, 1):
        happen(count)
    assert [json.loads(line)["link"] for line in anchored.read_text().splitlines()] == [1, 5]
    monkeypatch.setattr(audit, "ANCHOR_EVERY", timedelta(0))
    audit.seal()
    audit.seal()
    assert len(anchored.read_text().splitlines()) == 2


def cut(path: Path) -> None:
    path.write_text(path.read_text().splitlines()[0] + "\n")


def forge_line(path: Path) -> None:
    line = json.loads(path.read_text().splitlines()[-1])
    with path.open("a") as file:
        file.write(json.dumps(line | {"link": 1, "restored": "trust me"}) + "\n")


@pytest.mark.parametrize(
    ("tamper", "kind"),
    [(cut, "removed"), (lambda path: path.unlink(), "removed"), (forge_line, "forged"),
     (lambda path: (path.unlink(), path.mkdir()), "removed")],
)  # fmt: skip
def test_anchors_that_were_tampered_with_are_told(
    anchored: Path, tamper: Callable[[Path], object], kind: str
) -> None:
    happen()
    happen()
    tamper(anchored)
    found = audit.verify()
    assert found.broken is not None
    assert found.broken.kind == kind


def test_a_line_that_a_crash_tore_is_no_forgery_and_spoils_no_other(anchored: Path) -> None:
    happen()
    with anchored.open("a") as file:
        file.write('{"at": "2026')
    happen()
    found = audit.verify()
    assert (found.broken, found.anchors) == (None, 2)


def test_a_file_that_cannot_be_written_stops_nothing_and_is_made_up_for(anchored: Path) -> None:
    anchored.mkdir(parents=True)
    happen()
    assert AuditHead.objects.get().anchored == 0
    anchored.rmdir()
    happen()
    assert audit.verify().broken is None
    assert AuditHead.objects.get().anchored == 6


def flags(path: Path, change: Callable[[int], int] = lambda now: now) -> int:
    """As lsattr and chattr. Raises OSError where the file system has none, or we may not."""
    with path.open("rb") as file:
        (now,) = struct.unpack("l", fcntl.ioctl(file, anchors.GET_FLAGS, bytes(8)))
        if change(now) != now:
            fcntl.ioctl(file, anchors.SET_FLAGS, struct.pack("l", change(now)))
    return int(now)


def test_outside_of_the_data_folder_the_file_is_append_only_where_we_may(
    settings: Settings, tmp_path: Path
) -> None:
    probe = tmp_path / "probe"
    probe.write_text("")
    try:
        flags(probe, lambda now: now | anchors.APPEND_ONLY)
        flags(probe, lambda now: now & ~anchors.APPEND_ONLY)
    except OSError as error:
        pytest.skip(f"no append-only files here: {error}")
    outside = tmp_path / "elsewhere" / "anchors.jsonl"
    settings.SHOAL_HOME, settings.SHOAL_AUDIT_ANCHORS = tmp_path / "home", outside
    happen()
    try:
        happen()
        assert flags(outside) & anchors.APPEND_ONLY
        with pytest.raises(PermissionError):
            cut(outside)
        with pytest.raises(PermissionError):
            outside.unlink()
        assert audit.verify().anchors == 2
    finally:
        flags(outside, lambda now: now & ~anchors.APPEND_ONLY)


def test_in_the_data_folder_the_file_can_be_deleted_with_it(anchored: Path) -> None:
    happen()
    anchored.unlink()


def test_no_link_is_followed_to_another_file(anchored: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("")
    anchored.parent.mkdir()
    anchored.symlink_to(victim)
    happen()
    assert victim.read_text() == ""


def test_a_copy_kept_elsewhere_shows_what_our_own_does_not_any_more(
    anchored: Path, tmp_path: Path
) -> None:
    happen()
    older = snapshot()
    happen()
    copy = shutil.copy(anchored, tmp_path / "elsewhere.jsonl")
    put_back(older)
    cut(anchored)
    assert audit.verify().broken is None  # who has both has hidden it here
    call_command("audit", "verify")
    with pytest.raises(Exception, match=r"broken \(rewound\)"):
        call_command("audit", "verify", "--anchors", str(copy))


def test_a_restore_on_purpose_is_on_record_and_told_apart(
    anchored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    happen()
    older = snapshot()
    happen(5)
    put_back(older)
    events.record(actor="dana", verb="x", subject="x", message="came first")
    call_command("audit", "restored", "backup of monday")
    found = audit.verify()
    assert (found.broken, found.restores) == (None, 1)
    happen(9)
    assert audit.verify().broken is None
    event = Event.objects.get(verb="audit.restored")
    assert "backup of monday" in event.message
    line = next(json.loads(one) for one in anchored.read_text().splitlines() if "restored" in one)
    assert (line["restored"], line["kept"]) == ("backup of monday", 3)
    put_back(older)  # once more, and nobody says so
    found = audit.verify()
    assert found.broken is not None
    assert found.broken.kind == "rewound"


def test_a_note_of_a_restore_becomes_an_event_at_the_next_start(tmp_path: Path) -> None:
    happen()
    note = tmp_path / "audit" / "restored.json"
    note.write_text(json.dumps({"reason": "backup shoal.tar of monday"}))
    for _ in range(2):
        call_command("setup_installation", "--output", str(tmp_path / "setup.json"))
    assert Event.objects.filter(verb="audit.restored").count() == 1
    assert not note.exists()
    assert audit.verify().restores == 1


class Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.server.taken.append(self.rfile.read(int(self.headers["Content-Length"])))  # type: ignore[attr-defined]
        self.send_response(302 if b"refused" in self.server.taken[-1] else 204)  # type: ignore[attr-defined]
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.mark.parametrize(
    "line", ["[" * 10**5, '{"at": "", "link": 1, "digest": "", "mac": "\\ud800"}']
)
def test_no_line_of_the_anchors_keeps_from_looking(anchored: Path, line: str) -> None:
    happen()
    with anchored.open("a") as file:
        file.write(line + "\n")
    found = audit.verify()
    assert found.sealed == 3
    assert found.broken is None or found.broken.kind == "forged"


def test_a_clock_that_was_set_back_puts_no_anchors_off(
    anchored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "ANCHOR_EVERY", timedelta(minutes=1))
    happen()
    now = timezone.now() - timedelta(days=1)
    monkeypatch.setattr(audit.timezone, "now", lambda: now)
    happen()
    assert len(anchored.read_text().splitlines()) == 2


def test_an_anchor_that_another_process_writes_meanwhile_is_no_alarm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    happen()
    real, locked = anchors.read, []

    def read(path: Path) -> Any:
        locked.append(connection.in_atomic_block and not connection.get_autocommit())
        return real(path)

    monkeypatch.setattr(anchors, "read", read)
    assert (audit.verify().broken, len(locked)) == (None, 1)


def test_the_webhook_is_told_by_a_job_and_a_failure_is_a_line_in_the_log(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: Any,
    anchored: Path,
) -> None:
    server = HTTPServer(("127.0.0.1", 0), Taking)
    server.taken = []  # type: ignore[attr-defined]
    settings.SHOAL_AUDIT_WEBHOOK = f"http://127.0.0.1:{server.server_port}/anchors"
    sent: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(
        "celery.Celery.send_task", lambda _, name, kwargs, **__: sent.append((name, kwargs))
    )
    with django_capture_on_commit_callbacks(execute=True):
        happen()
    line = anchored.read_text().strip()
    assert ("core.send_anchor", {"line": line}) in sent
    with ThreadPoolExecutor(1) as threads:
        served = threads.submit(lambda: [server.handle_request() for _ in range(2)])
        anchors.send(line)
        assert not [r for r in caplog.records if r.levelname == "WARNING"]
        anchors.send("refused")
        served.result(60)
    assert server.taken == [line.encode(), b"refused"]  # type: ignore[attr-defined]
    server.server_close()
    anchors.send(line)
    warnings = [r.message for r in caplog.records if r.levelname == "WARNING"]
    assert len([w for w in warnings if "not taken by the webhook" in w]) == 2


@pytest.mark.parametrize("value", ["http://x.example/", "https://", "x.example", "file:///etc"])
def test_a_webhook_is_https(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SHOAL_AUDIT_WEBHOOK", value)
    with pytest.raises(ImproperlyConfigured, match="expected https"):
        env.https("SHOAL_AUDIT_WEBHOOK")


@pytest.mark.django_db(transaction=True)
def test_sealing_at_once_forks_nothing() -> None:
    def work(index: int) -> None:
        try:
            for _ in range(3):
                happen(2, actor=f"dana-{index}")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    found = audit.verify()
    assert (found.broken, found.sealed) == (None, 24)


# Logs from before events had keyed hashes of their own.

upgrade = importlib.import_module("controlplane.core.migrations.0004_event_macs_and_anchors")
before = importlib.import_module("controlplane.core.migrations.0003_audit_head_mac")


def old_log(sealed: int = 2, unsealed: int = 2) -> None:
    """As it was: no event has a keyed hash, the end has one over link and digest alone."""
    happen(sealed)
    Event.objects.update(mac="", link=None)
    AuditHead.objects.all().delete()
    head = audit.begin()
    for event in Event.objects.order_by("seq"):
        head.link += 1
        head.digest = seals.digest_of(head.digest, head.link, event)
        Event.objects.filter(pk=event.pk).update(link=head.link, digest=head.digest)
    head.mac = before.mac_of(head.link, head.digest)
    head.save()
    for _ in range(unsealed):
        forge(actor="dana")


@pytest.fixture
def no_old_anchors(anchored: Path) -> Callable[[], None]:
    return lambda: anchored.unlink(missing_ok=True)


def test_what_was_before_is_sealed_once_and_the_boundary_is_on_record(
    no_old_anchors: Callable[[], None],
) -> None:
    old_log()
    no_old_anchors()
    upgrade.begin(apps, None)
    assert AuditHead.objects.get().boundary == 4
    happen(2)
    assert audit.verify().broken is None
    forge()
    found = audit.verify()
    assert found.broken is not None
    assert (found.broken.kind, found.broken.link) == ("forged", 7)


def test_an_old_log_that_lost_its_end_later_keeps_its_boundary(
    no_old_anchors: Callable[[], None],
) -> None:
    old_log()
    no_old_anchors()
    upgrade.begin(apps, None)
    happen(2)
    AuditHead.objects.all().delete()
    found = audit.verify()
    assert found.broken is not None
    assert (found.broken.kind, found.broken.link) == ("removed", 7)
    assert AuditHead.objects.get().boundary == 4


@pytest.mark.parametrize(
    ("tamper", "kind"),
    [
        (lambda: AuditHead.objects.update(digest="f" * 64), "changed"),
        (lambda: AuditHead.objects.all().delete(), "removed"),
    ],
)
def test_an_upgrade_approves_no_end_that_was_forged_before(
    tamper: Callable[[], object], kind: str, no_old_anchors: Callable[[], None]
) -> None:
    old_log(unsealed=0)
    no_old_anchors()
    tamper()
    upgrade.begin(apps, None)
    found = audit.verify()
    assert found.broken is not None
    assert found.broken.kind == kind


def test_a_new_installation_has_an_end_before_its_first_event() -> None:
    AuditHead.objects.all().delete()
    upgrade.begin(apps, None)
    assert audit.verify().broken is None
