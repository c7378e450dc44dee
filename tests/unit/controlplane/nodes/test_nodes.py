"""Joining, being known, falling silent, returning; and wake-ups."""

from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from controlplane.core import fanout
from controlplane.core.models import Event
from controlplane.deployments.models import Replica
from controlplane.nodes import selectors, services
from controlplane.nodes.models import JoinToken, Node
from controlplane.nodes.selectors import node_conditions
from controlplane.nodes.slowness import Stopwatch
from controlplane.nodes.types import (
    LIVENESS,
    cadence,
    credential_new,
    credential_node_id,
    liveness,
)
from controlplane.operations.services.facts import replica_facts
from tests.support.simulated_node import SimulatedNode
from wire import codec
from wire.messages import CacheReport, NodeInfo, RegisterRequest, ReportReply, SpoiledBlob
from wire.samples import SampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


@pytest.mark.parametrize(
    ("age_s", "state"),
    [(0.0, "online"), (10.0, "online"), (10.1, "suspect"), (20.0, "suspect"), (20.1, "offline"),
     (None, "offline")],
)  # fmt: skip
def test_liveness_goes_by_the_age_of_the_last_report(age_s: float | None, state: str) -> None:
    assert LIVENESS.state(age_s) == state


@pytest.mark.parametrize("nodes", [0, 1, 100, 350, 1000, 4000])
def test_many_nodes_call_less_often_and_are_given_more_time(nodes: int) -> None:
    pace = cadence(nodes)
    calls_per_s = nodes * (1 / pace.report_s + 1 / pace.poll_s + 1 / pace.sample_s)
    assert calls_per_s <= 100 + 1e-9
    rule = liveness(pace.report_s)
    assert rule.suspect_after_s == 2 * rule.interval_s
    assert rule.offline_after_s == 4 * rule.interval_s
    assert rule.interval_s == pace.report_s


@pytest.mark.parametrize(
    ("nodes", "answer_s", "report_s", "poll_s"),
    [
        (1000, 0.0, 1000 / 70, 1000 / 15),
        (1000, 0.005, 1000 / 70, 1000 / 15),  # quick enough for all
        (1000, 0.02, 40.0, 1000 / 15 * 70 / 25),  # 25 reports a second fill half of the time
        (1000, 5.0, 60.0, 300.0),  # no longer than this, however slow
        (20, 5.0, 5.0, 20 / 15 * 70 / 4),
        (3, 5.0, 5.0, 3.5),
        (1, 5.0, 5.0, 2.0),
    ],
)
def test_a_slow_control_plane_asks_for_fewer_calls(
    nodes: int, answer_s: float, report_s: float, poll_s: float
) -> None:
    pace = cadence(nodes, answer_s)
    assert pace.report_s == pytest.approx(report_s)
    assert pace.poll_s == pace.sample_s == pytest.approx(poll_s)


def test_every_resource_tells_the_same_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer to samples that named none took the fleet back to the pace of a few."""
    monkeypatch.setattr(Stopwatch, "mean_s", 0.0)
    node = SimulatedNode("a")
    Node.objects.bulk_create(
        Node(id=f"{number:016x}", name=f"more-{number}", credential_hash="x")
        for number in range(1399)
    )
    report = node.report()
    state = node.desired()
    answer = node.post("samples", SampleBatch((), node.info))
    sampled = codec.decode(ReportReply, answer.content)
    assert report.heartbeat_interval_s >= 20.0
    told = (report.heartbeat_interval_s, report.poll_interval_s, report.sample_interval_s)
    assert told[1:] == (state.poll_interval_s, state.sample_interval_s)
    assert told == (
        sampled.heartbeat_interval_s,
        sampled.poll_interval_s,
        sampled.sample_interval_s,
    )


def test_a_node_that_was_told_to_report_rarely_is_not_taken_for_dead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the answer on, not only from its next report, which comes a long pause later."""
    monkeypatch.setattr(Stopwatch, "mean_s", 1.0)
    node = SimulatedNode("a")
    Node.objects.bulk_create(
        Node(id=f"{number:016x}", name=f"more-{number}", credential_hash="x")
        for number in range(199)
    )
    assert node.info.heartbeat_interval_s == 5.0
    assert node.report().heartbeat_interval_s == 50.0
    row = node.row()
    assert row.last_seen_at is not None
    later = row.last_seen_at + timedelta(seconds=190)
    assert selectors.node_state(row, later) == "suspect"
    replica = Replica(
        id="r", deployment_id=1, revision_id=1, ordinal=0, node=row, created_at=row.last_seen_at
    )
    (facts,) = replica_facts([replica], now=later)
    assert not facts.lost  # although it is silent for longer than SHOAL_NODE_LOST_AFTER_S
    (facts,) = replica_facts([replica], now=later + timedelta(seconds=11))
    assert facts.lost


