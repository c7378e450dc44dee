"""Rollouts of traffic: what is decided is carried out, once; what people may do meanwhile."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.operations.models import Operation, Rollout
from controlplane.operations.services import operations_prune, rollout_looks, rollouts_look
from controlplane.operations.services.starting import scaling_open
from tests.support.gateway_counts import counted
from tests.support.placed_replicas import blue_and_green

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
ROLLOUTS = f"{DIGITS}/rollouts"
PLAN: dict[str, Any] = {
    "deployment": "green",
    "steps": [{"percent": 10, "hold_s": 60}, {"percent": 50, "hold_s": 60}, {"percent": 100}],
    "min_requests": 100,
}


@pytest.fixture
def ready(db: None) -> None:
    blue_and_green()


@pytest.fixture
def begun(api: APIClient, ready: None) -> str:
    """The path of a rollout that is under way."""
    answer = api.post(ROLLOUTS, PLAN, format="json")
    assert answer.status_code == 201, answer.content
    return f"{ROLLOUTS}/{answer.json()['id']}"


def look(after_s: float = 1.0, **arms: tuple[int, int]) -> datetime:
    """What gateways counted, and a look at it so long after the step began."""
    row = Rollout.objects.get()
    now = datetime.fromtimestamp(row.memory["since"] + after_s, UTC)
    counted(now.timestamp(), **arms)
    rollouts_look(now=now)
    return now


def traffic() -> dict[str, int]:
    return dict(Endpoint.objects.get().traffic)


def verbs() -> list[str]:
    return list(
        Event.objects.filter(verb__startswith="rollout.")
        .order_by("seq")
        .values_list("verb", flat=True)
    )


def test_what_was_looked_at_a_moment_ago_is_left(begun: str) -> None:
    first = look(2, blue=(450, 0), green=(50, 0))
    for after_s, judged in ((0.1, first), (0.3, first + timedelta(seconds=0.3))):
        now = first + timedelta(seconds=after_s)
        rollouts_look(now=now, unless_within_s=0.2)
        assert Rollout.objects.get().judged_at == judged
    rollouts_look(now=first - timedelta(hours=1), unless_within_s=0.2)  # the clock was set back
    assert Rollout.objects.get().judged_at == first - timedelta(hours=1)


def test_it_goes_step_by_step_to_all_of_the_traffic(api: APIClient, begun: str) -> None:
    assert traffic() == {"blue": 90, "green": 10}
    look(2, blue=(450, 0), green=(50, 0))
    shown = api.get(begun).json()
    assert (shown["state"], shown["percent"], shown["missing_requests"]) == ("Running", 10, 50)
    assert shown["cause"] == "too_few_requests"
    assert "50 are missing" in shown["reason"]
    assert [stage["status"] for stage in shown["stages"]] == ["running", "pending", "pending"]
    assert shown["stages"][0]["requests"] == 50
    look(61, blue=(450, 1), green=(50, 0))
    assert traffic() == {"blue": 50, "green": 50}
    shown = api.get(begun).json()
    assert [stage["status"] for stage in shown["stages"]] == ["succeeded", "running", "pending"]
    assert [stage["requests"] for stage in shown["stages"]] == [100, 0, 0]
    look(61, blue=(200, 0), green=(200, 0))
    assert traffic() == {"green": 100}
    shown = api.get(begun).json()
    assert (shown["state"], shown["percent"], shown["ended_by"]) == ("Succeeded", 100, "rollout")
    assert {stage["status"] for stage in shown["stages"]} == {"succeeded"}
    assert verbs() == ["rollout.started", "rollout.step", "rollout.succeeded"]
    assert rollouts_look(now=timezone.now()) == 0


def test_a_candidate_that_fails_is_withdrawn_with_the_figure(api: APIClient, begun: str) -> None:
    look(2, blue=(900, 1), green=(100, 12))
    assert traffic() == {"blue": 100}
    shown = api.get(begun).json()
    assert (shown["state"], shown["cause"]) == ("Withdrawn", "errors")
    assert shown["reason"].startswith(
        "12.0 % of green's requests failed (12 of 100), of the stable"
    )
    assert shown["reason"].endswith("Withdrawn, back to blue 100 %.")
    assert shown["figures"][0]["confidence"] > 0.993
    event = Event.objects.get(verb="rollout.withdrawn")
    assert (event.severity, event.actor, event.data["cause"]) == ("error", "rollout", "errors")
    assert "12 of 100" in event.message
    assert [stage["status"] for stage in shown["stages"]] == ["failed", "canceled", "canceled"]


def test_a_stable_version_that_fails_as_often_withdraws_nobody(begun: str) -> None:
    look(2, blue=(900, 300), green=(100, 33))
    assert Rollout.objects.get().state == "Running"


def test_it_holds_where_gateways_are_silent_and_says_so_once(api: APIClient, begun: str) -> None:
    look(2, blue=(900, 0), green=(200, 0))
    for later in (70, 75):
        look(later)
    shown = api.get(begun).json()
    assert (shown["state"], shown["cause"]) == ("Running", "no_samples")
    assert verbs() == ["rollout.started", "rollout.held"]
    look(80, blue=(9, 0), green=(1, 0))
    assert traffic() == {"blue": 50, "green": 50}


def test_a_candidate_without_a_ready_replica_is_withdrawn(begun: str) -> None:
    Replica.objects.filter(deployment__name="green").update(state="failed")
    look(2)
    row = Rollout.objects.get()
    assert (row.state, row.outcome) == ("Withdrawn", "not_ready")
    assert traffic() == {"blue": 100}


def waking(api: APIClient) -> None:
    """A rollout of a green that is at zero, and that its first request has just woken."""
    green = Deployment.objects.filter(name="green")
    policy = {"enabled": True, "min": 0, "max": 1, "idle": {"hold_s": 30}}
    green.update(instance_count=0, autoscale=policy)
    Replica.objects.filter(deployment__name="green").update(desired="stopped", state="stopped")
    body = {**PLAN, "guardrails": {"golden": None}}
    assert api.post(ROLLOUTS, body, format="json").status_code == 201
    scaling_open(green.get(), 1, "autoscaler", timezone.now(), idle=True)
    Replica.objects.filter(deployment__name="green").update(desired="running", state="loading")


def test_a_candidate_that_its_first_request_wakes_is_waited_for(
    api: APIClient, ready: None
) -> None:
    waking(api)
    assert Deployment.objects.get(name="green").instance_count == 1
    for after_s in (1, 20):
        look(after_s, blue=(90, 0))
    row = Rollout.objects.get()
    assert (row.state, row.judgement["cause"]) == ("Running", "too_few_requests")
    Replica.objects.filter(deployment__name="green").update(state="ready")
    Operation.objects.update(state="Succeeded", finished_at=timezone.now())
    look(61, blue=(900, 0), green=(100, 0))
    assert traffic() == {"blue": 50, "green": 50}


def test_a_candidate_that_does_not_wake_while_requests_wait_is_withdrawn(
    api: APIClient, ready: None
) -> None:
    waking(api)
    look(32, blue=(90, 0))
    row = Rollout.objects.get()
    assert (row.state, row.outcome, traffic()) == ("Withdrawn", "not_ready", {"blue": 100})
    assert "is being woken for 3" in row.reason
    assert "a request waits 30 s at most" in row.reason


def test_a_candidate_whose_waking_failed_is_withdrawn_at_once(api: APIClient, ready: None) -> None:
    waking(api)
    Operation.objects.update(state="Failed", finished_at=timezone.now())
    Replica.objects.filter(deployment__name="green").update(state="failed")
    look(2, blue=(90, 0))
    assert Rollout.objects.get().outcome == "not_ready"


def test_restarts_count_from_its_begin(api: APIClient, ready: None) -> None:
    Replica.objects.filter(deployment__name="green").update(attempts=7)
    api.post(ROLLOUTS, PLAN, format="json")
    look(2, blue=(90, 0), green=(10, 0))
    assert Rollout.objects.get().state == "Running"
    Replica.objects.filter(deployment__name="green").update(attempts=9)
    look(4, blue=(90, 0), green=(10, 0))
    row = Rollout.objects.get()
    assert (row.state, row.outcome) == ("Withdrawn", "restarts")


def test_a_candidate_that_runs_something_else_is_another(begun: str) -> None:
    deployment = Deployment.objects.select_related("revision").get(name="green")
    deployment.revision.number += 1
    deployment.revision.save()
    look(2)
    assert Rollout.objects.get().outcome == "changed"


def test_what_two_processes_decide_at_once_is_done_once(
    begun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second has read the row before the first wrote it."""
    read = list(Rollout.objects.select_related("endpoint"))
    monkeypatch.setattr(rollout_looks, "rollouts_active", lambda: read)
    look(61, blue=(900, 0), green=(100, 0))
    assert traffic() == {"blue": 50, "green": 50}
    rollouts_look(now=timezone.now() + timedelta(seconds=61))
    assert traffic() == {"blue": 50, "green": 50}
    assert (verbs(), Rollout.objects.get().number) == (["rollout.started", "rollout.step"], 1)


