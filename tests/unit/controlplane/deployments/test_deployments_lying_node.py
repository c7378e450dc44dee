"""What a node that lies cannot do: it is told, and others are not touched."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Replica
from controlplane.deployments.selectors import routing_view, scrape_targets
from controlplane.nodes import claims, selectors
from controlplane.nodes.models import CachedBlob, Node
from controlplane.nodes.services import join_token_create
from tests.support.placed_replicas import replica_place
from tests.support.simulated_node import SimulatedNode
from wire.messages import CachedBlob as WireBlob
from wire.messages import (
    CacheReport,
    GpuInfo,
    NodeInfo,
    ObservedReplica,
    Problem,
    RegisterRequest,
    SpoiledBlob,
)
from wire.samples import LogBatch, LogEntry, ModelCounters, ReplicaSample, SampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
AWAY = "198.51.100.1"


@pytest.fixture
def liar() -> SimulatedNode:
    """A node on another machine, with the replicas ``good`` and ``bad``."""
    node = SimulatedNode("liar", address=AWAY)
    node.info = replace(node.info, boot_id="its own")
    node.report()
    for ordinal, key in enumerate(("good", "bad")):
        row = replica_place(node.row(), key)
        Replica.objects.filter(pk=row.pk).update(ordinal=ordinal)
        port = 9001 + 10 * ordinal
        node.replicas[key] = ObservedReplica(
            key, 1, "ready", address=AWAY, http_port=port, grpc_port=port + 1, metrics_port=port + 2
        )
    return node


def routed() -> list[str]:
    return [
        f"{r.address}:{r.http_port}"
        for endpoint in routing_view().endpoints
        for deployment in endpoint.deployments
        for r in deployment.replicas
    ]


def refusals() -> list[str]:
    return list(Event.objects.filter(verb="node.claim_refused").values_list("message", flat=True))


LIES: dict[str, dict[str, Any]] = {
    "no address": {"address": "not an address"},
    "a name": {"address": "localhost"},
    "a socket": {"address": "/run/gateway/admin.sock"},
    "loopback": {"address": "127.0.0.1"},
    "loopback too": {"address": "127.8.8.8"},
    "loopback in IPv6": {"address": "::1"},
    "any": {"address": "0.0.0.0"},
    "metadata": {"address": "169.254.169.254"},
    "multicast": {"address": "224.0.0.1"},
    "a zone": {"address": "fe80::1%eth0"},
    "mapped": {"address": f"::ffff:{AWAY}"},
    "another spelling of another": {"address": "198.51.100.01"},
    "a neighbour": {"address": "198.51.100.2"},
    "a huge one": {"address": "1" * 100_000},
    "an escape": {"address": f"{AWAY}\x1b[2J"},
    "no port": {"http_port": 0},
    "no port for gRPC": {"grpc_port": 0},
    "a negative port": {"http_port": -1},
    "a port too high": {"grpc_port": 65_536},
    "a huge port": {"metrics_port": 2**60},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_replica_is_reached_at_its_nodes_own_address_or_not_at_all(
    liar: SimulatedNode, lie: dict[str, Any]
) -> None:
    liar.replicas["bad"] = replace(liar.replicas["bad"], **lie)
    told = liar.report().refused
    assert routed() == [f"{AWAY}:9001"], "its other replica serves on"
    assert [target.address for target in scrape_targets()] == [f"{AWAY}:9003"]
    (name,) = lie
    assert any(f"replicas[bad].{name}=" in text or f".{name}=" in text for text in told), told
    bad = Replica.objects.get(pk="bad")
    assert (bad.state, bad.error["code"]) == ("failed", "ClaimRefused")
    assert "expected" in bad.error["message"]
    (event,) = refusals() if len(refusals()) == 1 else refusals()[-1:]
    assert event.startswith("Node liar is not believed: ") and len(event) < 400
    count = Event.objects.count()
    for _ in range(3):
        liar.report()
    assert Event.objects.count() == count, "told once, not with each heartbeat"
    conditions = selectors.node_conditions(liar.row(), timezone.now())
    assert "ClaimRefused" in [condition.code for condition in conditions]
    liar.replicas["bad"] = replace(
        liar.replicas["good"], replica_id="bad", http_port=9011, grpc_port=9012, metrics_port=9013
    )
    assert liar.report().refused == ()
    assert routed() == [f"{AWAY}:9011", f"{AWAY}:9001"]


def test_a_replica_without_a_word_about_its_address_is_at_its_nodes(liar: SimulatedNode) -> None:
    """It was looked for at loopback: on the gateway's own machine."""
    liar.replicas["bad"] = replace(liar.replicas["bad"], address="")
    liar.report()
    assert routed() == [f"{AWAY}:9011", f"{AWAY}:9001"]


