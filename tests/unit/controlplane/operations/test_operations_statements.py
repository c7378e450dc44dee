"""A rollout of many endpoints waits for nothing but statements: each step takes few of them."""

import pytest
from django.utils import timezone

from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.deployments.spec import Spec
from controlplane.operations.models import Operation
from controlplane.operations.services import deploy
from tests.support.registered_models import model_register
from tests.support.rows_read import rows_read
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
REPLICAS = 4


def deployed() -> Operation:
    spec = Spec(model="digits", instance_count=REPLICAS, traffic=100)
    return deploy(spec=spec, endpoint="abc", deployment="", actor="dora", now=timezone.now())


def stages_of(operation: Operation) -> dict[str, str]:
    return {stage["name"]: stage["status"] for stage in operation.stages}


def test_a_new_endpoint_is_placed_in_one_step_that_is_written_once() -> None:
    model_register()
    node = SimulatedNode()
    with rows_read() as read:
        operation = deployed()
    assert read.queries <= 37
    kept = Operation.objects.get()
    assert (kept.stages, kept.parameters) == (operation.stages, operation.parameters)
    assert (kept.revision, kept.state) == (operation.revision, operation.state) == (1, "Running")
    done = {"validate": "succeeded", "place": "succeeded", "download": "running"}
    assert done.items() <= stages_of(kept).items()
    told = Event.objects.filter(subject="endpoint/abc").order_by("seq").values_list("verb", "data")
    assert [(verb, data.get("stage")) for verb, data in told] == [
        ("endpoint.created", None),
        ("operation.started", None),
        ("operation.stage_succeeded", "validate"),
        *[("replica.placed", None)] * REPLICAS,
        ("operation.stage_succeeded", "place"),
    ]
    assert len(node.desired().replicas) == REPLICAS


def test_a_report_of_readiness_routes_in_one_step_that_is_written_once() -> None:
    model_register()
    node = SimulatedNode()
    deployed()
    node.desired()
    before, heard = Endpoint.objects.get().generation, Event.objects.latest("seq").seq
    with rows_read() as read:
        node.say("ready")
    assert read.queries <= 42
    endpoint, operation = Endpoint.objects.get(), Operation.objects.get()
    assert endpoint.traffic == {"blue": 100}
    assert operation.parameters["route_generation"] == endpoint.generation == before + 2
    assert stages_of(operation)["route"] == "running"
    assert "waiting for the gateway" in operation.stages[-1]["detail"]
    told = Event.objects.filter(seq__gt=heard).order_by("seq").values_list("verb", flat=True)
    assert list(told) == [
        *["replica.ready"] * REPLICAS,
        *["operation.stage_succeeded"] * 3,
        "endpoint.traffic_changed",
    ]
