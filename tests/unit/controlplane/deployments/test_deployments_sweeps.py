"""Load sweeps: what a node is asked to measure, what it says, and that each ends."""

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, LoadSweep
from controlplane.deployments.selectors.sweeps import last_sweeps
from controlplane.deployments.services import runs
from controlplane.operations import services
from tests.support.people import make_user
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.load import LoadPoint
from wire.messages import Problem

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
SWEEPS = "/api/v1/endpoints/digits/deployments/blue/sweeps"
ASKED = {"levels": [1, 2, 4], "seconds": 5, "while_serving": True}


@pytest.fixture
def node(api: APIClient) -> SimulatedNode:
    """With a ready replica of digits/blue, which has all the traffic."""
    model_register()
    node = SimulatedNode("local")
    assert api.post("/api/v1/deploy", {"model": "digits"}, format="json").status_code == 202
    node.bring_up()
    gateway_confirms()
    assert Endpoint.objects.get().traffic == {"blue": 100}
    return node


def start(api: APIClient, **body: Any) -> dict[str, Any]:
    answer = api.post(SWEEPS, {**ASKED, **body}, format="json")
    assert answer.status_code == 202, answer.content
    assert answer["Location"] == f"/api/v1/sweeps/{answer.json()['id']}"
    return dict(answer.json())


def shown(api: APIClient, sweep: dict[str, Any]) -> dict[str, Any]:
    return dict(api.get(f"/api/v1/sweeps/{sweep['id']}").json())


def point(level: float, throughput: float, p95_us: float = 1000.0, **more: Any) -> LoadPoint:
    mean_us = level / throughput * 1e6
    return LoadPoint(level, 5.0, 500, throughput, mean_us, p95_us=p95_us, p99_us=p95_us, **more)


MEASURED = (point(1, 100), point(2, 200), point(4, 220, 9000, errors={"HTTP 503": 2}))


def test_it_is_asked_for_measured_and_kept(api: APIClient, node: SimulatedNode) -> None:
    sweep = start(api, slo_percentile=95, slo_ms=5)
    assert (sweep["state"], sweep["node"], sweep["traffic"]) == ("Queued", "local", 100)
    (load,) = node.desired().loads
    assert (load.load_id, load.begun) == (sweep["id"], False)
    assert load.replica_id in node.replicas
    plan = load.plan
    assert (plan.model, plan.levels, plan.slo_percentile, plan.slo_us) == (
        "digits", (1, 2, 4), 95, 5000,
    )  # fmt: skip
    node.measure(load.load_id)
    assert (shown(api, sweep)["state"], node.desired().loads[0].begun) == ("Running", True)
    node.measure(load.load_id, points=MEASURED[:1])
    (one,) = shown(api, sweep)["points"]
    assert (one["level"], one["throughput"], one["within_slo"]) == (1, 100, True)
    reason = "p95 at 4 was 9 ms, over 5"
    node.measure(load.load_id, "finished", points=MEASURED, stopped_by=reason)
    ended = shown(api, sweep)
    assert (ended["state"], ended["stopped_by"], ended["error"]) == ("Succeeded", reason, None)
    assert (ended["knee"], ended["slo_level"], ended["slo_throughput"]) == (2, 2, 200)
    assert ended["points"][2]["errors"] == {"HTTP 503": 2}
    assert ended["perf_analyzer"].startswith("perf_analyzer -m digits -i http")
    assert node.desired().loads == ()  # so the node forgets it
    node.measure(load.load_id, "failed")  # what it says later counts no more
    assert shown(api, sweep)["state"] == "Succeeded"
    verbs = list(Event.objects.filter(verb__startswith="load_sweep").values_list("verb", flat=True))
    assert verbs == ["load_sweep.started", "load_sweep.succeeded"]
    first = Event.objects.get(verb="load_sweep.started")
    assert (first.severity, first.subject) == ("warning", "endpoint/digits")
    assert "while it serves clients (100 % of the traffic)" in first.message
    (deployment,) = Deployment.objects.all()
    assert last_sweeps([deployment.pk])[deployment.pk].pk == sweep["id"]


def test_as_csv(api: APIClient, node: SimulatedNode) -> None:
    sweep = start(api)
    node.measure(sweep["id"], points=MEASURED[:2])
    answer = api.get(f"/api/v1/sweeps/{sweep['id']}/csv")
    lines = answer.content.decode().splitlines()
    assert answer["Content-Type"].startswith("text/csv")
    assert lines[0].startswith("concurrency,seconds,good,throughput,mean_us,")
    assert [line.split(",")[:4] for line in lines[1:]] == [
        ["1.0", "5.0", "500", "100.0"], ["2.0", "5.0", "500", "200.0"],
    ]  # fmt: skip