def test_how_slow_we_are_is_a_mean_that_forgets() -> None:
    watch = Stopwatch()
    assert watch.mean_s == 0.0
    watch.add(0.1)
    assert watch.mean_s == pytest.approx(0.1)
    watch.add(1.1)
    assert watch.mean_s == pytest.approx(0.15)
    for _ in range(200):
        watch.add(0.01)
    assert watch.mean_s == pytest.approx(0.01, rel=0.01)
    with pytest.raises(ValueError, match="no"), watch.running():
        raise ValueError("no")
    assert 0.0 < watch.mean_s < 0.01


@pytest.mark.parametrize(
    ("info", "codes"),
    [
        ({}, []),
        ({"clock_skew_s": 4.9}, []),
        ({"clock_skew_s": -61.0}, ["ClockSkew"]),
        ({"agent_version": "0.0.1"}, ["VersionSkew"]),
        ({"wire_version": 2}, ["VersionSkew"]),
        ({"disk_pressure": True, "clock_skew_s": 9}, ["ClockSkew", "DiskPressure"]),
        ({"cache_spoiled": 2}, ["CacheSpoiled"]),
        ({"cache_spoiled": 0}, []),
        ({"address": "127.0.0.1", "boot_id": "another"}, ["AddressUnreachable"]),
        ({"address": "localhost", "boot_id": "another"}, ["AddressUnreachable"]),
        ({"address": "::1", "boot_id": "another"}, ["AddressUnreachable"]),
        ({"address": "127.0.0.1", "boot_id": "ours"}, []),
        ({"address": "127.0.0.1", "boot_id": ""}, ["AddressUnreachable"]),
        ({"address": "10.0.0.7", "boot_id": "another"}, []),
        ({"address": "x", "address_refused": "an IPv4 or IPv6 address"}, ["AddressUnreachable"]),
        ({"refused": ["node.cpu_count=-1: expected a number"]}, ["ClaimRefused"]),
    ],
)
def test_what_is_odd_about_a_node(
    info: dict[str, object], codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "machine_boot_id", lambda: "ours")
    node = Node(name="n", info={"agent_version": settings.SHOAL_VERSION, **info})
    assert [condition.code for condition in node_conditions(node, timezone.now())] == codes


@pytest.mark.parametrize("credential", ["", "snode_", "snode_n1", "snode__x", "shoal_n1_x"])
def test_what_is_no_credential(credential: str) -> None:
    assert credential_node_id(credential) is None


def test_a_credential_names_its_node() -> None:
    assert credential_node_id(credential_new("n1")) == "n1"


def joined(token: str, **info: str) -> Any:
    """The answer to a join."""
    told = {"name": "local", "agent_version": "1", "boot_id": "b1", **info}
    client = SimulatedNode.__new__(SimulatedNode)
    client.client = APIClient()
    return client.post("register", RegisterRequest(token=token, node=NodeInfo(**told)))


def register(token: str, name: str = "local", boot_id: str = "b1") -> int:
    return int(joined(token, name=name, boot_id=boot_id).status_code)


def test_a_join_token_works_once() -> None:
    token = services.join_token_create(actor="ada")
    assert JoinToken.objects.get().token_hash != token
    assert register(token) == 200
    assert register(token) == 401
    assert register("sjoin_made-up") == 401