def test_one_that_cannot_be_judged_keeps_nobody_from_it(
    begun: str, caplog: pytest.LogCaptureFixture
) -> None:
    plan = Rollout.objects.get().plan
    Rollout.objects.update(plan={})
    assert rollouts_look(now=timezone.now()) == 1
    assert "the next look tries again" in caplog.text
    Rollout.objects.update(plan=plan)
    look(61, blue=(900, 0), green=(100, 0))
    assert traffic() == {"blue": 50, "green": 50}


def test_people_pause_resume_promote_and_abort(api: APIClient, begun: str) -> None:
    for _ in range(2):  # twice is the same
        paused = api.post(f"{begun}/pause").json()
        assert (paused["state"], paused["paused_by"]) == ("Paused", "dora")
    look(61, blue=(900, 0), green=(100, 0))
    assert api.get(begun).json()["cause"] == "paused"
    assert traffic() == {"blue": 90, "green": 10}
    assert api.post(f"{begun}/resume").json()["state"] == "Running"
    look(62, blue=(90, 0), green=(10, 0))
    assert traffic() == {"blue": 50, "green": 50}
    ended = api.post(f"{begun}/promote").json()
    assert (ended["state"], ended["cause"], ended["percent"]) == ("Succeeded", "promoted", 100)
    for action in ("pause", "resume", "promote", "abort"):
        refused = api.post(f"{begun}/{action}")
        assert (refused.status_code, refused.json()["code"]) == (409, "RolloutFinished")
    assert verbs() == [
        "rollout.started", "rollout.paused", "rollout.resumed", "rollout.step", "rollout.succeeded",
    ]  # fmt: skip


