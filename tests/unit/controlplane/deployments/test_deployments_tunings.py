"""Tunings: what a node is given one after the other, what is kept, and that each ends."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Tuning
from controlplane.deployments.services import tunings
from controlplane.registry.models import ConfigRevision
from node_agent.client import REPLICA_ID
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.load import LoadPoint
from wire.messages import Problem
from worker_runtime.repository.pbtxt import parse

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
TUNINGS = "/api/v1/endpoints/digits/deployments/blue/tunings"
ASKED = {"levels": [8], "instances": [1, 2, 4], "while_serving": True}


@pytest.fixture
def node(api: APIClient) -> SimulatedNode:
    """With a ready replica of digits/blue, which has all the traffic."""
    model_register()
    node = SimulatedNode("local")
    assert api.post("/api/v1/deploy", {"model": "digits"}, format="json").status_code == 202
    node.bring_up()
    gateway_confirms()
    return node


def start(api: APIClient, **body: Any) -> dict[str, Any]:
    answer = api.post(TUNINGS, {**ASKED, **body}, format="json")
    assert answer.status_code == 202, answer.content
    assert answer["Location"] == f"/api/v1/tunings/{answer.json()['id']}"
    return dict(answer.json())


def shown(api: APIClient, tuning: dict[str, Any]) -> dict[str, Any]:
    return dict(api.get(f"/api/v1/tunings/{tuning['id']}").json())


def point(throughput: float, p99_us: float = 9000.0) -> LoadPoint:
    return LoadPoint(8.0, 2.0, 500, throughput, 1000.0, p95_us=p99_us, p99_us=p99_us)


def tick(**later: float) -> None:
    tunings.tunings_tick(now=timezone.now() + timedelta(**later))


def given(node: SimulatedNode) -> Any:
    """The private replica that the node must run now."""
    (private,) = [one for one in node.desired().replicas if one.trial]
    return private


def run(node: SimulatedNode, answer: Any) -> Any:
    """One whole run, as ``answer`` says for its configuration; what was given."""
    tick()
    private = given(node)
    (text,) = private.inline_files.values() if private.inline_files else ("",)
    config = parse(text)
    told = answer(config)
    configs = {"digits": {}}
    memory = 1000 * len(config.instance_group)
    node.say("ready", configs=configs, memory_bytes=memory, gpu_memory_bytes=5 * memory)
    (load,) = node.desired().loads
    assert (load.load_id, load.replica_id, load.begun) == (private.replica_id,) * 2 + (False,)
    node.measure(load.load_id)
    assert node.desired().loads[0].begun
    if isinstance(told, Problem):
        node.measure(load.load_id, "failed", error=told)
    else:
        node.measure(load.load_id, points=(told,))
        node.measure(load.load_id, "finished", points=(told,))
    return private


def by_instances(config: Any) -> LoadPoint:
    return point(
        {0: 100.0, 1: 100.0, 2: 180.0, 4: 150.0}[sum(g.count for g in config.instance_group)]
    )


def searched(node: SimulatedNode, answer: Any, most: int = 12) -> int:
    for number in range(most):
        tick()
        if Tuning.objects.get().state in ("Succeeded", "Failed"):
            return number
        run(node, answer)
    raise AssertionError("it does not end")


def test_it_is_asked_for_measured_chosen_and_saved(api: APIClient, node: SimulatedNode) -> None:
    tuning = start(api)
    assert (tuning["state"], tuning["node"], tuning["configurations"]) == ("Queued", "local", 3)
    serving = {one.replica_id for one in node.desired().replicas}
    private = run(node, by_instances)
    assert private.replica_id == f"{tuning['id']}-0" and private.replica_id not in serving
    assert private.capture is None and private.models == ("digits",)
    after = shown(api, tuning)
    assert (after["state"], after["measured"], after["current"]["phase"]) == (
        "Running", 1, "choosing",
    )  # fmt: skip
    assert after["runs"][0]["reason"] == "what runs today"
    assert [one for one in node.desired().replicas if one.trial] == []  # it is ended before another
    assert searched(node, by_instances) == 2
    ended = shown(api, tuning)
    assert (ended["state"], ended["stopped_by"]) == (
        "Succeeded", "every configuration has been measured",
    )  # fmt: skip
    (chosen,) = [one for one in ended["runs"] if one["chosen"]]
    assert chosen["setting"] == {"instances": 2, "batch": 0, "delay_us": 0}
    assert (chosen["throughput"], chosen["latency_us"], chosen["memory_bytes"]) == (180, 9000, 1000)
    assert chosen["gpu_memory_bytes"] == 5000
    assert ended["gain"] == pytest.approx(0.8) and chosen["frontier"]
    assert node.desired().loads == ()

    answer = api.post(f"/api/v1/tunings/{tuning['id']}/apply", {}, format="json")
    assert (answer.status_code, answer.json()["applied"]) == (200, 1)
    revision = ConfigRevision.objects.get()
    assert "2 instances" in revision.message
    assert [group.count for group in parse(revision.configs["digits"]).instance_group] == [2]
    rolled = api.patch(
        "/api/v1/endpoints/digits/deployments/blue", {"config_revision": 1}, format="json"
    )
    assert rolled.status_code == 202, rolled.content
    again = api.post(f"/api/v1/tunings/{tuning['id']}/apply", {}, format="json")
    assert again.json()["code"] == "NothingToApply"  # what was measured is not what runs
    verbs = list(Event.objects.filter(verb__startswith="tuning").values_list("verb", flat=True))
    assert verbs == ["tuning.started", "tuning.succeeded", "tuning.applied"]
    assert len(api.get(TUNINGS).json()["items"]) == 1


def test_a_configuration_that_does_not_load_is_left_out(
    api: APIClient, node: SimulatedNode
) -> None:
    tuning = start(api)
    run(node, by_instances)
    tick()
    private = given(node)
    node.replicas = {k: v for k, v in node.replicas.items() if k == private.replica_id}
    node.fail("GpuOutOfMemory")
    assert shown(api, tuning)["runs"][1]["error"]["code"] == "GpuOutOfMemory"
    node.bring_up()
    searched(node, by_instances)
    assert shown(api, tuning)["state"] == "Succeeded"


def test_what_runs_today_must_be_measurable(api: APIClient, node: SimulatedNode) -> None:
    tuning = start(api)
    refused = Problem("NothingAnswered", "No request was answered well.", detail="shape")
    searched(node, lambda _: refused)
    ended = shown(api, tuning)
    assert (ended["state"], ended["error"]["code"], ended["measured"]) == (
        "Failed", "NothingAnswered", 1,
    )  # fmt: skip
    assert api.post(f"/api/v1/tunings/{tuning['id']}/apply", {}, format="json").status_code == 409


def test_a_run_that_an_agent_lost_is_begun_again_and_given_up_in_the_end(
    api: APIClient, node: SimulatedNode
) -> None:
    tuning = start(api)
    restarted = Problem("AgentRestarted", "The node's agent was started anew meanwhile.")
    names = [run(node, lambda _: restarted).replica_id for _ in range(2)]
    assert all(REPLICA_ID.fullmatch(name) for name in names)  # else an agent takes nothing more
    assert names == [f"{tuning['id']}-0", f"{tuning['id']}-0-1"]
    assert shown(api, tuning)["measured"] == 0
    run(node, by_instances)
    assert shown(api, tuning)["measured"] == 1
    for _ in range(3):
        run(node, lambda _: restarted)
    assert shown(api, tuning)["runs"][1]["error"]["code"] == "AgentRestarted"


def test_cancelling_keeps_what_was_measured(api: APIClient, node: SimulatedNode) -> None:
    tuning = start(api)
    run(node, by_instances)
    tick()
    assert given(node)
    place = f"/api/v1/tunings/{tuning['id']}/cancel"
    assert api.post(place).json()["state"] == "Canceled"
    assert api.post(place).json()["code"] == "OperationFinished"
    assert [one for one in node.desired().replicas if one.trial] == []
    assert shown(api, tuning)["measured"] == 1


def test_a_silent_node_ends_it(api: APIClient, node: SimulatedNode) -> None:
    tuning = start(api)
    tick()
    tick(minutes=20)
    ended = shown(api, tuning)
    assert (ended["state"], ended["error"]["code"]) == ("Failed", "DeadlineExceeded")
    Tuning.objects.update(finished_at=timezone.now() - timedelta(days=91))
    tunings.tunings_prune(now=timezone.now())
    assert Tuning.objects.count() == 0


def test_one_measurement_at_a_time_on_a_node(api: APIClient, node: SimulatedNode) -> None:
    start(api)
    asked = {"levels": [1], "while_serving": True}
    sweep = api.post(TUNINGS.replace("tunings", "sweeps"), asked, format="json")
    assert (sweep.status_code, sweep.json()["code"]) == (409, "TuningInProgress")
    assert api.post(TUNINGS, ASKED, format="json").json()["code"] == "TuningInProgress"
    Tuning.objects.update(state="Canceled")
    swept = api.post(TUNINGS.replace("tunings", "sweeps"), asked, format="json")
    assert swept.status_code == 202
    assert api.post(TUNINGS, ASKED, format="json").json()["code"] == "SweepInProgress"


def test_clients_are_warned_of(api: APIClient, node: SimulatedNode) -> None:
    refused = api.post(TUNINGS, {**ASKED, "while_serving": False}, format="json").json()
    assert (refused["code"], refused["field"]) == ("DeploymentServes", "while_serving")
    SimulatedNode("quiet").report()
    assert start(api, while_serving=False)["node"] == "quiet"
    assert Tuning.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"instances": [2, 1]}, "instances"),
        ({"instances": [0]}, "instances.0"),
        ({"instances": [1]}, "instances"),
        ({"batch_sizes": [8]}, "batch_sizes"),
        ({"mode": "rate", "levels": []}, "levels"),
        ({"mode": "rate", "levels": [1, 2]}, "levels"),
        ({"runs": 1}, "runs"),
        ({"model": "nobody"}, "model"),
        ({"slo_ms": 5}, "slo_percentile"),
        ({"node": "nowhere"}, None),
        ({"what": 1}, "what"),
    ],
)
def test_what_makes_no_sense_is_refused(
    api: APIClient, node: SimulatedNode, body: dict[str, Any], field: str | None
) -> None:
    answer = api.post(TUNINGS, {**ASKED, **body}, format="json")
    assert answer.status_code in (400, 404, 422), answer.content
    assert answer.json().get("field") == field, answer.content
    assert Tuning.objects.count() == 0


def test_only_its_own_node_is_heard(api: APIClient, node: SimulatedNode) -> None:
    """why: who could speak for others could choose their configurations."""
    tuning = start(api)
    tick()
    private = given(node)
    stranger = SimulatedNode("stranger")
    stranger.desired()
    stranger.replicas = {private.replica_id: stranger._fresh(private)}
    stranger.say("ready", configs={"digits": {}})
    assert shown(api, tuning)["current"]["phase"] == "starting"


def test_it_goes_with_its_deployment(api: APIClient, node: SimulatedNode) -> None:
    start(api)
    Endpoint.objects.update(traffic={})
    Deployment.objects.get().delete()
    assert Tuning.objects.count() == 0
