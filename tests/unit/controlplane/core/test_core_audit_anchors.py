"""Anchors of the event log: where they lie, when they come, and what changes of them are told."""

import fcntl
import json
import logging
import shutil
import stat
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from controlplane.config import env
from controlplane.core import anchors, audit, events
from controlplane.core import tasks as core_tasks
from controlplane.core.models import AuditHead, Event
from tests.support.audit_log import (
    happen,
    put_back,
    snapshot,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("anchored")]


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
    settings.SHOAL_AUDIT_WEBHOOK = f"http://127.0.0.1:{server.server_port}/anchors/swordfish"
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
    assert "swordfish" not in caplog.text, "who knows the address may post there"


@pytest.mark.parametrize(
    "value", ["http://x.example/swordfish", "https://", "x.example", "file:///etc"]
)
def test_a_webhook_is_https(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SHOAL_AUDIT_WEBHOOK", value)
    with pytest.raises(ImproperlyConfigured, match="expected https") as refused:
        env.https("SHOAL_AUDIT_WEBHOOK")
    assert "swordfish" not in str(refused.value)


def state() -> tuple[Any, ...]:
    events_kept = Event.objects.order_by("seq").values_list("seq", "link", "digest", "mac", "verb")
    return list(events_kept), AuditHead.objects.values().get()


def test_another_secret_key_is_told_as_such_and_damages_nothing(
    anchored: Path, settings: Settings
) -> None:
    """As after a restore without it: event 1 was told to be changed, and the chain broken."""
    happen(3)
    before, lines = state(), anchored.read_text()
    right, settings.SECRET_KEY = settings.SECRET_KEY, "another"
    core_tasks.seal_events()
    found = audit.verify()
    assert found.broken is not None
    assert (found.ok, found.broken.kind, found.sealed) == (False, "other_key", 3)
    assert "another SHOAL_SECRET_KEY" in found.broken.reason
    for words in (["verify"], ["restored", "from Monday"], ["export"]):
        with pytest.raises(CommandError, match="another SHOAL_SECRET_KEY"):
            call_command("audit", *words)
    assert (state(), anchored.read_text()) == (before, lines)
    settings.SECRET_KEY = right
    assert audit.verify().ok


def test_who_writes_to_the_database_cannot_pass_for_another_key(anchored: Path) -> None:
    """Else sealing would stop, and what is not sealed can be removed unseen."""
    happen(2)
    Event.objects.update(mac="0" * 80)
    AuditHead.objects.update(mac="0" * 64)
    happen(1)
    found = audit.verify()
    assert found.broken is not None
    assert found.broken.kind == "changed"
    assert found.sealed > 2
