"""The arms of an experiment asked the same inputs: golden cases, and captured requests of each."""

import json
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import IdempotentRequest, User
from controlplane.capture.models import CapturedFile
from controlplane.capture.services import _store
from controlplane.console.inference import Answer, Call, InferenceFailed, Target
from controlplane.console.models import SavedCase
from controlplane.console.tensors import Tensor
from controlplane.core.models import Event
from controlplane.deployments.capturing import Capture, capture_to_json
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.golden import arms
from controlplane.metrics.selectors import own_requests_key
from tests.support.compared_versions import Versions, versions_of
from tests.support.people import make_user
from wire.own_requests import COMPARISON, is_signed

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ANSWERS = "/api/v1/endpoints/digits/experiment/answers"
SECRET = 4711.5
IMAGE = {"name": "image", "datatype": "FP32", "shape": [1, 1, 8, 8]}


def record(value: float, **changes: Any) -> dict[str, Any]:
    return {"time": "2026-11-27T06:00:00+00:00", "id": "", "model": "digits",
            "inputs": [IMAGE | {"data": [value] * 64}], "outputs": [], **changes}  # fmt: skip


def kept(file: str, *records: Any, deployment: str = "blue", hours: float = 1.0) -> None:
    """A captured file, as if a node had sent it so long ago."""
    content = b"".join(json.dumps(one).encode() + b"\n" for one in records)
    at = timezone.now() - timedelta(hours=hours)
    CapturedFile.objects.create(
        id=file * 32,
        deployment=Deployment.objects.get(name=deployment, endpoint__name="digits"),
        replica="r",
        size=len(content),
        records=len(records),
        first_at=at,
        last_at=at,
        expires_at=timezone.now() + timedelta(days=1),
    )
    _store(file * 32, content)


def captures(*deployments: str) -> None:
    for name in deployments:
        revision = Deployment.objects.get(name=name).revision
        revision.spec["capture"] = capture_to_json(Capture())
        revision.save()


def golden(name: str = "seven", expected: tuple[float, float] = (0.1, 0.9)) -> SavedCase:
    found = {"name": "y", "datatype": "FP32", "shape": [1, 2], "data": list(expected)}
    return SavedCase.objects.create(
        id=name,
        name=name,
        model="digits",
        inputs=[IMAGE | {"data": [0.5] * 64}],
        expected=[found],
        created_by="dora",
    )


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch, stores: Any) -> Versions:
    found = versions_of(monkeypatch)
    Endpoint.objects.update(traffic={"blue": 60, "green": 40})
    return found


def compared(api: APIClient, **asked: Any) -> dict[str, Any]:
    answer = api.post(ANSWERS, asked, format="json")
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def lacks(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["code"], one["deployment"]) for one in found["missing"]]


def test_with_nothing_to_ask_it_says_what_to_switch_on(api: APIClient, versions: Versions) -> None:
    found = compared(api)
    assert lacks(found) == [
        ("no_golden_cases", ""),
        ("no_capture", "blue"),
        ("no_capture", "green"),
    ]
    assert "shoal test save" in found["missing"][0]["text"]
    assert "`capture:`" in found["missing"][2]["text"]
    assert [one["compared"] for one in found["arms"]] == [0, 0]
    assert (versions.asked, found["differing"]) == ([], [])
    assert not Event.objects.filter(verb="capture.asked_again").exists()
    captures("blue")
    assert ("nothing_captured", "blue") in lacks(compared(api))


def test_golden_cases_and_the_newest_captured_requests_of_each_arm_are_asked_of_all(
    api: APIClient, versions: Versions
) -> None:
    golden()
    captures("blue", "green")
    ours = [record(9.0, id=COMPARISON)] * 70  # more than lines are tried for three
    kept("a", *[record(float(number)) for number in range(5)], *ours)
    kept("b", record(100.0), deployment="green")
    found = compared(api, inputs=3)
    assert found["sources"] == [
        {"source": "golden", "deployment": "", "found": 1, "asked": 1},
        {"source": "captured", "deployment": "blue", "found": 3, "asked": 3},
        {"source": "captured", "deployment": "green", "found": 1, "asked": 1},
    ]
    assert versions.asked == ["blue", "green", "blue"] * 5
    sent = [
        float(np.frombuffer(call.inputs[0].raw, "<f4")[0])
        for call, to in zip(versions.calls, versions.asked, strict=True)
        if to == "green"
    ]
    assert sent == [0.5, 4.0, 100.0, 3.0, 2.0], "in turn, the newest first, none of our own"
    assert all(
        is_signed(own_requests_key(), "digits", call.request_id, timezone.now().timestamp())
        for call in versions.calls
    )
    blue, green = found["arms"]
    assert (found["baseline"], blue["deployment"], green["deployment"]) == ("blue", "blue", "green")
    assert [(arm["compared"], arm["agreed"]) for arm in found["arms"]] == [(5, 5), (5, 5)]
    assert green["golden"] == {"cases": 1, "wrong": 0, "unanswered": 0}
    (output,) = green["outputs"]
    assert output == {
        "model": "digits", "output": "y", "compared": 5, "agreed": 5, "schema": 0,
        "schema_text": "", "largest": 0.0, "rows": 5, "best": 5,
    }  # fmt: skip
    assert (found["missing"], found["differing"]) == ([], [])
    (event,) = Event.objects.filter(verb="capture.asked_again")
    assert event.data == {"deployments": ["blue", "green"], "arms": ["blue", "green"]}


