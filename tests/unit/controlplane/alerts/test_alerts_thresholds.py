"""Thresholds for a project, an endpoint or a node: which counts, who may set them, what follows."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, Project, User
from controlplane.alerts.models import Alert, AlertThreshold
from controlplane.alerts.selectors import facts
from controlplane.alerts.services import looks
from controlplane.capture.models import CaptureBaseline
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.services.endpoints import endpoint_create
from controlplane.drift import Summary
from controlplane.nodes.models import Node
from tests.support.people import make_user
from tests.support.placed_replicas import replica_place
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
Build = Callable[[User], APIClient]
RULES = "/api/v1/alert-rules"
DRIFT = f"{RULES}/input-drift"


@pytest.fixture
def boss(client_of: Build) -> APIClient:
    return client_of(make_user("ada", User.Role.ADMIN))


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of this machine is none of these tests' business."""
    monkeypatch.setattr(looks, "FACTS", {**facts.FACTS, "disk-nearly-full": lambda *_: iter(())})


@pytest.fixture
def vision() -> Project:
    """With the endpoint quote; other is in the default project; a node local."""
    project = Project.objects.create(name="vision", created_by="ada")
    endpoint_create(name="quote", actor="ada", now=timezone.now(), project="vision")
    endpoint_create(name="other", actor="ada", now=timezone.now())
    Node.objects.create(id="n1", name="local")
    return project


@pytest.fixture
def drifting(monkeypatch: pytest.MonkeyPatch) -> SimulatedNode:
    """digits/blue, in the default project, whose index is 0.4."""
    monkeypatch.setattr(looks, "FACTS", {**looks.FACTS, "node-silent": lambda *_: iter(())})
    made = SimulatedNode()
    replica_place(made.row(), "r1")
    row = CaptureBaseline(deployment=Deployment.objects.get(), source="x", set_by="ada")
    row.summary = Summary(0, {})
    row.looked_at, row.worst_psi, row.worst_feature = timezone.now(), 0.4, "model_inputs/x"
    row.save()
    return made


def put(api: APIClient, path: str, threshold: Any, **headers: str) -> Any:
    return api.put(path, {"threshold": threshold}, format="json", **headers)


def look(now: datetime, times: int = 1) -> datetime:
    for _ in range(times):
        looks.alerts_look(now=now)
        now += timedelta(seconds=60)
    return now


# (installation, project, endpoint): what counts, and whose it is
@pytest.mark.parametrize(
    ("installation", "project", "endpoint", "effective", "source"),
    [
        (None, None, None, 500, "installation"),
        (900, None, None, 900, "installation"),
        (900, 800, None, 800, "project/vision"),
        (900, 1200, None, 1200, "project/vision"),
        (900, 800, 700, 700, "endpoint/quote"),
        (None, None, 700, 700, "endpoint/quote"),
        (None, 500, None, 500, "project/vision"),  # as built in, and stays so
    ],
)
def test_the_nearest_counts_and_it_is_told_whose_it_is(
    boss: APIClient,
    vision: Project,
    installation: float | None,
    project: float | None,
    endpoint: float | None,
    effective: float,
    source: str,
) -> None:
    rule = f"{RULES}/queue-slow"
    if installation is not None:
        assert boss.patch(rule, {"threshold": installation}, format="json").status_code == 200
    for kind, value in (("project/vision", project), ("endpoint/quote", endpoint)):
        if value is not None:
            assert put(boss, f"{rule}/thresholds/{kind}", value).status_code == 200
    found = boss.get(f"{rule}/thresholds/endpoint/quote").json()
    assert (found["effective"], found["source"]) == (effective, source)
    assert (found["threshold"], found["installation"]) == (endpoint, installation or 500)
    assert found["unit"] == "ms"
    other = boss.get(f"{rule}/thresholds/endpoint/other").json()
    assert (other["effective"], other["source"]) == (installation or 500, "installation")
    listed = boss.get(rule).json()["thresholds"]
    own = {"endpoint/quote": endpoint, "project/vision": project}
    assert {one["about"]: one["threshold"] for one in listed} == {
        about: value for about, value in own.items() if value is not None
    }
    (same,) = [one for one in boss.get(RULES).json()["items"] if one["name"] == "queue-slow"]
    assert same["thresholds"] == listed


