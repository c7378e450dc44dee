"""Golden cases before the first request of a client: who is asked, and what a wrong answer ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.console.inference import Answer, Call, InferenceFailed, Target
from controlplane.console.models import SavedCase
from controlplane.console.tensors import Tensor
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.selectors import routing_view
from controlplane.golden import asking, candidates
from controlplane.golden.candidates import candidate_ask
from controlplane.nodes.models import Node
from controlplane.operations.models import Operation
from controlplane.operations.services import candidate_begin, operations_tick
from controlplane.rollouts import Golden
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BLUE = "/api/v1/endpoints/digits/deployments/blue"
UPDATES: dict[str, Callable[[APIClient, str], Any]] = {
    "patch": lambda api, query: api.patch(f"{BLUE}{query}", {"version": "2"}, format="json"),
    "put": lambda api, query: api.put(
        f"{BLUE}{query}", {"model": "digits", "version": "2"}, format="json"
    ),
    "update": lambda api, query: api.post(f"{BLUE}/update{query}", {"version": "2"}, format="json"),
}


@dataclass
class Candidate:
    """What the gateway would bring back of it."""

    value: float = 4.0
    silent: bool = False
    asked: list[str] = field(default_factory=list)

    async def __call__(self, _: Any, target: Target, call: Call, timeout_s: float) -> Answer:
        self.asked.append(target.deployment)
        if self.silent:
            raise InferenceFailed("Busy", "No replica.", status=503)
        raw = np.array([self.value], "<f4").tobytes()
        return Answer((Tensor("y", "FP32", (1,), raw),), "1", 100.0, None, target.deployment)


@pytest.fixture
def candidate(monkeypatch: pytest.MonkeyPatch) -> Candidate:
    made = Candidate()
    monkeypatch.setattr(asking, "infer_http", made)
    return made


@pytest.fixture
def serving(api: APIClient) -> SimulatedNode:
    """Blue has all of the traffic of digits, and version 2 waits to be deployed."""
    model_register()
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.bring_up()
    gateway_confirms()
    model_register(content=b"better")
    return node


def golden(model: str = "digits") -> None:
    tensor = {"datatype": "FP32", "shape": [1]}
    SavedCase.objects.create(
        id="two",
        name="two",
        model=model,
        inputs=[{"name": "x", "data": [2.0], **tensor}],
        expected=[{"name": "y", "data": [4.0], **tensor}],
        created_by="dora",
    )


def deploy(api: APIClient, query: str = "", **body: Any) -> Any:
    return api.post(f"/api/v1/deploy{query}", {"model": "digits", **body}, format="json")


def stages(answer: Any) -> list[str]:
    assert answer.status_code in (201, 202), answer.content
    return [stage["name"] for stage in answer.json()["stages"]]


def shown(api: APIClient, operation: str) -> Any:
    return api.get(f"/api/v1/operations/{operation}").json()


def settled(answer: Any, node: SimulatedNode) -> str:
    """Its replicas are ready, and gateways know of them."""
    assert answer.status_code in (201, 202), answer.content
    node.bring_up()
    gateway_confirms()
    operations_tick(now=timezone.now())
    return str(answer.json()["id"])


def ask(operation: str) -> bool:
    return candidate_ask(operation, now=timezone.now())


def tick_while_nodes_report(now: datetime) -> None:
    Node.objects.update(last_seen_at=now)
    operations_tick(now=now)


def routed() -> dict[str, tuple[int, list[str]]]:
    """By deployment: its share, and the replicas that gateways send requests to."""
    return {
        one.name: (one.weight, [r.replica_id for r in one.replicas if not r.draining])
        for one in routing_view().endpoints[0].deployments
    }


@pytest.mark.parametrize(
    ("body", "asks"),
    [
        ({}, True),
        ({"deployment": "other"}, True),
        ({"traffic": 10}, True),
        ({"traffic": 0}, False),  # nobody's requests: it can be looked at as it is
        ({"version": "1"}, False),  # blue runs it already
    ],
)
def test_a_deployment_is_asked_where_it_gets_requests(
    api: APIClient, serving: SimulatedNode, body: dict[str, Any], asks: bool
) -> None:
    golden()
    named = stages(deploy(api, **body))
    assert ("golden" in named) is asks
    if asks:
        assert named[-3:] == ["warm", "golden", "route"]


def test_who_has_no_golden_case_waits_for_nothing(api: APIClient, serving: SimulatedNode) -> None:
    golden(model="another")
    SavedCase.objects.create(id="plain", name="plain", model="digits", inputs=[], created_by="dora")
    begun = deploy(api)
    assert "golden" not in stages(begun)
    assert shown(api, settled(begun, serving))["state"] == "Succeeded"


def test_a_rollout_asks_by_itself_and_once(api: APIClient, serving: SimulatedNode) -> None:
    golden()
    assert stages(deploy(api, rollout={}))[-2:] == ["route", "rollout"]


def test_a_rollout_is_told_by_its_own_words_to_skip_them(
    api: APIClient, serving: SimulatedNode
) -> None:
    refused = deploy(api, "?skip_golden=true", rollout={})
    assert (refused.status_code, refused.json()["field"]) == (400, "skip_golden")
    assert "guardrails.golden" in refused.json()["hints"][0]


def test_right_answers_give_it_the_traffic(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    golden()
    operation = settled(deploy(api), serving)
    assert routed() == {
        "blue": (100, [Replica.objects.get(deployment__name="blue").pk]),
        "green": (0, []),
        "green~candidate": (0, [Replica.objects.get(deployment__name="green").pk]),
    }
    assert ask(operation)
    assert candidate.asked == ["green~candidate"]
    gateway_confirms()
    done = shown(api, operation)
    assert done["state"] == "Succeeded", done
    stage = next(one for one in done["stages"] if one["name"] == "golden")
    assert stage["detail"] == "1 of 1 are answered as expected"
    assert Endpoint.objects.get().traffic == {"green": 100}
    assert "green~candidate" not in routed()
    assert not ask(operation), "what was answered is not asked again"


def test_a_wrong_answer_ends_a_deployment_and_the_other_keeps_the_traffic(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    golden()
    candidate.value = 5.0
    operation = settled(deploy(api), serving)
    assert ask(operation)
    done = shown(api, operation)
    assert (done["state"], done["error"]["code"]) == ("Failed", "GoldenCasesFailed")
    assert done["error"]["message"] == (
        "Revision 1 of green answers 1 of 1 golden cases otherwise than expected; "
        "it got no requests."
    )
    assert done["error"]["detail"] == (
        "'two' of digits, y 1 of 1 values differ [0]: 5, expected 4 ± 0.000401"
    )
    assert "--skip-golden" in done["error"]["hints"][1]
    assert Endpoint.objects.get().traffic == {"blue": 100}
    assert Deployment.objects.get(name="green").provisioning_state == "Failed"


@pytest.mark.parametrize("update", UPDATES)
def test_an_update_that_answers_wrongly_never_gets_a_request(
    api: APIClient, serving: SimulatedNode, candidate: Candidate, update: str
) -> None:
    golden()
    candidate.value = 5.0
    old = Replica.objects.get()
    operation = settled(UPDATES[update](api, ""), serving)
    new = Replica.objects.exclude(pk=old.pk).get()
    assert routed() == {"blue": (100, [old.pk]), "blue~candidate": (0, [new.pk])}
    assert ask(operation)
    done = shown(api, operation)
    assert (done["state"], done["error"]["code"]) == ("Failed", "GoldenCasesFailed")
    assert done["error"]["message"].startswith("Revision 2 of blue answers 1 of 1 golden cases")
    assert routed()["blue"] == (100, [old.pk])
    blue = Deployment.objects.get()
    assert (blue.provisioning_state, blue.revision.number) == ("Succeeded", 1)


def test_an_update_that_answers_rightly_takes_over(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    golden()
    old = Replica.objects.get()
    operation = settled(UPDATES["patch"](api, ""), serving)
    new = Replica.objects.exclude(pk=old.pk).get()
    assert ask(operation)
    # both answer until gateways have the new one
    assert routed() == {"blue": (100, sorted([old.pk, new.pk]))}
    gateway_confirms()
    assert shown(api, operation)["state"] == "Succeeded"
    assert routed() == {"blue": (100, [new.pk])}


@pytest.mark.parametrize("update", UPDATES)
def test_who_says_so_is_not_asked_and_that_is_recorded(
    api: APIClient, serving: SimulatedNode, update: str
) -> None:
    golden()
    begun = UPDATES[update](api, "?skip_golden=true")
    assert "golden" not in stages(begun)
    event = Event.objects.get(verb="operation.golden_skipped")
    assert (event.actor, event.severity, event.data["operation"]) == (
        "dora",
        "warning",
        begun.json()["id"],
    )


def test_a_deployment_may_skip_them_too(api: APIClient, serving: SimulatedNode) -> None:
    golden()
    assert "golden" not in stages(deploy(api, "?skip_golden=true"))
    assert Event.objects.filter(verb="operation.golden_skipped").exists()


def test_nothing_is_recorded_where_there_was_nothing_to_ask(
    api: APIClient, serving: SimulatedNode
) -> None:
    deploy(api, "?skip_golden=true")
    assert not Event.objects.filter(verb="operation.golden_skipped").exists()


@pytest.mark.parametrize(("query", "asks"), [("", True), ("?skip_golden=true", False)])
@pytest.mark.parametrize("begin", [UPDATES["patch"], lambda api, query: deploy(api, query)])
def test_a_retry_asks_again_unless_told_otherwise(
    api: APIClient,
    serving: SimulatedNode,
    candidate: Candidate,
    begin: Callable[[APIClient, str], Any],
    query: str,
    asks: bool,
) -> None:
    golden()
    candidate.value = 5.0
    failed = settled(begin(api, ""), serving)
    ask(failed)
    again = api.post(f"/api/v1/operations/{failed}/retry{query}")
    assert ("golden" in stages(again)) is asks
    if not asks:
        serving.bring_up()
        gateway_confirms()
        assert shown(api, again.json()["id"])["state"] == "Succeeded"


@pytest.mark.parametrize(
    "begin",
    [
        lambda api: api.post(f"{BLUE}/restart"),
        lambda api: api.post(f"{BLUE}/scale", {"instance_count": 2}, format="json"),
        lambda api: api.post(f"{BLUE}/stop?force=true"),
    ],
)
def test_what_runs_already_is_not_asked(
    api: APIClient, serving: SimulatedNode, begin: Callable[[APIClient], Any]
) -> None:
    golden()
    assert "golden" not in stages(begin(api))


def test_who_goes_back_is_not_hindered(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    settled(UPDATES["patch"](api, ""), serving)
    golden()
    candidate.value = 5.0
    back = api.post(f"{BLUE}/rollback", {}, format="json")
    assert "golden" not in stages(back)
    assert shown(api, settled(back, serving))["state"] == "Succeeded"


def test_what_is_not_answered_is_asked_again_and_then_the_end(
    api: APIClient,
    serving: SimulatedNode,
    candidate: Candidate,
    sent: list[str],
) -> None:
    golden()
    candidate.silent = True
    operation = settled(UPDATES["patch"](api, ""), serving)
    now = timezone.now()
    assert ask(operation)
    assert shown(api, operation)["state"] == "Running"
    stage = next(one for one in shown(api, operation)["stages"] if one["name"] == "golden")
    assert stage["detail"].startswith("not answered: 'two' of digits, No replica (503)")
    operations_tick(now=now + timedelta(seconds=5))
    assert sent == ["golden.candidate"]
    operations_tick(now=now + timedelta(seconds=15))
    assert sent == ["golden.candidate"] * 2
    tick_while_nodes_report(now + timedelta(minutes=6))
    done = shown(api, operation)
    assert (done["state"], done["error"]["code"]) == ("Failed", "GoldenCasesUnanswered")
    assert "No replica (503)" in done["error"]["detail"]
    assert Deployment.objects.get().revision.number == 1


def test_where_nobody_asks_that_is_the_reason(
    api: APIClient, serving: SimulatedNode, sent: list[str]
) -> None:
    golden()
    operation = settled(deploy(api), serving)
    now = timezone.now()
    operations_tick(now=now + timedelta(seconds=50))
    assert sent == ["golden.candidate"]
    operations_tick(now=now + timedelta(seconds=70))  # the job may be lost, with its process
    assert sent == ["golden.candidate"] * 2
    tick_while_nodes_report(now + timedelta(minutes=9))
    assert shown(api, operation)["state"] == "Running", "models may be taken in before it"
    tick_while_nodes_report(now + timedelta(minutes=11))
    done = shown(api, operation)
    assert (done["state"], done["error"]["code"]) == ("Failed", "GoldenCasesUnanswered")
    assert "worker of the queue ingest" in done["error"]["hints"][0]


def test_of_two_jobs_one_asks(
    api: APIClient,
    serving: SimulatedNode,
    candidate: Candidate,
    monkeypatch: pytest.MonkeyPatch,
    sent: list[str],
) -> None:
    """One that waits behind models that are taken in is sent again: both come at once then."""
    golden()
    operation = settled(deploy(api), serving)
    tick_while_nodes_report(timezone.now() + timedelta(minutes=4))
    assert sent == ["golden.candidate"] * 2
    asking_cases, others = candidates.answers_of, list[bool]()

    def while_another_comes(*args: Any, **options: Any) -> Golden:
        others.append(ask(operation))
        return asking_cases(*args, **options)

    monkeypatch.setattr(candidates, "answers_of", while_another_comes)
    assert candidate_ask(operation, now=timezone.now() + timedelta(minutes=4))
    assert others == [False]
    assert not ask(operation), "it is answered"
    assert candidate.asked == ["green~candidate"]


def test_time_counts_once_a_job_has_begun(
    api: APIClient, serving: SimulatedNode, candidate: Candidate, sent: list[str]
) -> None:
    golden()
    operation = settled(deploy(api), serving)
    began = timezone.now() + timedelta(minutes=8)
    assert candidate_begin(operation_id=operation, now=began)
    assert candidate_begin(operation_id=operation, now=began) is None
    tick_while_nodes_report(began + timedelta(seconds=80))
    assert sent == ["golden.candidate"], "it asks"
    tick_while_nodes_report(began + timedelta(seconds=100))
    assert sent == ["golden.candidate"] * 2, "its process may be lost"
    assert candidate_begin(operation_id=operation, now=began + timedelta(seconds=110))
    tick_while_nodes_report(began + timedelta(minutes=4))
    assert shown(api, operation)["state"] == "Running"
    tick_while_nodes_report(began + timedelta(minutes=6))
    assert shown(api, operation)["error"]["code"] == "GoldenCasesUnanswered"


def test_nobody_is_asked_before_gateways_can_reach_it(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    golden()
    begun = deploy(api)
    serving.bring_up()
    stage = shown(api, begun.json()["id"])["stages"][-2]
    assert (stage["name"], stage["detail"]) == ("golden", "waiting for the gateway to confirm")
    assert not ask(begun.json()["id"])
    gateway_confirms()
    assert ask(begun.json()["id"])


def test_a_node_that_is_lost_meanwhile_has_others_asked(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    golden()
    operation = settled(deploy(api), serving)
    asked_at = Operation.objects.get(pk=operation).parameters["candidate_asked"]
    other = SimulatedNode("other")
    later = timezone.now() + timedelta(minutes=3)
    Node.objects.filter(pk=other.row().pk).update(last_seen_at=later)
    operations_tick(now=later)
    row = Operation.objects.get(pk=operation)
    assert "candidate_asked" not in row.parameters, row.stages
    assert not ask(operation)
    other.bring_up()
    gateway_confirms()
    operations_tick(now=timezone.now())
    row.refresh_from_db()
    assert row.parameters["candidate_asked"] != asked_at
    assert ask(operation)


def test_who_cancels_meanwhile_has_what_was_before(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    golden()
    operation = settled(UPDATES["patch"](api, ""), serving)
    api.post(f"/api/v1/operations/{operation}/cancel")
    assert not ask(operation)
    assert shown(api, operation)["state"] == "Canceled"
    assert Deployment.objects.get().revision.number == 1
    assert len(routed()["blue"][1]) == 1


def test_what_waits_without_requests_is_asked_as_it_runs(
    api: APIClient, serving: SimulatedNode, candidate: Candidate
) -> None:
    golden()
    settled(deploy(api, traffic=0), serving)
    begun = deploy(api)
    assert "golden" in stages(begun)
    operations_tick(now=timezone.now())
    gateway_confirms()
    assert ask(begun.json()["id"])
    assert candidate.asked == ["green"]
    gateway_confirms()
    assert Endpoint.objects.get().traffic == {"green": 100}


def test_rules_send_requests_too(api: APIClient, serving: SimulatedNode) -> None:
    golden()
    settled(deploy(api, traffic=0), serving)
    green = BLUE.replace("blue", "green")
    changed = {"version": "1"}
    assert "golden" not in stages(api.patch(green, changed, format="json"))
    serving.bring_up()
    gateway_confirms()
    rule = {"header": "x-tester", "exact": "yes", "deployment": "green"}
    told = api.put("/api/v1/endpoints/digits/traffic", {"traffic_rules": [rule]}, format="json")
    assert told.status_code == 200, told.content
    changed = {"version": "2"}
    assert "golden" in stages(api.patch(green, changed, format="json"))