def test_another_spelling_of_the_nodes_own_address_is_no_lie() -> None:
    node = SimulatedNode("six", address="2001:DB8:0::1")
    replica_place(node.row(), "r0")
    node.replicas["r0"] = ObservedReplica(
        "r0", 1, "ready", address="2001:db8::0:1", http_port=9001, grpc_port=9002
    )
    assert node.report().refused == ()
    assert routed() == ["2001:db8::1:9001"]


ADDRESSES: dict[str, str] = {
    "a name": "gpu-a1.example",
    "nothing": "",
    "nonsense": "not an address",
    "loopback of another machine": "127.0.0.1",
    "metadata": "169.254.169.254",
    "any": "0.0.0.0",
    "multicast": "ff02::1",
    "another node's": "198.51.100.2",
    "another spelling of another node's": "2001:DB8:0:0::2",
    "the control plane's": "198.51.100.9",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES)
def test_a_nodes_address_is_its_own(
    liar: SimulatedNode, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_our_addresses", lambda: {"198.51.100.9"})
    for name, where in (("honest", "198.51.100.2"), ("honest-too", "2001:db8::2")):
        honest = SimulatedNode(name, address=where)
        honest.info = replace(honest.info, boot_id=name)
        honest.report()
    liar.info = replace(liar.info, address=address)
    for key, seen in liar.replicas.items():
        liar.replicas[key] = replace(seen, address=address)
    told = liar.report().refused
    assert any(text.startswith("node.address=") for text in told)
    assert routed() == []
    row = liar.row()
    assert "AddressUnreachable" in [
        one.code for one in selectors.node_conditions(row, timezone.now())
    ]
    assert len([text for text in refusals() if "node.address=" in text]) == 1
    assert selectors.node_state(row, timezone.now()) == "online", "it is heard nevertheless"


def test_an_address_is_free_again_when_its_node_is_gone(liar: SimulatedNode) -> None:
    """Addresses are given anew by routers: who was there before and is silent holds none."""
    before = SimulatedNode("before", address="198.51.100.2")
    before.info = replace(before.info, boot_id="before")
    before.report()
    liar.info = replace(liar.info, address="198.51.100.2")
    assert liar.report().refused
    Node.objects.filter(name="before").update(last_seen_at=None)
    liar.replicas = {}
    assert liar.report().refused == ()


def test_the_ports_of_another_nodes_replica_are_not_ones_own() -> None:
    """Nodes on one machine share its address."""
    honest, other = SimulatedNode("honest"), SimulatedNode("other")
    replica_place(honest.row(), "theirs")
    replica_place(other.row(), "mine", deployment="green")
    for node, key in ((honest, "theirs"), (other, "mine")):
        node.replicas[key] = ObservedReplica(
            key, 1, "ready", address="127.0.0.1", http_port=9001, grpc_port=9002
        )
    assert honest.report().refused == ()
    (told,) = other.report().refused
    assert (
        told == "replicas[mine].http_port=9001: expected a port of its own, not one of node honest"
    )
    assert routed() == ["127.0.0.1:9001"]
    assert Replica.objects.get(pk="theirs").state == "ready"
    Node.objects.filter(name="honest").update(last_seen_at=None)  # gone: its ports are free
    other.report()
    assert Replica.objects.get(pk="mine").state == "ready"


def test_what_lies_in_rows_of_before_reaches_no_gateway() -> None:
    """Reports were not held against anything."""
    node = SimulatedNode()
    for key, address in (("r0", "not an address"), ("r1", "127.0.0.1")):
        replica_place(node.row(), key)
        ports = {"http_port": 9001, "grpc_port": 9002, "metrics_port": 9003}
        told = {"state": "ready", "address": address, **ports}
        Replica.objects.filter(pk=key).update(state="ready", observed=told)
    assert routed() == ["127.0.0.1:9001"]
    assert [target.address for target in scrape_targets()] == ["127.0.0.1:9003"]


INFO: dict[str, tuple[dict[str, Any], str]] = {
    "a negative number": ({"cpu_count": -1}, "cpu_count"),
    "more than can be counted": ({"memory_total_bytes": 2**60}, "memory_total_bytes"),
    "free room below zero": ({"disk_free_bytes": -5}, "disk_free_bytes"),
    "a rate": ({"cpu_utilization": -0.5}, "cpu_utilization"),
    "a moment": ({"cache_checked_at": 1e18}, "cache_checked_at"),
    "a long version": ({"agent_version": "9" * 10_000}, "agent_version"),
    "a version with an escape": ({"agent_version": "1\x1b[31m"}, "agent_version"),
    "a label": ({"labels": {"rack": "a\nb"}}, "labels"),
    "a label's name": ({"labels": {"r\x00ack": "a"}}, "labels"),
    "many labels": ({"labels": {str(n): "x" for n in range(500)}}, "labels"),
    "a GPU's name": ({"gpus": (GpuInfo(0, "u", "H\u202e200", 1),)}, "gpus"),
    "a GPU's use": ({"gpus": (GpuInfo(0, "u", "H200", 1, power_w=-1.0),)}, "gpus"),
    "many GPUs": ({"gpus": (GpuInfo(0, "u", "H200", 1),) * 500}, "gpus"),
    "backends": ({"backends": ("a" * 1000,)}, "backends"),
}


@pytest.mark.parametrize(("said", "field"), INFO.values(), ids=INFO)
def test_what_a_node_says_of_itself_is_cut_to_size_and_told(
    liar: SimulatedNode, admin_api: APIClient, said: dict[str, Any], field: str
) -> None:
    liar.info = replace(liar.info, **said)
    for _ in range(3):
        told = liar.report().refused
    assert any(f"NodeReport.node.{field}" in text for text in told), told
    assert len(refusals()) == 1
    kept = str(liar.row().info[field])
    assert len(kept) < 20_000 and "\x1b" not in kept and "\x00" not in kept
    assert admin_api.get("/api/v1/nodes/liar").status_code == 200
    assert routed() == [f"{AWAY}:9011", f"{AWAY}:9001"]


def test_one_that_lies_anew_with_each_report_is_few_events(liar: SimulatedNode) -> None:
    for number in range(60):
        liar.info = replace(liar.info, labels={f"{number}": "\x1b"})
        liar.report()
    assert len(refusals()) <= claims.MOST_TOLD


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "..", "a\nb", "\x1b[2J", "x" * 101, " a", "a\u202eb", "a\x00b"]
)
def test_a_name_that_could_be_no_part_of_an_address_is_refused(name: str) -> None:
    node = SimulatedNode.__new__(SimulatedNode)
    node.client = APIClient()
    token = join_token_create(actor="ada")
    answer = node.post("register", RegisterRequest(token, NodeInfo(name, "1")))
    assert (answer.status_code, answer.json()["code"]) == (400, "NodeNameRefused")
    answer = node.post("register", RegisterRequest(token, NodeInfo("GPU box 1", "1")))
    assert answer.status_code == 200, "the token was not used up"