def test_clients_are_warned_of(api: APIClient, node: SimulatedNode) -> None:
    """why: a sweep takes what they would get."""
    asked = {"levels": [1]}
    Endpoint.objects.update(traffic={"blue": 40, "green": 60})
    refused = api.post(SWEEPS, asked, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "DeploymentServes")
    assert refused.json()["field"] == "while_serving" and "40 %" in refused.json()["detail"]
    Endpoint.objects.update(traffic={"green": 100}, mirror_traffic={"blue": 10})
    assert "mirrored" in api.post(SWEEPS, asked, format="json").json()["detail"]
    rules = [{"header": "x", "value": "y", "deployment": "blue"}]
    Endpoint.objects.update(mirror_traffic={}, traffic_rules=rules)
    assert "a traffic rule" in api.post(SWEEPS, asked, format="json").json()["detail"]
    assert LoadSweep.objects.count() == 0
    Endpoint.objects.update(traffic_rules=[])
    assert api.post(SWEEPS, asked, format="json").status_code == 202
    assert Event.objects.get(verb="load_sweep.started").severity == "info"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "levels"),
        ({"levels": []}, "levels"),
        ({"levels": [4, 2]}, "levels"),
        ({"levels": [1.5]}, "levels"),
        ({"levels": ["many"]}, "levels"),
        ({"levels": [1e9], "mode": "rate"}, "levels"),
        ({"levels": [1], "mode": "waves"}, "mode"),
        ({"levels": [1], "seconds": 0}, "seconds"),
        ({"levels": [1], "seconds": 121}, "seconds"),
        ({"levels": [1], "model": "other"}, "model"),
        ({"levels": [1], "slo_ms": 5}, "slo_percentile"),
        ({"levels": [1], "slo_percentile": 99}, "slo_ms"),
        ({"levels": [1], "slo_percentile": 50, "slo_ms": 1}, "slo_percentile"),
        ({"levels": [1], "slo_percentile": 95, "slo_ms": -1}, "slo_ms"),
        ({"levels": [1], "shapes": {"x": [-1]}}, "shapes"),
        ({"levels": [1], "batch": 0}, "batch"),
    ],
)
def test_what_cannot_be_asked(
    api: APIClient, node: SimulatedNode, body: dict[str, Any], field: str
) -> None:
    answer = api.post(SWEEPS, {"while_serving": True, **body}, format="json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["field"].partition(".")[0] == field
    assert LoadSweep.objects.count() == 0


def test_a_saved_case_is_sent_and_forgotten_at_the_end(api: APIClient, node: SimulatedNode) -> None:
    inputs = [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]
    saved = {"name": "ones", "model": "digits", "endpoint": "digits", "inputs": inputs}
    case = api.post("/api/v1/test-cases", saved, format="json").json()
    sweep = start(api, case=case["id"])
    assert (sweep["case"], sweep["model"]) == ("ones", "digits")
    (sent,) = node.desired().loads[0].plan.inputs
    assert (sent.name, sent.shape) == ("x", (1, 2))
    assert base64.b64decode(sent.data or "") == b"\0\0\x80?\0\0\0@"
    node.measure(sweep["id"], "finished", points=MEASURED)
    (kept,) = LoadSweep.objects.get().plan["inputs"]
    assert (kept["name"], kept["data"]) == ("x", None)
    assert "--input-data case.json" in shown(api, sweep)["perf_analyzer"]


def test_cases_that_cannot_be_sent(api: APIClient, node: SimulatedNode) -> None:
    def refused(**changes: Any) -> tuple[int, str]:
        inputs = [{"name": "x", "datatype": "FP32", "shape": [1], "data": [1]}]
        saved = {
            "name": next(iter(changes)),
            "model": "digits",
            "endpoint": "digits",
            "inputs": inputs,
        }
        case = api.post("/api/v1/test-cases", {**saved, **changes}, format="json").json()
        answer = api.post(SWEEPS, {**ASKED, "case": case["id"]}, format="json")
        return answer.status_code, answer.json()["field"]

    assert refused(model="other") == (400, "case")
    assert refused(options={"parameters": {"sequence_id": 1}}) == (400, "case")
    large = [{"name": "x", "datatype": "UINT8", "shape": [2**20],
              "data": {"b64": base64.b64encode(bytes(2**20)).decode()}}]  # fmt: skip
    assert refused(inputs=large) == (400, "case")
    missing = api.post(SWEEPS, {**ASKED, "case": "nothing"}, format="json")
    assert (missing.status_code, missing.json()["code"]) == (404, "TestCaseNotFound")
    assert LoadSweep.objects.count() == 0


def test_one_at_a_time_on_a_node(api: APIClient, node: SimulatedNode) -> None:
    first = start(api)
    answer = api.post(SWEEPS, ASKED, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "SweepInProgress")
    api.post(f"/api/v1/sweeps/{first['id']}/cancel")
    start(api)


def test_it_needs_a_ready_replica_of_the_newest_revision(
    api: APIClient, node: SimulatedNode
) -> None:
    node.say("loading")
    answer = api.post(SWEEPS, ASKED, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "NoReadyReplica")


def test_a_failure_keeps_what_was_measured(api: APIClient, node: SimulatedNode) -> None:
    sweep = start(api)
    problem = Problem("NothingAnswered", "No request was answered well.", detail="HTTP 400")
    node.measure(sweep["id"], "failed", points=MEASURED[:1], error=problem)
    ended = shown(api, sweep)
    assert (ended["state"], ended["error"]["code"]) == ("Failed", "NothingAnswered")
    assert len(ended["points"]) == 1
    assert Event.objects.get(verb="load_sweep.failed").severity == "warning"


def test_cancelling_stops_it_once(api: APIClient, node: SimulatedNode) -> None:
    sweep = start(api)
    generation = node.desired().generation
    node.measure(sweep["id"], points=MEASURED[:1])
    answer = api.post(f"/api/v1/sweeps/{sweep['id']}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (200, "Canceled")
    assert len(answer.json()["points"]) == 1
    wanted = node.desired()
    assert wanted.loads == () and wanted.generation > generation
    again = api.post(f"/api/v1/sweeps/{sweep['id']}/cancel")
    assert (again.status_code, again.json()["code"]) == (409, "OperationFinished")


@pytest.mark.parametrize(("begun", "words"), [(False, "not begun"), (True, "not ended")])
def test_a_silent_node_does_not_keep_it_open(
    api: APIClient, node: SimulatedNode, begun: bool, words: str
) -> None:
    sweep = start(api)
    if begun:
        node.measure(sweep["id"], points=MEASURED[:1])
    deadline = LoadSweep.objects.get().deadline_at
    services.operations_tick(now=deadline - timedelta(seconds=1))
    assert shown(api, sweep)["state"] == ("Running" if begun else "Queued")
    services.operations_tick(now=deadline + timedelta(seconds=1))
    ended = shown(api, sweep)
    assert (ended["state"], ended["error"]["code"]) == ("Failed", "DeadlineExceeded")
    assert words in ended["error"]["message"]


def test_old_ones_are_forgotten(
    api: APIClient, node: SimulatedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_KEPT", 2)
    made = []
    for _ in range(4):
        made.append(start(api)["id"])
        node.measure(made[-1], "finished", points=MEASURED)
    listed = api.get(SWEEPS).json()["items"]
    assert [row["id"] for row in listed] == made[:1:-1]
    assert [row["measured"] for row in listed] == [3, 3]
    services.runs_prune(now=timezone.now() + timedelta(days=91))
    assert api.get(SWEEPS).json()["items"] == []


def test_a_node_speaks_of_its_own_sweeps_only(api: APIClient, node: SimulatedNode) -> None:
    sweep = start(api)
    SimulatedNode("other").measure(sweep["id"], "finished", points=MEASURED)
    assert shown(api, sweep)["state"] == "Queued"
    endless = tuple(point(n, 100) for n in range(1, 30))
    node.measure(sweep["id"], points=endless)
    assert len(shown(api, sweep)["points"]) == 3  # as many as were asked for


def test_of_an_older_revision_none_is_the_last(
    api: APIClient, admin_api: APIClient, node: SimulatedNode
) -> None:
    sweep = start(api)
    node.measure(sweep["id"], "finished", points=MEASURED)
    node.loads = ()
    path = "/api/v1/endpoints/digits/deployments/blue/update"
    assert admin_api.post(path, {"environment": {"A": "1"}}, format="json").status_code == 202
    (deployment,) = Deployment.objects.all()
    assert last_sweeps([deployment.pk]) == {}


def test_it_goes_with_its_deployment(api: APIClient, node: SimulatedNode) -> None:
    start(api)
    Endpoint.objects.all().delete()
    assert node.desired().loads == ()


@pytest.mark.parametrize(
    ("role", "status"),
    [(User.Role.VIEWER, 403), (User.Role.INVOKER, 403), (User.Role.DEPLOYER, 202)],
)
def test_who_may_load_it(node: SimulatedNode, client_of: Any, role: User.Role, status: int) -> None:
    client = client_of(make_user("kim", role))
    assert client.post(SWEEPS, ASKED, format="json").status_code == status
    assert client.get(SWEEPS).status_code == 200
