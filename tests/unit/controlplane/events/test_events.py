"""The log of events: filtered, and in pages that nothing shifts."""

from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.selectors import events_shown
from controlplane.core import events
from controlplane.core.models import Event


@pytest.fixture
def log(db: None) -> None:
    rows = [
        ("ada", "endpoint.created", "endpoint/digits", "digits was made", "info"),
        ("system", "replica.failed", "endpoint/digits", "a replica failed", "error"),
        ("ada", "node.cordoned", "node/a1", "a1 takes no new replicas", "warning"),
        ("otto", "join-token.created", "nodes", "a token for a node", "info"),
    ]
    for actor, verb, subject, message, severity in rows:
        events.record(
            actor=actor,
            verb=verb,
            subject=subject,
            message=message,
            severity=Event.Severity(severity),
        )


def verbs(client: APIClient, **query: Any) -> list[str]:
    body = client.get("/api/v1/events", query).json()
    return [item["verb"] for item in body["items"] if not item["verb"].startswith("token.")]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"subject": "endpoint/digits"}, ["replica.failed", "endpoint.created"]),
        ({"kind": "node"}, ["node.cordoned"]),
        ({"kind": "nodes"}, ["join-token.created"]),
        ({"actor": "ada"}, ["node.cordoned", "endpoint.created"]),
        ({"severity": ["error", "warning"]}, ["node.cordoned", "replica.failed"]),
        ({"q": "FAILED"}, ["replica.failed"]),
        ({"q": "digits", "actor": "ada"}, ["endpoint.created"]),
        ({"actor": "nobody"}, []),
    ],
)
def test_filters(log: None, viewer_api: APIClient, query: dict[str, Any], found: list[str]) -> None:
    assert verbs(viewer_api, **query) == found


def test_who_only_looked_is_left_out_when_wished(log: None, viewer_api: APIClient) -> None:
    for verb in (*sorted(events.LOOKS), "endpoint.key_regenerated"):
        events.record(actor="eve", verb=verb, subject="endpoint/digits", message=f"eve: {verb}")
    every = verbs(viewer_api, subject="endpoint/digits")
    changes = verbs(viewer_api, subject="endpoint/digits", looks="false")
    assert set(every) - set(changes) == events.LOOKS
    assert changes == ["endpoint.key_regenerated", "replica.failed", "endpoint.created"]
    shown = viewer_api.get("/api/v1/overview").json()["recent_events"]
    told = [event["verb"] for event in shown]
    assert "endpoint.key_regenerated" in told
    assert not events.LOOKS & set(told)


def test_every_look_is_an_event_that_is_recorded() -> None:
    """So that none of them is misspelt, or goes on to be left out under an old name."""
    code = "".join(path.read_text() for path in Path("controlplane").rglob("*.py"))
    assert [verb for verb in events.LOOKS if f'verb="{verb}"' not in code] == []


def test_pages_go_back_in_time_and_end(log: None, viewer_api: APIClient) -> None:
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        page = viewer_api.get("/api/v1/events", {"limit": 2, "cursor": cursor}).json()
        seen += [item["seq"] for item in page["items"]]
        cursor = page["next_cursor"]
        events.record(actor="x", verb="new", subject="x", message="meanwhile")
    everything = events_shown(people=False).order_by("-seq").exclude(verb="new")
    assert seen == [event.seq for event in everything]


def test_what_came_behind_is_in_order_and_filtered(log: None, viewer_api: APIClient) -> None:
    first = Event.objects.order_by("seq").first()
    assert first is not None
    found = verbs(viewer_api, after_seq=first.seq, actor="ada")
    assert found == ["node.cordoned"]


@pytest.mark.parametrize("query", [{"severity": "loud"}, {"cursor": "x"}, {"limit": "0"}])
def test_a_query_that_makes_no_sense(viewer_api: APIClient, query: dict[str, str]) -> None:
    answer = viewer_api.get("/api/v1/events", query)
    assert answer.status_code == 400
    assert answer.json()["field"].startswith(next(iter(query)))
