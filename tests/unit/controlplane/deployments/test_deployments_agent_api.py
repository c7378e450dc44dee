"""Messages of any shape at the API for nodes: answered, and nothing of other nodes changes."""

import json
from typing import Any

import pytest
from django.forms.models import model_to_dict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.deployments.models import Replica
from controlplane.deployments.selectors import routing_view
from controlplane.metrics.models import LogLine, ReplicaSample
from controlplane.nodes.models import CachedBlob, Node
from tests.support.placed_replicas import replica_place
from tests.support.simulated_node import SimulatedNode
from wire import codec
from wire.messages import CachedBlob as WireBlob
from wire.messages import (
    CacheReport,
    NodeInfo,
    NodeReport,
    ObservedReplica,
    RegisterRequest,
    SpoiledBlob,
)
from wire.samples import LogBatch, LogEntry, ModelCounters, SampleBatch
from wire.samples import ReplicaSample as WireSample

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
RESOURCES = ("register", "report", "samples", "logs", "cache")
ODD_NUMBERS = st.sampled_from(
    [0, -1, 1, 65_536, 2**31, 2**53, 2**63 - 1, -(2**63), 2**64, 10**400, 1e308, -1e308]
)
ODD_TEXTS = st.sampled_from(
    [
        "",
        "\x00",
        "\x1b[2J",
        "\ud800",
        "a" * 70_000,
        "theirs",
        "digits",
        "127.0.0.1",
        "ready",
        "../x",
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    ODD_NUMBERS,
    ODD_TEXTS,
    st.integers(),
    st.floats(),
    st.text(max_size=20),
)
SHAPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


def sensible(info: NodeInfo) -> dict[str, Any]:
    """What each resource expects, about this node's replica and about another's."""
    seen = tuple(
        ObservedReplica(key, 1, "ready", "127.0.0.1", port, port + 1, port + 2)
        for key, port in (("mine", 9001), ("theirs", 9011))
    )
    counters = ModelCounters("m", "1", batch_counts={"1": 1.0}, first_response={"0.1": 1.0})
    return {
        "register": RegisterRequest("sjoin_x", info),
        "report": NodeReport(info, 1, seen),
        "samples": SampleBatch(
            tuple(WireSample(r.replica_id, "digits", "blue", 1.0, (counters,)) for r in seen), info
        ),
        "logs": LogBatch(
            tuple(LogEntry(r.replica_id, "digits", "blue", 1.0, "s", "t", 1) for r in seen)
        ),
        "cache": CacheReport((WireBlob("a" * 64, 1, 1.0),), (SpoiledBlob("a" * 64, 1, 1.0),)),
    }


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Of every value inside, how it is reached."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = [at]
    if isinstance(value, dict | list):
        for key, inner in items:
            found += places(inner, (*at, key)) if isinstance(inner, dict | list) else [(*at, key)]
    return found


def spoil(message: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    changed = dict(message) if isinstance(message, dict) else list(message)
    changed[at[0]] = spoil(changed[at[0]], at[1:], value)
    return changed


def theirs() -> tuple[Any, ...]:
    other = Node.objects.get(name="other")
    row = Replica.objects.get(pk="theirs")
    return (
        model_to_dict(row),
        model_to_dict(other),
        list(CachedBlob.objects.filter(node=other).values_list("sha256", flat=True)),
        LogLine.objects.filter(replica_id="theirs").count(),
        ReplicaSample.objects.filter(replica_id="theirs").count(),
        [
            (r.address, r.http_port)
            for endpoint in routing_view().endpoints
            for deployment in endpoint.deployments
            for r in deployment.replicas
            if r.replica_id == "theirs"
        ],
    )


@pytest.mark.parametrize("resource", RESOURCES)
def test_no_message_fails_a_resource_or_touches_another_node(resource: str, admin_api: Any) -> None:
    liar, other = SimulatedNode("liar"), SimulatedNode("other")
    replica_place(liar.row(), "mine")
    replica_place(other.row(), "theirs")
    other.replicas["theirs"] = ObservedReplica(
        "theirs", 1, "ready", "127.0.0.1", http_port=9011, grpc_port=9012, metrics_port=9013
    )
    other.report()
    plain = json.loads(codec.encode(sensible(liar.info)[resource]))
    where = places(plain)
    before = theirs()
    assert before[-1] == [("127.0.0.1", 9011)]

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        at=st.lists(st.sampled_from(where), min_size=1, max_size=3, unique=True),
        values=st.lists(SHAPES, min_size=3, max_size=3),
    )
    def told(at: list[tuple[Any, ...]], values: list[Any]) -> None:
        message = plain
        for place, value in zip(sorted(at, key=len, reverse=True), values, strict=False):
            message = spoil(message, place, value)
        body = json.dumps(message).encode()
        answer = liar.client.generic(
            "POST", f"/agent/v1/{resource}", body, content_type="application/json"
        )
        assert answer.status_code in (200, 400, 401, 403, 409), (answer.status_code, body[:500])
        assert theirs() == before

    told()
    for path in (
        "nodes",
        "nodes/liar",
        "endpoints/digits",
        "events",
        "overview",
        "metrics/targets",
    ):
        assert admin_api.get(f"/api/v1/{path}").status_code == 200, path