def test_an_abort_goes_back_to_what_was(api: APIClient, begun: str) -> None:
    look(61, blue=(900, 0), green=(100, 0))
    ended = api.post(f"{begun}/abort").json()
    assert (ended["state"], ended["ended_by"], traffic()) == ("Aborted", "dora", {"blue": 100})


def test_a_paused_one_is_withdrawn_nevertheless(api: APIClient, begun: str) -> None:
    api.post(f"{begun}/pause")
    look(2, blue=(900, 0), green=(100, 20))
    assert (Rollout.objects.get().state, traffic()) == ("Withdrawn", {"blue": 100})


def test_what_is_not_ready_is_not_promoted(api: APIClient, begun: str) -> None:
    Replica.objects.filter(deployment__name="green").update(state="failed")
    refused = api.post(f"{begun}/promote")
    assert (refused.status_code, refused.json()["code"]) == (400, "TrafficInvalid")
    assert traffic() == {"blue": 90, "green": 10}


MOVES: list[tuple[str, str, dict[str, Any]]] = [
    ("put", f"{DIGITS}/traffic", {"traffic": {"blue": 100}}),
    ("patch", f"{DIGITS}/traffic", {"traffic": {"blue": 80, "green": 20}}),
    ("patch", DIGITS, {"traffic": {"blue": 100}}),
    ("post", "/api/v1/deploy", {"model": "digits", "endpoint": "digits", "deployment": "teal"}),
    ("post", f"{DIGITS}/deployments", {"name": "teal", "model": "digits", "traffic": 10}),
    ("post", ROLLOUTS, {"deployment": "green", "steps": [{"percent": 100}]}),
]


@pytest.mark.parametrize(("method", "path", "body"), MOVES)
def test_nothing_else_moves_the_traffic_meanwhile_or_ends_it(
    api: APIClient, begun: str, method: str, path: str, body: dict[str, Any]
) -> None:
    ask = getattr(api, method)
    refused = ask(path, body, format="json")
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "RolloutInProgress")
    assert problem["rollout_url"] == begun
    assert "10 % of the traffic" in problem["detail"]
    taken = ask(f"{path}?supersede=true", body, format="json")
    assert taken.status_code < 300, taken.content
    row = Rollout.objects.order_by("created_at").first()
    assert row is not None
    assert (row.state, row.ended_by) == ("Superseded", "dora")