def test_what_differs_is_shown_side_by_side(api: APIClient, versions: Versions) -> None:
    golden()
    captures("green")
    kept("b", record(SECRET), deployment="green")
    versions.scores["green"] = [0.7, 0.3]
    found = compared(api)
    green = found["arms"][1]
    assert (green["compared"], green["agreed"], green["schema"]) == (2, 0, 0)
    assert green["golden"]["wrong"] == 1
    (output,) = green["outputs"]
    assert (output["rows"], output["best"], output["agreed"]) == (2, 0, 0)
    assert output["largest"] == pytest.approx(0.6)
    by_source = {one["source"]: one for one in found["differing"]}
    client = by_source["captured"]
    assert (client["captured_by"], client["file"], client["line"]) == ("green", "b" * 32, 1)
    assert client["captured_at"] == "2026-11-27T06:00:00+00:00"
    assert client["inputs"][0].startswith("image FP32 [1, 1, 8, 8]: 4711.5, 4711.5")
    assert client["outputs"] == [
        {
            "output": "y",
            "text": "2 of 2 values differ, most of all [0, 0]: 0.7, expected 0.1 ± 0.00011",
            "at": [[0, 0], [0, 1]],
            "baseline": ["0.1", "0.9"],
            "own": ["0.7", "0.3"],
        }
    ]
    assert by_source["golden"]["case"] == "seven"
    assert SavedCase.objects.get().expected[0]["data"] == [0.1, 0.9], "nothing is changed"
    everything = "".join(Event.objects.values_list("message", flat=True))
    assert str(SECRET) not in everything


def test_within_the_tolerance_they_agree(api: APIClient, versions: Versions) -> None:
    golden()
    versions.scores["green"] = [0.11, 0.89]
    assert compared(api)["arms"][1]["agreed"] == 0
    found = compared(api, absolute=0.1)
    assert found["arms"][1]["agreed"] == 1
    assert found["arms"][1]["outputs"][0]["largest"] == pytest.approx(0.01, rel=1e-3)