def test_one_watches_a_join_token_until_a_node_has_used_it(admin_api: APIClient) -> None:
    made = admin_api.post("/api/v1/join-tokens").json()
    assert made["token"] in made["command"]
    path = f"/api/v1/join-tokens/{made['id']}"
    waiting = admin_api.get(path).json()
    assert (waiting["node"], waiting["used_at"]) == (None, None)
    assert "token" not in waiting
    assert register(made["token"], name="gpu-a1") == 200
    used = admin_api.get(path).json()
    assert used["node"] == "gpu-a1"
    assert used["used_at"] is not None
    listed = admin_api.get("/api/v1/join-tokens").json()["items"]
    assert listed == [used]


def test_a_withdrawn_join_token_lets_nobody_in(admin_api: APIClient) -> None:
    made = admin_api.post("/api/v1/join-tokens").json()
    assert admin_api.delete(f"/api/v1/join-tokens/{made['id']}").status_code == 204
    assert register(made["token"]) == 401
    again = admin_api.delete(f"/api/v1/join-tokens/{made['id']}")
    assert (again.status_code, again.json()["code"]) == (404, "JoinTokenNotFound")


def test_a_join_token_expires() -> None:
    token = services.join_token_create(actor="ada")
    JoinToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert register(token) == 401


def test_a_machine_that_lost_its_credential_joins_again_as_itself() -> None:
    assert register(services.join_token_create(actor="ada")) == 200
    before = Node.objects.get()
    assert register(services.join_token_create(actor="ada")) == 200
    after = Node.objects.get()
    assert after.pk == before.pk
    assert after.credential_hash != before.credential_hash


def test_another_machine_cannot_take_the_name_of_one_that_is_alive() -> None:
    assert register(services.join_token_create(actor="ada")) == 200
    token = services.join_token_create(actor="ada")
    assert register(token, boot_id="b2") == 409
    assert JoinToken.objects.filter(used_at__isnull=True).count() == 1
    Node.objects.update(last_seen_at=timezone.now() - timedelta(minutes=1))
    assert register(token, boot_id="b2") == 200


def test_a_second_agent_on_the_same_machine_cannot_take_a_name_that_is_alive() -> None:
    first = joined(services.join_token_create(actor="ada"), folder_id="f1", address="10.0.0.1")
    assert first.status_code == 200
    credential = Node.objects.get().credential_hash
    token = services.join_token_create(actor="ada")
    Node.objects.update(last_seen_at=timezone.now() - timedelta(seconds=15))  # suspect
    refused = joined(token, folder_id="f2")
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "NodeNameTaken")
    assert "reported 15 s ago from 10.0.0.1" in problem["detail"]
    assert any("SHOAL_NODE_NAME" in hint for hint in problem["hints"])
    assert any("silent for 20 s" in hint for hint in problem["hints"])
    assert Node.objects.get().credential_hash == credential
    assert JoinToken.objects.filter(used_at__isnull=True).count() == 1
    assert joined(token, folder_id="f1").status_code == 200, "the same folder is the same node"


def test_a_machine_that_lost_its_folder_joins_again_once_the_old_agent_is_silent() -> None:
    assert joined(services.join_token_create(actor="ada"), folder_id="f1").status_code == 200
    before = Node.objects.get()
    Node.objects.update(last_seen_at=timezone.now() - timedelta(minutes=1))
    assert joined(services.join_token_create(actor="ada"), folder_id="f2").status_code == 200
    assert Node.objects.get().pk == before.pk


def test_what_rotted_in_a_cache_is_an_event_once() -> None:
    node = SimulatedNode()
    spoiled = SpoiledBlob(sha256="a" * 64, size=70, found_at=1.0)
    assert node.post("cache", CacheReport((), (spoiled,))).status_code == 200
    assert node.post("cache", CacheReport(())).status_code == 200
    event = Event.objects.get(verb="node.blob_spoiled")
    assert event.severity == Event.Severity.WARNING
    assert "aaaaaaaaaaaa, 70 bytes" in event.message
    assert event.data["sha256"] == "a" * 64