def test_a_deployment_of_it_is_not_deleted_and_others_are_not_in_its_way(
    api: APIClient, begun: str
) -> None:
    for name in ("blue", "green"):
        refused = api.delete(f"{DIGITS}/deployments/{name}?force=true")
        assert (refused.status_code, refused.json()["code"]) == (409, "RolloutInProgress")
        assert f"{name} is part of a rollout" in refused.json()["detail"]
        scaled = api.post(
            f"{DIGITS}/deployments/{name}/scale", {"instance_count": 2}, format="json"
        )
        assert scaled.status_code == 202, scaled.content
    assert Rollout.objects.get().state == "Running"


def test_it_goes_with_its_endpoint(api: APIClient, begun: str) -> None:
    assert api.delete(DIGITS).status_code == 202
    assert Rollout.objects.get().state == "Superseded"


def test_traffic_that_changed_by_another_way_ends_it(begun: str) -> None:
    Endpoint.objects.update(traffic={"blue": 60, "green": 40})
    look(2, blue=(900, 0), green=(100, 0))
    row = Rollout.objects.get()
    assert (row.state, row.outcome) == ("Superseded", "traffic_changed")
    assert traffic() == {"blue": 60, "green": 40}


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ({"deployment": "teal"}, "DeploymentNotFound", "teal"),
        ({"deployment": "blue"}, "RolloutInvalid", "no other deployment with traffic"),
        ({"deployment": "green", "steps": [{"percent": 5}]}, "BadArgument", "the last is 100"),
        ({"deployment": "green", "guardrails": {"mood": {}}}, "BadArgument", "mood"),
        ({"deployment": "green", "guardrails": {"errors": {"confidence": 2}}}, "BadArgument", "2;"),
    ],
)
def test_what_cannot_be_rolled_out(
    api: APIClient, ready: None, body: dict[str, Any], code: str, text: str
) -> None:
    refused = api.post(ROLLOUTS, body, format="json")
    assert refused.json()["code"] == code, refused.content
    assert text in str(refused.json())
    assert traffic() == {"blue": 100}


def test_a_candidate_that_is_not_ready_or_has_more_already(api: APIClient, ready: None) -> None:
    api.put(f"{DIGITS}/traffic", {"traffic": {"blue": 80, "green": 20}}, format="json")
    refused = api.post(ROLLOUTS, PLAN, format="json")
    assert (refused.json()["code"], refused.json()["field"]) == ("RolloutInvalid", "steps")
    Replica.objects.filter(deployment__name="green").update(state="failed")
    refused = api.post(
        ROLLOUTS, {**PLAN, "steps": [{"percent": 50}, {"percent": 100}]}, format="json"
    )
    assert refused.json()["code"] == "TrafficInvalid"


def test_one_who_has_not_seen_the_endpoint_as_it_is_starts_none(
    api: APIClient, ready: None
) -> None:
    refused = api.post(ROLLOUTS, PLAN, format="json", headers={"If-Match": '"old"'})
    assert refused.status_code == 412
    assert not Rollout.objects.exists()


def test_guardrails_may_be_left_out_and_the_rest_keeps_its_defaults(
    api: APIClient, ready: None
) -> None:
    body = {"deployment": "green", "guardrails": {"errors": None, "restarts": {"tolerance": 3}}}
    shown = api.post(ROLLOUTS, body, format="json").json()
    assert shown["guardrails"]["errors"] is None
    assert shown["guardrails"]["restarts"] == {"tolerance": 3.0, "confidence": None}
    assert [stage["percent"] for stage in shown["stages"]] == [1, 10, 50, 100]
    assert api.get(ROLLOUTS).json()["items"][0]["id"] == shown["id"]


def test_ended_ones_are_dropped_with_operations(api: APIClient, begun: str) -> None:
    api.post(f"{begun}/abort")
    operations_prune(now=timezone.now() + timedelta(days=3))
    assert Rollout.objects.exists()
    operations_prune(now=timezone.now() + timedelta(days=4000))
    assert not Rollout.objects.exists()


@pytest.mark.parametrize("jump_s", [-3600, -3])
def test_a_clock_that_is_set_back_neither_steps_nor_withdraws(begun: str, jump_s: float) -> None:
    look(2, blue=(450, 0), green=(50, 0))
    look(jump_s, blue=(450, 0), green=(20, 0))
    assert (Rollout.objects.get().state, traffic()) == ("Running", {"blue": 90, "green": 10})
    look(61, blue=(450, 0), green=(150, 0))
    assert traffic() == {"blue": 50, "green": 50}