@pytest.mark.parametrize(
    ("path", "body", "status", "field", "told"),
    [
        ("queue-slow/thresholds/project/vision", {"threshold": 0}, 400, "threshold", "expected 1"),
        ("queue-slow/thresholds/project/vision", {"threshold": 2e9}, 400, "threshold", "2e+09"),
        ("queue-slow/thresholds/project/vision", {"threshold": "x"}, 400, "threshold", "number"),
        ("queue-slow/thresholds/project/vision", {"threshold": True}, 400, "threshold", "number"),
        ("queue-slow/thresholds/project/vision", {"threshold": None}, 400, "threshold", "null"),
        ("queue-slow/thresholds/project/vision", {}, 400, "threshold", "missing"),
        ("queue-slow/thresholds/project/vision", {"threshold": 1, "for_s": 1}, 400, "for_s", ""),
        ("input-drift/thresholds/endpoint/quote", {"threshold": 0}, 400, "threshold", "PSI"),
        ("queue-slow/thresholds/node/local", {"threshold": 5}, 400, "about", "project or endpoint"),
        ("node-silent/thresholds/project/vision", {"threshold": 90}, 400, "about", "expected node"),
        ("gateway-silent/thresholds/project/vision", {"threshold": 90}, 400, "about", "none has"),
        ("endpoint-unavailable/thresholds/endpoint/quote", {"threshold": 1}, 400, "about", "none"),
        ("queue-slow/thresholds/model/digits", {"threshold": 5}, 400, "about", "'model'"),
        ("queue-slo/thresholds/project/vision", {"threshold": 5}, 404, "rule", "mean queue-slow"),
        ("queue-slow/thresholds/project/visio", {"threshold": 5}, 404, "project", "'visio'"),
        ("queue-slow/thresholds/endpoint/quot", {"threshold": 5}, 404, None, "quot"),
        ("node-silent/thresholds/node/loca", {"threshold": 90}, 404, None, "loca"),
    ],
)
def test_bad_values_are_refused_by_name(
    boss: APIClient,
    vision: Project,
    path: str,
    body: dict[str, Any],
    status: int,
    field: str | None,
    told: str,
) -> None:
    answer = boss.put(f"{RULES}/{path}", body, format="json")
    assert (answer.status_code, answer.json().get("field") or None) == (status, field)
    assert told in answer.json()["detail"]
    assert not AlertThreshold.objects.exists()


VISION, OTHERS, NODE = "project/vision", "project/default", "node/local"
QUOTE, OTHER = "endpoint/quote", "endpoint/other"


@pytest.mark.parametrize(
    ("role", "inside", "statuses"),
    [
        # of the installation
        ("viewer", None, {VISION: 403, QUOTE: 403, NODE: 403}),
        ("invoker", None, {VISION: 403, QUOTE: 403, NODE: 403}),
        ("deployer", None, {VISION: 200, QUOTE: 200, OTHER: 200, NODE: 403}),
        ("operator", None, {VISION: 200, QUOTE: 200, NODE: 200}),
        # of the project vision alone
        ("member", "viewer", {VISION: 403, QUOTE: 403, NODE: 403}),
        ("member", "deployer", {VISION: 200, QUOTE: 200, OTHERS: 404, OTHER: 404, NODE: 403}),
    ],
)
def test_who_may_set_and_remove_them(
    client_of: Build, vision: Project, role: str, inside: str | None, statuses: dict[str, int]
) -> None:
    person = make_user("mia", role)
    if inside is not None:
        Membership.objects.create(project=vision, user=person, role=inside)
    api = client_of(person)
    for about, status in statuses.items():
        rule = "node-silent" if about == NODE else "queue-slow"
        path = f"{RULES}/{rule}/thresholds/{about}"
        assert put(api, path, 90).status_code == status, about
        assert api.delete(path).status_code == status, about
    allowed = sum(status == 200 for status in statuses.values())
    events = Event.objects.filter(verb__startswith="alert_rule.threshold")
    assert events.count() == 2 * allowed


def test_a_member_sees_those_of_ones_own_projects_alone(
    boss: APIClient, client_of: Build, vision: Project
) -> None:
    for about in (VISION, QUOTE, OTHERS, OTHER):
        put(boss, f"{RULES}/queue-slow/thresholds/{about}", 800)
    put(boss, f"{RULES}/node-silent/thresholds/{NODE}", 90)
    person = make_user("mia", User.Role.MEMBER)
    Membership.objects.create(project=vision, user=person, role="viewer")
    api = client_of(person)
    seen = {
        rule["name"]: [one["about"] for one in rule["thresholds"]]
        for rule in api.get(RULES).json()["items"]
    }
    assert seen["node-silent"] == []
    assert set(seen["queue-slow"]) == {VISION, QUOTE}
    for about, status in ((QUOTE, 200), (OTHER, 404), (OTHERS, 404)):
        path = f"{RULES}/queue-slow/thresholds/{about}"
        assert api.get(path).status_code == status, about
    assert api.get(f"{RULES}/node-silent/thresholds/{NODE}").status_code == 403


def test_who_has_seen_another_one_is_told_what_it_is_now(boss: APIClient, vision: Project) -> None:
    path = f"{RULES}/queue-slow/thresholds/project/vision"
    none = boss.get(path)
    assert none["ETag"] == none.json()["etag"]
    first = put(boss, path, 800, HTTP_IF_MATCH=none["ETag"])
    assert first.status_code == 200
    late = put(boss, path, 700, HTTP_IF_MATCH=none["ETag"])
    assert late.status_code == 412
    assert late.json()["current"]["threshold"] == 800
    assert late.json()["changed"]["by"] == "ada"
    assert boss.delete(path, HTTP_IF_MATCH=none["ETag"]).status_code == 412
    assert AlertThreshold.objects.get().threshold == 800
    gone = boss.delete(path, HTTP_IF_MATCH=first["ETag"])
    assert (gone.status_code, gone.json()["source"]) == (200, "installation")
    assert gone["ETag"] == none["ETag"]


