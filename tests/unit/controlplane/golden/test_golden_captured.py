"""Captured requests of the stable version, asked again in a rollout."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.capture.models import CapturedFile
from controlplane.capture.services import _store
from controlplane.console.inference import InferenceFailed
from controlplane.core.models import Event
from controlplane.deployments.capturing import Capture, capture_to_json
from controlplane.deployments.models import Deployment
from controlplane.golden import captured
from controlplane.golden.comparisons import comparison_ask
from controlplane.operations.models import Rollout
from controlplane.operations.services import rollouts_look
from tests.support.compared_versions import (
    PLAN,
    ROLLOUTS,
    Versions,
    begin,
    later,
    shown,
    versions_of,
)
from tests.support.deployment_rows import deployment_add
from tests.support.people import make_user
from tests.support.registered_models import model_register
from wire.own_requests import COMPARISON

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
COMPARE = {"per_minute": 30, "sources": ["captured"]}
SECRET = 4711.5


def record(value: float = SECRET, **changes: Any) -> dict[str, Any]:
    image = {"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8], "data": [value] * 64}
    return {"time": "2026-11-27T06:00:00+00:00", "id": "", "model": "digits", "inputs": [image],
            "outputs": [], **changes}  # fmt: skip


def kept(file_id: str, *records: Any, deployment: str = "blue", hours: float = 1.0) -> None:
    """A captured file, as if a node had sent it so long ago."""
    content = b"".join(json.dumps(one).encode() + b"\n" for one in records)
    at = timezone.now() - timedelta(hours=hours)
    CapturedFile.objects.create(
        id=file_id,
        deployment=Deployment.objects.get(name=deployment, endpoint__name="digits"),
        replica="r",
        size=len(content),
        records=len(records),
        first_at=at,
        last_at=at,
        expires_at=timezone.now() + timedelta(days=1),
    )
    _store(file_id, content)


def captures(deployment: str = "blue", **said: Any) -> None:
    revision = Deployment.objects.get(name=deployment).revision
    revision.spec["capture"] = capture_to_json(Capture(**said))
    revision.save()


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch, stores: Any) -> Versions:
    found = versions_of(monkeypatch)
    captures()
    return found


def told(api: APIClient) -> str:
    return str(shown(api)["compared"]["captured"])


def test_what_clients_asked_is_asked_of_both_and_counted_apart(
    api: APIClient, versions: Versions
) -> None:
    kept("f" * 32, *[record(float(number)) for number in range(3)], record(id=COMPARISON))
    rollout = begin(api, compare=COMPARE)
    comparison_ask(rollout, now=later(5))
    comparison_ask(rollout, now=later(65))
    assert versions.asked == ["blue", "green", *["blue"] * 4] * 3, "each of them once"
    assert {call.id for call in versions.calls} == {COMPARISON}
    found = shown(api)["compared"]
    assert found["sources"] == [{"source": "captured", "inputs": 3, "differing": 0}]
    assert told(api) == (
        "3 captured requests were compared: 197 are missing before 5 % of other answers are likely "
        "to be noticed. Of what blue has captured in the last 24 h nothing more can be asked."
    )
    (event,) = Event.objects.filter(verb="capture.asked_again")
    assert (event.subject, event.data["rollout"]) == ("endpoint/digits", rollout)


def test_that_they_are_asked_is_told_once_and_not_where_others_had_their_turn(
    api: APIClient, versions: Versions
) -> None:
    kept("f" * 32, *[record(float(number)) for number in range(9)])
    rollout = begin(api, compare={"per_minute": 3, "sources": ["random", "captured"]})
    events = Event.objects.filter(verb="capture.asked_again")
    asked = []
    for look in range(1, 9):
        comparison_ask(rollout, now=later(21 * look))
        asked.append(events.count())
    found = shown(api)["compared"]["sources"]
    assert {one["source"]: one["inputs"] > 0 for one in found} == {"random": True, "captured": True}
    assert set(asked) <= {0, 1}
    assert asked[-1] == 1


def test_a_candidate_that_answers_clients_otherwise_is_withdrawn_and_tells_no_values(
    api: APIClient, versions: Versions
) -> None:
    kept("f" * 32, *[record()] * 9)
    versions.scores["green"] = [0.25, 0.75]
    rollout = begin(api, compare=COMPARE)
    comparison_ask(rollout, now=later(5))
    comparison_ask(rollout, now=later(65))
    rollouts_look(now=later(66))
    found = shown(api)
    assert (found["state"], found["cause"]) == ("Withdrawn", "answers")
    assert found["compared"]["example"] == "a captured request to digits: y differs"
    everything = json.dumps(found) + "".join(Event.objects.values_list("message", flat=True))
    assert "0.25" not in everything
    (first, *rest) = api.get(f"{ROLLOUTS}/{rollout}/differences").json()["items"]
    assert (first["source"], first["file"], first["kept"]) == ("captured", "f" * 32, True)
    assert "2 of 2 values differ" in first["text"]
    assert "0.25" in first["text"]
    assert len({one["line"] for one in (first, *rest)}) == 5
    CapturedFile.objects.all().delete()
    again = api.get(f"{ROLLOUTS}/{rollout}/differences").json()["items"]
    assert {one["kept"] for one in again} == {False}
    assert str(SECRET) not in json.dumps(again), "inputs are in their file alone"


def test_differences_are_for_those_who_may_read_captured_data(
    api: APIClient, versions: Versions
) -> None:
    rollout = begin(api)
    for role, status in ((User.Role.VIEWER, 403), (User.Role.DEPLOYER, 200)):
        person = APIClient()
        person.force_authenticate(make_user(f"u-{role}", role=role))
        assert person.get(f"{ROLLOUTS}/{rollout}/differences").status_code == status


def test_a_refusal_is_told_without_its_words(api: APIClient, versions: Versions) -> None:
    kept("f" * 32, record())
    refused = InferenceFailed("InvalidInput", "no 4711.5", status=400, deployment="green")
    versions.fails["green"] = refused
    comparison_ask(begin(api, compare=COMPARE), now=later(5))
    assert shown(api)["compared"]["example"] == (
        "a captured request to digits: it was refused (400)"
    )


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"collections": ("model_outputs",)}, "blue captures no inputs."),
        ({"hash": ("image",)}, "1 have hashed fields"),
        ({}, "blue has captured nothing in the last 24 h."),
    ],
)
def test_why_nothing_can_be_asked_is_said(
    api: APIClient, versions: Versions, said: dict[str, Any], text: str
) -> None:
    kept("f" * 32, record(), hours=30 if not said else 1)
    if "hash" in said:
        hashed = {**record()["inputs"][0], "hashed": True}
        kept("e" * 32, record(inputs=[hashed]))
        CapturedFile.objects.filter(pk="f" * 32).delete()
    captures(**said)
    comparison_ask(begin(api, compare={**PLAN["compare"]}), now=later(5))
    assert text in told(api)
    assert "captured" not in [one["source"] for one in shown(api)["compared"]["sources"]]


def test_no_other_deployment_s_requests_are_asked(api: APIClient, versions: Versions) -> None:
    captures("green")
    kept("f" * 32, record(), deployment="green")
    endpoint = Deployment.objects.get(name="blue").endpoint
    deployment_add(endpoint, model_register(), "teal")
    kept("e" * 32, record(), deployment="teal")
    comparison_ask(begin(api, compare=COMPARE), now=later(5))
    assert versions.asked == []
    assert "blue has captured nothing" in told(api)


def test_where_nothing_else_is_wanted_and_nothing_is_captured_it_is_refused(
    api: APIClient, versions: Versions
) -> None:
    captures(collections=("model_outputs",))
    answer = api.post(ROLLOUTS, PLAN | {"compare": COMPARE}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "NothingCaptured")
    assert not Rollout.objects.exists()


def test_what_the_stable_version_refuses_of_its_own_ends_them(
    api: APIClient, versions: Versions
) -> None:
    kept("f" * 32, *[record()] * 40)
    versions.fails["blue"] = InferenceFailed("InvalidInput", "no", status=400, deployment="blue")
    rollout = begin(api, compare=COMPARE)
    comparison_ask(rollout, now=later(5))
    comparison_ask(rollout, now=later(65))
    comparison_ask(rollout, now=later(130))
    assert versions.asked == ["blue"] * 5
    assert "blue refuses what it has captured" in told(api)


def test_a_rollout_asks_only_so_many(
    api: APIClient, versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controlplane.rollouts.captured.MOST_ASKED", 4)
    monkeypatch.setattr(captured, "MOST_ASKED", 4)
    kept("f" * 32, *[record()] * 40)
    rollout = begin(api, compare=COMPARE)
    for at in (5, 65, 130):
        comparison_ask(rollout, now=later(at))
    assert versions.asked.count("green") == 4
    assert "4 were asked, which is the most." in told(api)


def test_files_whose_bytes_are_gone_are_passed_over(api: APIClient, versions: Versions) -> None:
    kept("f" * 32, record())
    CapturedFile.objects.create(
        id="a" * 32,
        deployment=Deployment.objects.get(name="blue"),
        replica="r",
        size=3,
        records=1,
        first_at=timezone.now(),
        last_at=timezone.now(),
        expires_at=timezone.now(),
    )
    comparison_ask(begin(api, compare=COMPARE), now=later(5))
    assert versions.asked.count("green") == 1