RESOURCES: dict[str, Callable[[], tuple[str, object]]] = {
    "moments of a cache": lambda: (
        "cache", CacheReport((WireBlob("a" * 64, 1, 1e18), WireBlob("b" * 64, -1, -1e18))),
    ),
    "digests": lambda: ("cache", CacheReport((WireBlob("x" * 10_000, 1, 1.0),))),
    "spoiled files": lambda: (
        "cache", CacheReport((), tuple(SpoiledBlob("a" * 64, 1, 1.0) for _ in range(500))),
    ),
    "a sample's moment": lambda: (
        "samples", SampleBatch((ReplicaSample("good", "digits", "blue", 1e18),)),
    ),
    "a sample's counters": lambda: (
        "samples",
        SampleBatch((ReplicaSample("good", "digits", "blue", 1.0, (
            ModelCounters("m\x1b", "1", first_response={"x": 1.0, "nan": 1.0, "+Inf": -1.0},
                          batch_counts={"two": 1.0, "-1": 1.0, "4": 1e18},
                          request_failure={str(n): 1.0 for n in range(100)}),)),)),
    ),
    "a line": lambda: (
        "logs",
        LogBatch((LogEntry("good", "digits", "blue", -1e18, "s" * 500, "\x1b]0;x\x07", -5),)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("said", RESOURCES.values(), ids=RESOURCES)
def test_other_resources_take_in_nothing_endless(
    liar: SimulatedNode, admin_api: APIClient, said: Callable[[], tuple[str, object]]
) -> None:
    before = Event.objects.count()
    assert liar.post(*said()).status_code == 200
    assert Event.objects.count() - before <= 20
    for blob in CachedBlob.objects.all():
        assert len(blob.sha256) == 64 and blob.size >= 0
    for path in ("metrics/live?endpoint=digits", "endpoints/digits/logs", "nodes/liar/cache"):
        answer = admin_api.get(f"/api/v1/{path}")
        assert answer.status_code in (200, 404), answer.content
        assert b"\\u001b" not in answer.content and b"\x1b" not in answer.content


def test_a_problems_words_are_text_and_no_orders(liar: SimulatedNode) -> None:
    error = Problem("X" * 500, "bad\x1b[2J\nline\ttwo", detail="d" * 200_000, hints=("h",) * 50)
    liar.replicas["bad"] = replace(liar.replicas["bad"], state="failed", error=error)
    told = liar.report().refused
    assert not any("message" in text for text in told), "what models print is theirs"
    kept = Replica.objects.get(pk="bad").error
    assert kept["message"] == "bad\ufffd[2J\nline\ttwo"
    assert (len(kept["detail"]), len(kept["hints"]), len(kept["code"])) == (65_536, 16, 256)
