"""Both versions of a rollout asked the same inputs, at a pace, by one process at a time."""

import time

import pytest
from rest_framework.test import APIClient

from controlplane.console.inference import InferenceFailed
from controlplane.console.models import SavedCase
from controlplane.deployments.models import Endpoint
from controlplane.golden.comparisons import comparison_ask, comparisons_due
from controlplane.metrics.selectors import own_requests_key
from controlplane.operations.models import Rollout
from controlplane.operations.services import rollouts_look
from controlplane.registry.models import RepoModel
from tests.support.compared_versions import Versions, begin, later, shown, versions_of
from tests.support.gateway_counts import counted
from wire.own_requests import is_signed

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
INPUT = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1.0, 2.0]}


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> Versions:
    return versions_of(monkeypatch)


def test_nobody_is_asked_unless_somebody_wants_it(api: APIClient, versions: Versions) -> None:
    rollout = begin(api, compare=None)
    assert comparisons_due(now=later(5)) == 0
    assert not comparison_ask(rollout, now=later(5))
    assert (versions.asked, shown(api)["compare"], shown(api)["compared"]) == ([], None, None)


def test_both_answer_and_the_stable_version_is_compared_with_itself(
    api: APIClient, versions: Versions
) -> None:
    rollout = begin(api)
    assert comparisons_due(now=later(5)) == 1
    assert comparison_ask(rollout, now=later(5))
    assert versions.asked == ["blue", "green", *["blue"] * 4]
    assert not comparison_ask(rollout, now=later(15)), "it is not time"
    assert comparison_ask(rollout, now=later(25))
    rollouts_look(now=later(26))
    (figure,) = [one for one in shown(api)["figures"] if one["measure"] == "answers"]
    assert [figure[key] for key in ("bad", "of", "stable_bad", "stable_of")] == [0, 11, 0, 44]
    assert shown(api)["compare"]["by"] == "values"


def test_a_candidate_that_answers_otherwise_is_withdrawn(
    api: APIClient, versions: Versions
) -> None:
    versions.scores["green"] = [0.2, 0.8]
    rollout = begin(api)
    comparison_ask(rollout, now=later(5))
    comparison_ask(rollout, now=later(65))
    assert versions.asked.count("green") == 5, "no more than it takes"
    rollouts_look(now=later(66))
    found = shown(api)
    assert (found["state"], found["cause"]) == ("Withdrawn", "answers")
    assert "green answered 5 of 5 inputs otherwise" in found["reason"]
    assert "2 of 2 values differ" in found["compared"]["example"]
    assert Endpoint.objects.get().traffic == {"blue": 100}
    assert not comparison_ask(rollout, now=later(200)), "it has ended"


def test_gateways_can_tell_that_they_are_of_no_client(api: APIClient, versions: Versions) -> None:
    comparison_ask(begin(api), now=later(5))
    ids = [call.request_id for call in versions.calls]
    assert len(set(ids)) == 6
    now = time.time()
    assert all(is_signed(own_requests_key(), "digits", one, now) for one in ids)


def test_by_the_best_class_other_scores_are_the_same_answer(
    api: APIClient, versions: Versions
) -> None:
    versions.scores["green"] = [0.4, 0.6]
    rollout = begin(api, compare={"per_minute": 30, "by": "best_class"})
    comparison_ask(rollout, now=later(5))
    assert Rollout.objects.get().compared["candidate"] == [0, 1]
    versions.scores["green"] = [0.6, 0.4]
    comparison_ask(rollout, now=later(30))
    assert "1 of 1 best classes differ" in Rollout.objects.get().compared["example"]


def test_what_the_stable_version_refuses_is_never_asked_of_the_candidate(
    api: APIClient, versions: Versions
) -> None:
    SavedCase.objects.create(id="c", name="two", model="digits", inputs=[INPUT], created_by="dora")
    versions.fails["blue"] = InferenceFailed("InvalidInput", "no", status=400, deployment="blue")
    rollout = begin(api)
    for at in (5, 30, 60):
        comparison_ask(rollout, now=later(at))
    assert versions.asked == ["blue", "blue"], "the saved one and a random one, once"
    assert set(Rollout.objects.get().compared["refused"]) == {"digits", "digits/two"}
    assert shown(api)["compared"]["unanswered"] == 2


@pytest.mark.parametrize(
    ("silent", "error"),
    [
        ("blue", InferenceFailed("GatewayUnreachable", "It is away.")),
        ("green", InferenceFailed("GatewayUnreachable", "It is away.")),
        ("blue", InferenceFailed("InferenceFailed", "oh", status=500, deployment="blue")),
    ],
)
def test_what_is_not_answered_says_nothing(
    api: APIClient, versions: Versions, silent: str, error: InferenceFailed
) -> None:
    versions.fails[silent] = error
    comparison_ask(begin(api), now=later(5))
    kept = Rollout.objects.get().compared
    assert (kept["unanswered"], kept["candidate"], kept["refused"]) == (1, [0, 0], [])


def test_a_refusal_of_the_candidate_alone_is_another_answer(
    api: APIClient, versions: Versions
) -> None:
    versions.fails["green"] = InferenceFailed("InvalidInput", "no", status=400, deployment="green")
    comparison_ask(begin(api), now=later(5))
    kept = Rollout.objects.get().compared
    assert kept["candidate"] == [1, 1]
    assert "no (400)" in kept["example"]


def test_a_model_that_cannot_be_asked_at_random_and_has_no_case_is_left_alone(
    api: APIClient, versions: Versions
) -> None:
    RepoModel.objects.update(decoupled=True)
    assert comparison_ask(begin(api), now=later(5))
    assert versions.asked == []
    assert Rollout.objects.get().compared["candidate"] == [0, 0]


def test_a_switch_waits_until_both_have_answered_enough(api: APIClient, versions: Versions) -> None:
    steps = [{"percent": 0, "hold_s": 5}, {"percent": 100, "hold_s": 600}]
    rollout = begin(api, strategy="blue_green", steps=steps, min_requests=8)
    comparison_ask(rollout, now=later(5))
    counted(later(10).timestamp(), blue=(100, 0))
    rollouts_look(now=later(10))
    found = shown(api)
    assert (found["state"], found["cause"], found["missing_requests"]) == (
        "Running",
        "too_few_inputs",
        7,
    )
    assert found["reason"].startswith("1 of 8 inputs were answered by both versions: 7 are missing")
    assert Endpoint.objects.get().traffic == {"blue": 100}
    comparison_ask(rollout, now=later(26))
    counted(later(30).timestamp(), blue=(100, 0))
    rollouts_look(now=later(30))
    assert Endpoint.objects.get().traffic == {"green": 100}