def test_another_baseline(api: APIClient, versions: Versions) -> None:
    golden()
    assert [one["deployment"] for one in compared(api, baseline="green")["arms"]] == [
        "green",
        "blue",
    ]
    refused = api.post(ANSWERS, {"baseline": "red"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (404, "DeploymentNotFound")


def test_a_refusal_differs_most_and_what_the_baseline_refuses_is_no_comparison(
    api: APIClient, versions: Versions
) -> None:
    golden()
    captures("blue")
    kept("a", record(1.0))
    versions.fails["green"] = InferenceFailed("InvalidInput", "no", status=400, deployment="green")
    found = compared(api)
    green = found["arms"][1]
    assert (green["compared"], green["refused"], green["agreed"]) == (2, 2, 0)
    assert {one["text"] for one in found["differing"]} == {"no (400)"}
    versions.fails = {
        "blue": InferenceFailed("InvalidInput", "no", status=400, deployment="blue"),
    }
    versions.asked.clear()
    blue, green = compared(api)["arms"]
    assert versions.asked == ["blue", "green", "blue"], "a golden case says itself what is right"
    assert (blue["refused"], blue["compared"], green["compared"]) == (2, 0, 0)
    assert (blue["golden"]["wrong"], green["golden"]["wrong"]) == (1, 0)


def test_no_answer_says_nothing(api: APIClient, versions: Versions) -> None:
    golden()
    versions.fails["green"] = InferenceFailed("GatewayUnreachable", "It is away.")
    green = compared(api)["arms"][1]
    assert (green["compared"], green["unanswered"], green["golden"]["unanswered"]) == (0, 1, 1)


def test_another_shape_is_another_schema(
    api: APIClient, versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden()

    async def wider(_: Any, target: Target, call: Call, __: float) -> Answer:
        wide = 3 if target.deployment == "green" else 2
        raw = np.zeros(wide, "<f4").tobytes()
        return Answer((Tensor("y", "FP32", (1, wide), raw),), "1", 1.0, None, target.deployment)

    monkeypatch.setattr("controlplane.golden.asking.infer_http", wider)
    found = compared(api)
    green = found["arms"][1]
    assert (green["schema"], green["agreed"]) == (1, 0)
    assert green["outputs"][0]["schema_text"] == "has shape [1, 3], expected [1, 2]"
    assert green["outputs"][0]["largest"] is None
    assert found["differing"][0]["outputs"][0]["at"] == []


def test_what_cannot_be_asked_again_is_told_by_why(api: APIClient, versions: Versions) -> None:
    captures("blue")
    hashed = IMAGE | {"data": ["f" * 8] * 64, "hashed": True}
    kept("a", record(1.0), record(1.0, inputs=[hashed]), record(1.0, error="no"))
    found = compared(api)
    (told,) = [one for one in found["missing"] if one["code"] == "unusable"]
    assert (told["deployment"], told["count"]) == ("blue", 2)
    assert "1 had failed, 1 have hashed fields" in told["text"]
    kept("c", record(2.0), hours=30)
    assert compared(api)["sources"][1]["found"] == 1
    assert compared(api, hours=48)["sources"][1]["found"] == 2


def test_ten_of_each_arm_are_shown_those_that_differ_most_first(
    api: APIClient, versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures("blue")
    kept("a", *[record(float(number)) for number in range(30)])

    async def moved(_: Any, target: Target, call: Call, __: float) -> Answer:
        value = np.frombuffer(call.inputs[0].raw, "<f4")[0] if target.deployment == "green" else 0
        raw = np.array([value], "<f4").tobytes()
        return Answer((Tensor("y", "FP32", (1,), raw),), "1", 1.0, None, target.deployment)

    monkeypatch.setattr("controlplane.golden.asking.infer_http", moved)
    found = compared(api)
    assert found["arms"][1]["agreed"] == 1, "that of zero"
    assert found["arms"][1]["outputs"][0]["largest"] == 29.0
    assert [one["outputs"][0]["own"] for one in found["differing"]] == [
        [str(number)] for number in range(29, 19, -1)
    ]


def test_where_the_time_ends_the_rest_is_not_asked(
    api: APIClient, versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden()
    captures("blue")
    kept("a", *[record(float(number)) for number in range(4)])
    monkeypatch.setattr(arms, "WITHIN_S", 0.0)
    found = compared(api)
    assert [one["asked"] for one in found["sources"]] == [0, 0, 0]
    assert ("not_asked", "") in lacks(found)
    assert versions.asked == []


def test_one_arm_alone_has_nothing_to_compare_with(api: APIClient, versions: Versions) -> None:
    Endpoint.objects.update(traffic={"blue": 100})
    refused = api.post(ANSWERS, {}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "NothingToCompare")


def test_nobody_is_woken(api: APIClient, versions: Versions) -> None:
    golden()
    idle = {"min": 0, "max": 1, "targets": {"in_flight": 1}}
    Deployment.objects.filter(name="green").update(autoscale=idle, instance_count=0)
    refused = api.post(ANSWERS, {}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "NothingToCompare")
    assert "green asleep" in refused.json()["detail"]
    assert versions.asked == []


@pytest.mark.parametrize(
    ("said", "field"), [({"inputs": 201}, "inputs"), ({"hours": 0}, "hours"), ({"x": 1}, "x")]
)
def test_what_is_out_of_bounds_is_refused(
    api: APIClient, versions: Versions, said: dict[str, int], field: str
) -> None:
    refused = api.post(ANSWERS, said, format="json")
    assert refused.status_code == 400
    assert field in refused.json()["detail"] + json.dumps(refused.json())


def test_only_who_may_read_captured_data_may_ask(api: APIClient, versions: Versions) -> None:
    golden()
    for role, status in ((User.Role.VIEWER, 403), (User.Role.DEPLOYER, 200)):
        person = APIClient()
        person.force_authenticate(make_user(f"u-{role}", role=role))
        assert person.post(ANSWERS, {}, format="json").status_code == status


def test_no_answer_is_kept_for_a_key(versions: Versions) -> None:
    golden()
    person = APIClient()
    person.force_login(make_user("dora", role=User.Role.DEPLOYER))
    for _ in range(2):
        answer = person.post(ANSWERS, {}, format="json", HTTP_IDEMPOTENCY_KEY="k")
        assert answer.status_code == 200
        assert "Idempotency-Replayed" not in answer
    assert not IdempotentRequest.objects.exists()
    assert versions.asked.count("green") == 2
