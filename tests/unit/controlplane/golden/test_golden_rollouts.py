"""Golden cases as a guardrail of rollouts: before the first step, in each one, and at a pace."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from rest_framework.test import APIClient

from controlplane.console.inference import Answer, Call, InferenceFailed, Target
from controlplane.console.models import SavedCase
from controlplane.console.tensors import Tensor
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.services.keys import keys_create
from controlplane.golden import asking, rollouts
from controlplane.golden.rollouts import rollout_ask, rollouts_due
from controlplane.operations.models import Rollout
from controlplane.operations.services import rollouts_look
from controlplane.operations.services.starting import scaling_open
from tests.support.gateway_counts import counted
from tests.support.placed_replicas import blue_and_green

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ROLLOUTS = "/api/v1/endpoints/digits/rollouts"
PLAN: dict[str, Any] = {
    "deployment": "green",
    "steps": [{"percent": 10, "hold_s": 60}, {"percent": 50, "hold_s": 60}, {"percent": 100}],
    "min_requests": 100,
}
INPUT = {"name": "x", "datatype": "FP32", "shape": [1], "data": [2.0]}
EXPECTED = {"name": "y", "datatype": "FP32", "shape": [1], "data": [4.0]}


class Candidate:
    """What the gateway would bring back of it."""

    def __init__(self) -> None:
        self.value = 4.0
        self.fails: InferenceFailed | None = None
        self.asked: list[str] = []

    async def __call__(self, _: Any, target: Target, call: Call, timeout_s: float) -> Answer:
        assert timeout_s <= asking.CASE_S
        self.asked.append(f"{target.deployment} {call.path}")
        if self.fails is not None:
            raise self.fails
        raw = np.array([self.value], "<f4").tobytes()
        return Answer((Tensor("y", "FP32", (1,), raw),), "1", 100.0, None, target.deployment)


@pytest.fixture
def candidate(monkeypatch: pytest.MonkeyPatch) -> Candidate:
    blue_and_green()
    keys_create(Endpoint.objects.get())
    made = Candidate()
    monkeypatch.setattr(asking, "infer_http", made)
    return made


def golden(name: str = "two", **changes: Any) -> SavedCase:
    fields = {"id": name, "name": name, "model": "digits", "inputs": [INPUT], **changes}
    return SavedCase.objects.create(**{"expected": [EXPECTED], "created_by": "dora", **fields})


def begin(api: APIClient, **changes: Any) -> Any:
    return api.post(ROLLOUTS, PLAN | changes, format="json")


def later(after_s: float) -> datetime:
    return datetime.fromtimestamp(Rollout.objects.get().memory["since"] + after_s, UTC)


def look(after_s: float, **arms: tuple[int, int]) -> None:
    now = later(after_s)
    counted(now.timestamp(), **arms)
    rollouts_look(now=now)


def test_a_candidate_that_answers_otherwise_gets_no_traffic(
    api: APIClient, candidate: Candidate
) -> None:
    golden()
    candidate.value = 5.0
    refused = begin(api)
    assert (refused.status_code, refused.json()["code"]) == (409, "GoldenCasesFailed")
    assert refused.json()["detail"] == (
        "green answers 1 of 1 golden cases otherwise than expected: 'two' of digits, y 1 of 1 "
        "values differ [0]: 5, expected 4 ± 0.000401. It has not been given traffic."
    )
    assert any("--without golden" in hint for hint in refused.json()["hints"])
    assert not Rollout.objects.exists()
    assert Endpoint.objects.get().traffic == {"blue": 100}
    assert begin(api, guardrails={"golden": {"tolerance": 1}}).status_code == 201


def test_one_that_is_not_looked_at_is_not_asked(api: APIClient, candidate: Candidate) -> None:
    golden()
    candidate.value = 5.0
    begun = begin(api, guardrails={"golden": None})
    assert begun.status_code == 201, begun.content
    assert candidate.asked == []
    assert rollouts_due(now=later(1)) == 0


def test_without_golden_cases_nobody_is_asked_and_nothing_waits(
    api: APIClient, candidate: Candidate
) -> None:
    golden("plain", expected=[])
    golden("other", model="net")
    begun = begin(api).json()
    assert begun["golden"]["cases"] == 0
    assert not begun["answers_checked"]
    look(61, blue=(900, 0), green=(100, 0))
    assert Endpoint.objects.get().traffic == {"blue": 50, "green": 50}
    assert candidate.asked == []


def test_each_step_waits_until_it_has_answered_in_it(api: APIClient, candidate: Candidate) -> None:
    golden()
    begun = begin(api).json()
    assert begun["golden"] | {"at": 0} == {"at": 0, "cases": 1, "wrong": [], "unanswered": []}
    assert begun["answers_checked"]
    assert candidate.asked == ["green v2/models/digits/infer"]
    look(61, blue=(900, 0), green=(100, 0))
    assert Rollout.objects.get().judgement["cause"] == "golden_waits"
    assert rollouts_due(now=later(62)) == 1
    assert rollout_ask(Rollout.objects.get().pk, now=later(62))
    assert not rollout_ask(Rollout.objects.get().pk, now=later(63)), "asked a second ago"
    look(64, blue=(9, 0), green=(1, 0))
    assert Endpoint.objects.get().traffic == {"blue": 50, "green": 50}
    assert rollouts_due(now=later(1)) == 1, "a new step"


def test_one_that_changes_its_answers_is_withdrawn_with_the_difference(
    api: APIClient, candidate: Candidate
) -> None:
    golden()
    begin(api)
    candidate.value = 5.0
    assert rollout_ask(Rollout.objects.get().pk, now=later(5))
    look(6, blue=(90, 0), green=(10, 0))
    shown = api.get(ROLLOUTS).json()["items"][0]
    assert (shown["state"], shown["cause"]) == ("Withdrawn", "golden")
    assert "'two' of digits, y 1 of 1 values differ [0]: 5, expected 4" in shown["reason"]
    assert shown["reason"].endswith("Withdrawn, back to blue 100 %.")
    assert shown["figures"][-1]["counts"] == "cases"
    assert Endpoint.objects.get().traffic == {"blue": 100}
    assert "'two' of digits" in Event.objects.get(verb="rollout.withdrawn").message
    assert not rollout_ask(shown["id"], now=later(100)), "it has ended"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InferenceFailed("Busy", "Too many.", status=429, deployment="green"), "Too many (429)"),
        (InferenceFailed("NotFound", "No route.", status=404), "No route (404)"),
        (InferenceFailed("GatewayUnreachable", "It is away."), "It is away"),
    ],
)
def test_what_is_not_answered_is_told_and_not_taken_for_wrong(
    api: APIClient, candidate: Candidate, error: InferenceFailed, text: str
) -> None:
    golden()
    candidate.fails = error
    begun = begin(api)
    assert begun.status_code == 201, begun.content
    assert begun.json()["golden"]["unanswered"] == [f"'two' of digits, {text}"]
    rollout_ask(begun.json()["id"], now=later(1))
    look(61, blue=(900, 0), green=(100, 0))
    shown = api.get(ROLLOUTS).json()["items"][0]
    assert (shown["state"], shown["cause"]) == ("Running", "golden_waits")
    assert text in shown["reason"]
    assert Event.objects.filter(verb="rollout.held").count() == 1


def test_after_a_time_out_no_further_case_is_asked_and_the_next_try_is_later(
    api: APIClient, candidate: Candidate
) -> None:
    golden("one")
    golden("two")
    candidate.fails = InferenceFailed("GatewayUnreachable", "It took too long.")
    begun = begin(api).json()
    assert candidate.asked == ["green v2/models/digits/infer"]
    assert begun["golden"]["unanswered"] == [
        "'one' of digits, It took too long",
        "'two' of digits, it was not asked",
    ]
    assert rollout_ask(begun["id"], now=later(5))
    assert rollouts_due(now=later(70)) == 0
    assert rollouts_due(now=later(606)) == 1


def test_a_refusal_of_the_candidate_is_wrong(api: APIClient, candidate: Candidate) -> None:
    golden()
    candidate.fails = InferenceFailed(
        "InvalidInput", "unexpected shape", status=400, deployment="green"
    )
    assert "unexpected shape (400)" in begin(api).json()["detail"]


def test_one_that_sleeps_is_not_woken(api: APIClient, candidate: Candidate) -> None:
    golden()
    begin(api)
    candidate.asked.clear()
    Deployment.objects.filter(name="green").update(
        instance_count=0, autoscale={"enabled": True, "min": 0, "max": 1}
    )
    assert Deployment.objects.get(name="green").idle_rule is not None
    assert not rollout_ask(Rollout.objects.get().pk, now=later(5))
    look(61, blue=(900, 0), green=(100, 0))
    assert "green is asleep" in Rollout.objects.get().judgement["reason"]
    assert candidate.asked == []


def test_one_that_is_being_woken_is_asked_once_it_is_awake(
    api: APIClient, candidate: Candidate
) -> None:
    golden()
    begin(api)
    candidate.asked.clear()
    green = Deployment.objects.filter(name="green")
    green.update(instance_count=0, autoscale={"enabled": True, "min": 0, "max": 1})
    operation = scaling_open(green.get(), 1, "autoscaler", later(4), idle=True)
    rollout = Rollout.objects.get().pk
    assert not rollout_ask(rollout, now=later(5))
    assert candidate.asked == []
    operation.state, operation.finished_at = "Succeeded", later(6)
    operation.save()
    assert rollout_ask(rollout, now=later(7))


def test_of_two_jobs_one_asks(
    api: APIClient, candidate: Candidate, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden()
    begin(api)
    rollout = Rollout.objects.get().pk
    taken = rollouts.candidate_awake

    def overtaken(row: Rollout) -> Any:
        Rollout.objects.update(golden_asked_at=later(4))
        return taken(row)

    monkeypatch.setattr(rollouts, "candidate_awake", overtaken)
    candidate.asked.clear()
    assert not rollout_ask(rollout, now=later(5))
    assert candidate.asked == []