def test_each_change_is_an_event_and_asking_is_none(boss: APIClient, vision: Project) -> None:
    path = f"{RULES}/queue-slow/thresholds/project/vision"
    assert put(boss, f"{path}?dry_run=true", 800).status_code == 204
    assert put(boss, f"{path}?dry_run=true", 0).status_code == 400
    for value in (800, 800, 700):
        put(boss, path, value)
    boss.delete(path)
    boss.delete(path)
    events = Event.objects.filter(verb__startswith="alert_rule").order_by("seq")
    assert [(e.verb, e.subject, e.data["before"], e.data["after"]) for e in events] == [
        ("alert_rule.threshold_set", VISION, {"threshold": None}, {"threshold": 800}),
        ("alert_rule.threshold_set", VISION, {"threshold": 800}, {"threshold": 700}),
        ("alert_rule.threshold_removed", VISION, {"threshold": 700}, {"threshold": None}),
    ]


@pytest.mark.parametrize("about", ["project/default", "endpoint/digits"])
@pytest.mark.parametrize("removed", [False, True])
def test_a_firing_alert_whose_threshold_is_raised_is_resolved(
    boss: APIClient, drifting: SimulatedNode, about: str, removed: bool
) -> None:
    """``removed``: once the threshold is gone, what counted before counts again."""
    now = look(timezone.now(), 13)  # broken for ten minutes
    row = Alert.objects.get()
    assert (row.state, row.part) == ("firing", "blue")
    assert row.summary.endswith("is 0.40, 0.25 is the limit.")
    assert put(boss, f"{DRIFT}/thresholds/{about}", 0.6).status_code == 200
    now = look(now, 13)
    row.refresh_from_db()
    assert (row.state, row.resolution) == ("resolved", "The rule holds again.")
    if removed:
        assert boss.delete(f"{DRIFT}/thresholds/{about}").status_code == 200
    look(now, 13)
    assert Alert.objects.filter(state="firing").count() == removed


def test_a_firing_one_needs_the_margin_of_its_own_threshold(
    boss: APIClient, drifting: SimulatedNode
) -> None:
    now = look(timezone.now(), 13)
    # 0.4 is below 0.45, and above what a fifth less leaves
    put(boss, f"{DRIFT}/thresholds/endpoint/digits", 0.45)
    look(now, 20)
    assert Alert.objects.get().state == "firing"


def test_a_lower_threshold_fires_and_says_whose_it_is(
    boss: APIClient, drifting: SimulatedNode
) -> None:
    boss.patch(DRIFT, {"threshold": 0.9}, format="json")
    now = look(timezone.now(), 13)
    assert not Alert.objects.exists()
    put(boss, f"{DRIFT}/thresholds/project/default", 0.3)
    look(now, 13)
    row = Alert.objects.get()
    assert row.state == "firing"
    assert row.summary.endswith("is 0.40, 0.3 is the limit of project default.")


def test_of_two_nodes_one_may_be_silent_for_longer(boss: APIClient) -> None:
    now = timezone.now()
    for name in ("near", "far"):
        Node.objects.create(id=name, name=name, last_seen_at=now - timedelta(seconds=90))
    put(boss, f"{RULES}/node-silent/thresholds/node/far", 300)
    looks.alerts_look(now=now)
    assert [row.subject for row in Alert.objects.all()] == ["node/near"]


@pytest.mark.parametrize("kind", ["project", "endpoint", "node"])
def test_what_is_removed_takes_its_threshold_along(
    boss: APIClient, vision: Project, kind: str
) -> None:
    rule, about = {
        "project": ("queue-slow", VISION),
        "endpoint": ("queue-slow", QUOTE),
        "node": ("node-silent", NODE),
    }[kind]
    path = f"{RULES}/{rule}/thresholds/{about}"
    put(boss, path, 90)
    if kind == "node":
        Node.objects.all().delete()
        Node.objects.create(id="n2", name="local")
    else:
        Endpoint.objects.filter(name="quote").delete()
        if kind == "project":
            vision.delete()
            Project.objects.create(name="vision", created_by="ada")
        else:
            endpoint_create(name="quote", actor="ada", now=timezone.now())
    assert not AlertThreshold.objects.exists()
    found = boss.get(path).json()
    assert (found["threshold"], found["source"]) == (None, "installation"), "of another's before"


@pytest.mark.parametrize("said", [(), ("project", "endpoint"), ("endpoint", "node")])
def test_a_row_is_of_just_one_thing(vision: Project, said: tuple[str, ...]) -> None:
    things = {
        "project": vision,
        "endpoint": Endpoint.objects.get(name="quote"),
        "node": Node.objects.get(),
    }
    row = AlertThreshold(rule="queue-slow", threshold=1, changed_by="ada")
    for kind in said:
        setattr(row, kind, things[kind])
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()
