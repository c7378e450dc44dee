"""A deployment that is asked for with a rollout: checked at once, begun once it is ready."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.console.inference import Answer, Call, Target
from controlplane.console.models import SavedCase
from controlplane.console.tensors import Tensor
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.golden import asking
from controlplane.golden.candidates import candidate_ask
from controlplane.nodes.models import Node
from controlplane.operations.models import Operation, Rollout
from controlplane.operations.services import candidate_begin, operations_tick
from controlplane.registry.models import Model
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
STEPS = [{"percent": 10, "hold_s": 60}, {"percent": 100}]


class Candidate:
    """What the gateway would bring back of it."""

    value = 4.0

    async def __call__(self, _: Any, target: Target, call: Call, timeout_s: float) -> Answer:
        raw = np.array([self.value], "<f4").tobytes()
        return Answer((Tensor("y", "FP32", (1,), raw),), "1", 100.0, None, target.deployment)


@pytest.fixture
def candidate(monkeypatch: pytest.MonkeyPatch) -> Candidate:
    made = Candidate()
    monkeypatch.setattr(asking, "infer_http", made)
    return made


@pytest.fixture
def serving(api: APIClient) -> SimulatedNode:
    """Blue has all of the traffic of digits, and another version waits to be deployed."""
    model_register()
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.bring_up()
    gateway_confirms()
    model_register(content=b"better")
    return node


def deploy(api: APIClient, **body: Any) -> Any:
    asked = {"model": "digits", "rollout": {"steps": STEPS}, **body}
    return api.post("/api/v1/deploy", asked, format="json")


def ready(api: APIClient, node: SimulatedNode, **body: Any) -> str:
    """The id of the operation, whose deployment waits to be asked."""
    begun = deploy(api, **body)
    assert begun.status_code == 202, begun.content
    node.bring_up()
    gateway_confirms()
    return str(begun.json()["id"])


def shown(api: APIClient, operation: str) -> Any:
    return api.get(f"/api/v1/operations/{operation}").json()


def last_stage(api: APIClient, operation: str) -> tuple[str, str, str]:
    stage = shown(api, operation)["stages"][-1]
    return stage["name"], stage["status"], stage["detail"]


def green() -> Deployment:
    return Deployment.objects.get(name="green")


def test_it_begins_once_the_deployment_is_ready(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    begun = deploy(api)
    assert [stage["name"] for stage in begun.json()["stages"]][-2:] == ["route", "rollout"]
    operation = begun.json()["id"]
    serving.bring_up()
    assert not Rollout.objects.exists()
    gateway_confirms()
    assert last_stage(api, operation) == ("rollout", "running", "asking its golden cases")
    assert Endpoint.objects.get().traffic == {"blue": 100}

    assert candidate_ask(operation, now=timezone.now())
    done = shown(api, operation)
    rollout = Rollout.objects.get()
    assert (done["state"], done["percent"], done["result"]["rollout"]) == (
        "Succeeded",
        100,
        rollout.pk,
    )
    assert last_stage(api, operation) == ("rollout", "succeeded", "green gets 10 % → 100 %")
    assert Endpoint.objects.get().traffic == {"blue": 90, "green": 10}
    assert (rollout.created_by, rollout.state) == ("dora", "Running")
    assert rollout.golden is not None
    assert Event.objects.filter(verb="rollout.started").exists()
    assert api.get(f"{DIGITS}/rollouts").json()["items"][0]["id"] == rollout.pk
    assert not candidate_ask(operation, now=timezone.now())


def test_copies_come_before_any_traffic(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    plan = {"shadow": {"percent": 20, "hold_s": 60}, "strategy": "blue_green"}
    operation = ready(api, serving, rollout=plan)
    candidate_ask(operation, now=timezone.now())
    assert last_stage(api, operation)[2] == "green gets copies of 20 % → 100 %"
    endpoint = Endpoint.objects.get()
    assert (endpoint.traffic, endpoint.mirror_traffic) == ({"blue": 100}, {"green": 20})


def test_a_deployment_beside_others_takes_one_too(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    body = {"name": "next", "model": "digits", "rollout": {}}
    begun = api.post(f"{DIGITS}/deployments", body, format="json")
    assert begun.status_code == 202, begun.content
    serving.bring_up()
    gateway_confirms()
    candidate_ask(begun.json()["id"], now=timezone.now())
    assert last_stage(api, begun.json()["id"])[2] == "next gets 1 % → 10 % → 50 % → 100 %"


def test_one_that_answers_golden_cases_otherwise_stays_ready_without_traffic(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    tensor = {"datatype": "FP32", "shape": [1]}
    SavedCase.objects.create(
        id="two",
        name="two",
        model="digits",
        inputs=[{"name": "x", "data": [2.0], **tensor}],
        expected=[{"name": "y", "data": [4.0], **tensor}],
        created_by="dora",
    )
    candidate.value = 5.0
    operation = ready(api, serving)
    assert candidate_ask(operation, now=timezone.now())
    done = shown(api, operation)
    assert (done["state"], done["percent"], done["result"]["rollout"]) == ("Succeeded", 100, None)
    name, status, detail = last_stage(api, operation)
    assert (name, status) == ("rollout", "failed")
    assert detail.startswith("Not begun: green answers 1 of 1 golden cases otherwise than expected")
    assert Endpoint.objects.get().traffic == {"blue": 100}
    assert green().provisioning_state == "Succeeded"
    event = Event.objects.get(verb="rollout.not_begun")
    assert (event.severity, event.data["deployment"]) == ("warning", "green")


def test_one_that_is_under_way_by_then_goes_on(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    api.post(f"{DIGITS}/deployments", {"name": "other", "model": "digits"}, format="json")
    serving.bring_up()
    gateway_confirms()
    operation = ready(api, serving, deployment="green")
    first = api.post(f"{DIGITS}/rollouts", {"deployment": "other", "steps": STEPS}, format="json")
    assert first.status_code == 201, first.content
    candidate_ask(operation, now=timezone.now())
    assert shown(api, operation)["state"] == "Succeeded"
    assert last_stage(api, operation)[1:] == (
        "failed",
        "Not begun: A rollout is under way: other has 10 % of the traffic of digits.",
    )
    assert Rollout.objects.get().candidate == "other"
    assert green().provisioning_state == "Succeeded"


def test_it_is_asked_again_where_the_job_was_lost_and_not_for_ever(
    api: APIClient, serving: SimulatedNode, sent: list[str]
) -> None:
    operation = ready(api, serving)
    now = timezone.now()
    operations_tick(now=now + timedelta(seconds=5))
    assert sent == ["golden.candidate"]
    operations_tick(now=now + timedelta(seconds=70))
    assert sent == ["golden.candidate"] * 2
    Operation.objects.update(deadline_at=now)  # it serves: being late is no failure any more
    tick_while_nodes_report(now + timedelta(minutes=9))
    assert shown(api, operation)["state"] == "Running", "models may be taken in before it"
    tick_while_nodes_report(now + timedelta(minutes=11))
    assert shown(api, operation)["state"] == "Succeeded"
    assert "were not asked in time" in last_stage(api, operation)[2]
    assert green().provisioning_state == "Succeeded"


def tick_while_nodes_report(now: datetime) -> None:
    Node.objects.update(last_seen_at=now)
    operations_tick(now=now)


def test_time_counts_once_the_job_has_begun(
    api: APIClient, serving: SimulatedNode, sent: list[str]
) -> None:
    operation = ready(api, serving)
    began = timezone.now() + timedelta(minutes=8)
    assert candidate_begin(operation_id=operation, now=began)
    tick_while_nodes_report(began + timedelta(seconds=35))
    assert sent == ["golden.candidate"], "it asks"
    tick_while_nodes_report(began + timedelta(seconds=45))
    assert sent == ["golden.candidate"] * 2, "its process may be lost"
    assert shown(api, operation)["state"] == "Running"
    tick_while_nodes_report(began + timedelta(seconds=105))
    assert "were not asked in time" in last_stage(api, operation)[2]


def test_who_cancels_meanwhile_gets_no_rollout(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    operation = ready(api, serving)
    api.post(f"/api/v1/operations/{operation}/cancel")
    assert not candidate_ask(operation, now=timezone.now())
    assert not Rollout.objects.exists()


def test_a_retry_asks_for_it_again(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    failed = deploy(api).json()["id"]
    serving.desired()
    serving.fail()
    assert shown(api, failed)["state"] == "Failed"
    again = api.post(f"/api/v1/operations/{failed}/retry")
    assert again.status_code == 202, again.content
    serving.bring_up()
    gateway_confirms()
    candidate_ask(again.json()["id"], now=timezone.now())
    assert Rollout.objects.get().candidate == "green"


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({"traffic": 10}, "traffic", "traffic: 10, expected 0 or nothing"),
        ({"rollout": {"steps": [{"percent": 50}]}}, "rollout.steps", "rollout.steps: 50; expected"),
        ({"rollout": {"shadow": {"percent": 90}}}, "rollout.shadow.percent", "90, expected 1 to"),
        ({"rollout": {"strategy": "big_bang"}}, "rollout.strategy", "big_bang"),
        ({"rollout": {"guardrails": {"errors": {"tolerance": 0}}}}, "rollout.guardrails", "0,"),
        ({"endpoint": "fresh"}, "rollout", "fresh has no other deployment with traffic"),
        ({"version": "1"}, "rollout", "digits has no other deployment with traffic"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    api: APIClient, serving: SimulatedNode, body: dict[str, Any], field: str, says: str
) -> None:
    refused = deploy(api, **body)
    problem = refused.json()
    assert refused.status_code == 400, problem
    told = str(problem)
    assert field in told
    assert says in told
    assert list(Endpoint.objects.values_list("name", flat=True)) == ["digits"]
    assert list(Deployment.objects.values_list("name", flat=True)) == ["blue"]
    assert Operation.objects.count() == 1
    assert Model.objects.count() == 1


def test_one_that_is_under_way_is_in_its_way(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    candidate_ask(ready(api, serving), now=timezone.now())
    model_register(content=b"third")
    refused = deploy(api, deployment="third")
    assert (refused.status_code, refused.json()["code"]) == (409, "RolloutInProgress")
    taken = api.post(
        "/api/v1/deploy?supersede=true",
        {"model": "digits", "deployment": "third", "rollout": {}},
        format="json",
    )
    assert taken.status_code == 202, taken.content
    assert Rollout.objects.get().state == "Superseded"


def test_an_empty_endpoint_says_what_to_do_instead(api: APIClient) -> None:
    model_register()
    refused = deploy(api).json()
    assert refused["field"] == "rollout"
    assert "`traffic: 100`" in refused["hints"][0]


def test_it_is_asked_of_nobody_else(api: APIClient, serving: SimulatedNode) -> None:
    plain = api.post("/api/v1/deploy", {"model": "digits", "traffic": 0}, format="json").json()
    assert plain["stages"][-1]["name"] == "route"
    assert not candidate_ask(plain["id"], now=timezone.now())