def test_only_the_whole_credential_authenticates() -> None:
    node = SimulatedNode()
    assert node.client.get("/agent/v1/desired").status_code == 200
    good = node.identity.credential
    for bad in (good[:-1], f"{good}x", good.replace("snode_", "shoal_"), ""):
        node.client.credentials(HTTP_AUTHORIZATION=f"Bearer {bad}")
        answer = node.client.get("/agent/v1/desired")
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"].startswith("Bearer")


def test_silence_is_noticed_said_once_and_ends_with_a_report() -> None:
    node = SimulatedNode()
    late = timezone.now() + timedelta(seconds=30)
    assert services.nodes_expire(now=late) == 1
    assert services.nodes_expire(now=late) == 0
    assert node.row().state == "offline"
    (event,) = Event.objects.filter(verb="node.went_offline")
    assert "offline after 20 s" in event.message
    row = node.row()
    services.node_seen(node=row, info=node.info, observed_generation=3, now=late)
    assert (node.row().state, node.row().observed_generation) == ("online", 3)
    assert node.row().online_since == late
    assert Event.objects.filter(verb="node.returned").count() == 1


def test_since_when_reports_arrive_at_all() -> None:
    assert selectors.nodes_heard_since(timezone.now()) is None
    node = SimulatedNode()
    joined = node.row().online_since
    assert selectors.nodes_heard_since(timezone.now()) == joined


def test_cordon_is_on_record_and_only_once(admin_api: APIClient, viewer_api: APIClient) -> None:
    SimulatedNode()
    assert viewer_api.post("/api/v1/nodes/local/cordon").status_code == 403
    assert admin_api.post("/api/v1/nodes/local/cordon").json()["cordoned"] is True
    admin_api.post("/api/v1/nodes/local/cordon")
    assert Event.objects.filter(verb="node.cordoned").count() == 1
    assert admin_api.post("/api/v1/nodes/local/uncordon").json()["cordoned"] is False
    assert admin_api.post("/api/v1/nodes/nowhere/cordon").status_code == 404


def test_nodes_are_shown_with_the_rule_behind_their_state(viewer_api: APIClient) -> None:
    SimulatedNode("b", cpu_count=4)
    SimulatedNode("a")
    items = viewer_api.get("/api/v1/nodes").json()["items"]
    assert [item["name"] for item in items] == ["a", "b"]
    assert items[1]["info"]["cpu_count"] == 4
    assert items[0]["rule"]["offline_after_s"] == 20.0
    assert items[0]["state"] == "online"


def test_a_join_token_comes_with_the_command_and_only_to_administrators(
    admin_api: APIClient, api: APIClient
) -> None:
    assert api.post("/api/v1/join-tokens").status_code == 403
    answer = admin_api.post("/api/v1/join-tokens")
    assert answer.status_code == 201
    body = answer.json()
    assert f"SHOAL_JOIN_TOKEN={body['token']} python -m node_agent" in body["command"]
    assert register(body["token"]) == 200


def test_the_bell_rings_on_commit_and_again_for_who_has_not_acted(
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    """One message for all nodes, and none where there are none."""
    layer = AsyncMock()
    first, second = (SimulatedNode(name).identity.node_id for name in ("n1", "n2"))
    monkeypatch.setattr(fanout, "get_channel_layer", lambda: layer)

    def sent() -> list[list[str]]:
        told = [call.args for call in layer.group_send.call_args_list]
        layer.reset_mock()
        assert {group for group, _ in told} <= {"wake_ups"}
        return [sorted(hint["nodes"]) for _, hint in told]

    with django_capture_on_commit_callbacks(execute=True):
        services.node_generation_raise([first, second, first])
        assert sent() == []
    assert sent() == [sorted([first, second])]
    assert set(Node.objects.values_list("desired_generation", flat=True)) == {1}
    Node.objects.filter(pk=first).update(observed_generation=1)
    with django_capture_on_commit_callbacks(execute=True):
        assert services.nodes_wake() == 1
    assert sent() == [[second]]
    Node.objects.update(observed_generation=1)
    with django_capture_on_commit_callbacks(execute=True):
        assert services.nodes_wake() == 0
        services.node_generation_raise([])
    assert sent() == []
