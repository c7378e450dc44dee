"""The chain over the event log: it holds, and says where it does not."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.core import audit, events, seals
from controlplane.core.models import AuditHead, Event

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def anchors_of_its_own(settings: Settings, tmp_path: Path) -> None:
    settings.SHOAL_HOME = tmp_path
    settings.SHOAL_AUDIT_ANCHORS = tmp_path / "audit" / "anchors.jsonl"


def happen(count: int = 3) -> list[Event]:
    return [
        events.record(
            actor="dana",
            verb="endpoint.traffic_changed",
            subject=f"endpoint/e{index}",
            message=f"Traffic moved, {index} %",
            data={"ü": [1.5, None, {"deep": index}]},
            before={"traffic": {}},
            after={"traffic": {"blue": 100}},
        )
        for index in range(count)
    ]


def test_events_are_sealed_once_and_in_order() -> None:
    happen(3)
    assert audit.seal() == 3
    happen(2)
    assert (audit.seal(), audit.seal()) == (2, 0)
    rows = list(Event.objects.order_by("seq"))
    assert [row.link for row in rows] == [1, 2, 3, 4, 5]
    assert len({row.digest for row in rows}) == 5
    found = audit.verify()
    assert (found.ok, found.sealed, found.unsealed) == (True, 5, 0)
    assert found.head == rows[-1].digest == AuditHead.objects.get().digest


def test_what_came_late_with_an_earlier_number_is_sealed_behind() -> None:
    first, late, third = happen(3)
    Event.objects.filter(pk=late.pk).delete()
    audit.seal()
    late.save(force_insert=True)
    assert audit.verify().ok
    links = dict(Event.objects.values_list("seq", "link"))
    assert (links[first.seq], links[third.seq], links[late.seq]) == (1, 2, 3)


def test_an_empty_log_holds() -> None:
    assert audit.verify() == audit.Verification(True, 0, 0, audit.START, 0, 0, None)


def change(**fields: Any) -> Callable[[list[Event]], object]:
    return lambda rows: Event.objects.filter(pk=rows[1].pk).update(**fields)


def remove(index: int) -> Callable[[list[Event]], object]:
    return lambda rows: Event.objects.filter(pk=rows[index].pk).delete()


def swap(rows: list[Event]) -> None:
    Event.objects.filter(pk=rows[0].pk).update(link=99)
    Event.objects.filter(pk=rows[1].pk).update(link=1)
    Event.objects.filter(pk=rows[0].pk).update(link=2)


def forge_head(rows: list[Event]) -> None:
    AuditHead.objects.update(digest="f" * 64)


def cut_and_forge_head(rows: list[Event]) -> None:
    """The last event is gone, and the head says that the one before was the last."""
    Event.objects.filter(pk=rows[2].pk).delete()
    before = Event.objects.get(pk=rows[1].pk)
    AuditHead.objects.update(link=before.link, digest=before.digest)


def change_and_let_it_be_sealed_again(rows: list[Event]) -> None:
    before = Event.objects.get(pk=rows[1].pk)
    AuditHead.objects.update(link=before.link, digest=before.digest)
    Event.objects.filter(pk=rows[2].pk).update(link=None, digest="", message="nothing")


def drop_head(rows: list[Event]) -> None:
    AuditHead.objects.all().delete()


def slip_in(rows: list[Event]) -> None:
    forged = Event.objects.get(pk=rows[2].pk)
    forged.pk, forged.message, forged.link = None, "nothing happened", 4
    forged.save(force_insert=True)


@pytest.mark.parametrize(
    ("tamper", "link", "says"),
    [
        (change(actor="ada"), 2, "is not what was sealed"),
        (change(message="nothing"), 2, "is not what was sealed"),
        (change(data={}), 2, "is not what was sealed"),
        (change(at="2020-01-01T00:00:00Z"), 2, "is not what was sealed"),
        (change(digest="0" * 64), 2, "is not what was sealed"),
        (remove(0), 1, "No event holds link 1"),
        (remove(1), 2, "No event holds link 2"),
        (remove(2), 3, "from link 3 to 3 are gone"),
        (swap, 1, "is not what was sealed"),
        (slip_in, 4, "is not what Shoal wrote"),
        (forge_head, 4, "was changed"),
        (cut_and_forge_head, 3, "was changed"),
        (change_and_let_it_be_sealed_again, 3, "is not what Shoal wrote"),
        (drop_head, 4, "was removed"),
    ],
)
def test_tampering_is_seen_and_located(
    tamper: Callable[[list[Event]], object], link: int, says: str
) -> None:
    rows = happen(3)
    audit.seal()
    tamper(rows)
    found = audit.verify()
    assert not found.ok
    assert found.broken is not None
    assert found.broken.link == link
    assert says in found.broken.reason


def test_a_forged_end_stays_on_record_while_events_go_on() -> None:
    rows = happen(3)
    audit.seal()
    cut_and_forge_head(rows)
    for _ in range(3):
        assert audit.verify().broken is not None
        happen(1)
    marks = Event.objects.filter(verb="audit.broken")
    assert [mark.severity for mark in marks] == ["error"]
    found = audit.verify()
    assert found.broken is not None
    assert found.broken.seq == marks[0].seq
    assert found.unsealed == 0


def test_the_chain_cannot_be_made_anew_without_the_secret(settings: Settings) -> None:
    happen(2)
    audit.seal()
    ours, settings.SECRET_KEY = settings.SECRET_KEY, "somebody else's"
    for event in Event.objects.order_by("link"):
        event.mac = seals.event_mac(event)
        event.save()
    Event.objects.update(link=None)
    AuditHead.objects.all().delete()
    audit.begin()
    audit.seal()
    settings.SECRET_KEY = ours
    found = audit.verify()
    assert found.broken is not None
    assert found.broken.link == 1


@given(before=st.text(), one=st.text(), other=st.text())
def test_different_events_have_different_hashes(before: str, one: str, other: str) -> None:
    from django.utils import timezone

    at = timezone.now()
    digests = [
        seals.digest_of(before, 1, Event(seq=1, at=at, actor=actor, verb=verb, data={}))
        for actor, verb in ((one, other), (other, one), (one + other, ""), ("", one + other))
    ]
    if one and other and one != other and one + other != other + one:
        assert len(set(digests)) == 4


def test_the_command_line_checks_and_exports(capsys: pytest.CaptureFixture[str]) -> None:
    rows = happen(2)
    call_command("audit", "verify")
    assert "The chain holds: 2 events" in capsys.readouterr().out
    call_command("audit", "export", "--format", "csv")
    assert capsys.readouterr().out.count("\n") == 3
    Event.objects.filter(pk=rows[0].pk).update(actor="nobody")
    with pytest.raises(CommandError, match=f"Event {rows[0].seq} is not what was sealed"):
        call_command("audit", "verify")


@pytest.fixture
def operator_api(db: None, client_of: Callable[[User], APIClient]) -> APIClient:
    return client_of(User.objects.create_user("olga", password="x", role=User.Role.OPERATOR))


def streamed(answer: Any) -> str:
    return b"".join(answer).decode()


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous")
def test_operators_export_the_log_which_is_on_record(operator_api: APIClient) -> None:
    happen(2)
    wanted = {"subject": "endpoint/e1"}
    answer = operator_api.get("/api/v1/events/export", wanted)
    (line,) = streamed(answer).splitlines()
    row = json.loads(line)
    assert (row["actor"], row["data"]["after"]) == ("dana", {"traffic": {"blue": 100}})
    assert row["link"] > 0 and len(row["digest"]) == 64
    Event.objects.create(actor="eve", verb="x", subject="endpoint/e1", message="=1+1")
    answer = operator_api.get("/api/v1/events/export", {**wanted, "file_format": "csv"})
    assert answer["Content-Type"].startswith("text/csv")
    head, _, formula = csv.reader(io.StringIO(streamed(answer)))
    assert formula[head.index("message")] == "'=1+1"
    exports = Event.objects.filter(verb="events.exported", actor="olga")
    assert [event.data["format"] for event in exports] == ["ndjson", "csv"]


def test_operators_check_the_chain_and_others_do_not(
    operator_api: APIClient, api: APIClient
) -> None:
    rows = happen(2)
    assert operator_api.get("/api/v1/events/verify").json()["ok"] is True
    Event.objects.filter(pk=rows[1].pk).update(verb="nothing")
    broken = operator_api.get("/api/v1/events/verify").json()
    assert (broken["ok"], broken["broken"]["seq"]) == (False, rows[1].seq)
    assert api.get("/api/v1/events/verify").status_code == 403
    assert api.get("/api/v1/events/export").status_code == 403


def test_lists_are_filtered_and_in_pages(api: APIClient) -> None:
    rows = happen(5)
    Event.objects.filter(pk=rows[0].pk).update(severity="error", verb="replica.failed")
    path = "/api/v1/events"
    first = api.get(path, {"actor": "dana", "limit": 3}).json()
    rest = api.get(path, {"actor": "dana", "limit": 3, "cursor": first["next_cursor"]}).json()
    seen = [row["seq"] for row in first["items"] + rest["items"]]
    assert seen == [row.seq for row in reversed(rows)]
    assert rest["next_cursor"] is None
    assert [r["seq"] for r in api.get(path, {"severity": "error"}).json()["items"]] == [rows[0].seq]
    assert len(api.get(path, {"verb": "endpoint."}).json()["items"]) == 4
    onward = api.get(path, {"after_seq": rows[1].seq, "subject": "endpoint/e2"}).json()["items"]
    assert [row["seq"] for row in onward] == [rows[2].seq]
    at = rows[2].at.isoformat()
    assert rows[2].seq in [r["seq"] for r in api.get(path, {"since": at}).json()["items"]]
    assert rows[2].seq not in [r["seq"] for r in api.get(path, {"until": at}).json()["items"]]
    assert api.get(path, {"since": "yesterday"}).json()["field"] == "since"
