"""Saved calls of the test console: kept with exact values, found by model, checked like a call."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.console import cases
from controlplane.core.models import Event

pytestmark = pytest.mark.django_db
CASES = "/api/v1/test-cases"
BIG = "9007199254740993"  # a browser's number would round it


def case(**changes: Any) -> dict[str, Any]:
    tensor = {"name": "a/b:0", "datatype": "INT64", "shape": [1, 2], "data": [BIG, 7]}
    return {"name": "seven", "model": "digits", "endpoint": "prod", "inputs": [tensor], **changes}


def test_a_case_is_kept_and_given_back_to_the_digit(api: APIClient, viewer_api: APIClient) -> None:
    options = {"protocol": "grpc", "version": "2", "parameters": {"sequence_id": 4}}
    saved = api.post(CASES, case(options=options), format="json")
    assert saved.status_code == 201, saved.json()
    found = viewer_api.get(f"{CASES}/{saved.json()['id']}").json()
    script = case(name="by a script")
    script["inputs"][0]["data"] = [int(BIG), 7]
    assert api.post(CASES, script, format="json").json()["inputs"] == case()["inputs"]
    assert found["inputs"] == case()["inputs"]
    assert found["options"] == options
    assert found["created_by"] == "dora"
    assert Event.objects.filter(verb="test_case.saved").count() == 2


def test_what_should_be_answered_is_kept(api: APIClient) -> None:
    plain = api.post(CASES, case(name="plain"), format="json").json()
    assert (plain["golden"], plain["expected"]) == (False, [])
    assert plain["tolerance"] == {"relative": 1e-4, "absolute": 1e-6}
    output = {"name": "y", "datatype": "INT64", "shape": [1], "data": [int(BIG)]}
    golden = case(expected=[output], tolerance={"relative": 0.01})
    saved = api.post(CASES, golden, format="json").json()
    assert saved["expected"] == [{**output, "data": [BIG]}]
    assert saved["tolerance"] == {"relative": 0.01, "absolute": 1e-6}
    assert [item["golden"] for item in api.get(CASES).json()["items"]] == [True, False]
    shown = api.get(f"{CASES}/{saved['id']}").json()
    assert api.put(f"{CASES}/{saved['id']}", shown, format="json").json()["golden"]


def test_lists_tell_the_tensors_without_their_data(api: APIClient) -> None:
    for name, model in [("one", "digits"), ("two", "digits"), ("one", "other")]:
        assert api.post(CASES, case(name=name, model=model), format="json").status_code == 201
    found = api.get(CASES, {"model": "digits"}).json()["items"]
    assert [item["name"] for item in found] == ["two", "one"]
    assert found[0]["tensors"] == [{"name": "a/b:0", "datatype": "INT64", "shape": [1, 2]}]
    assert "inputs" not in found[0]
    assert [item["model"] for item in api.get(CASES, {"q": "ON"}).json()["items"]] == [
        "other",
        "digits",
    ]
    assert api.get(CASES, {"endpoint": "nope"}).json()["items"] == []


def test_a_taken_name_tells_whose_it_is_and_putting_there_replaces_it(api: APIClient) -> None:
    first = api.post(CASES, case(), format="json").json()
    taken = api.post(CASES, case(), format="json")
    assert (taken.status_code, taken.json()["code"]) == (409, "NameTaken")
    assert taken.json()["id"] == first["id"]
    tensor = {"name": "x", "datatype": "FP16", "shape": [1], "data": {"b64": "ADw="}}
    other = api.put(f"{CASES}/{first['id']}", case(inputs=[tensor]), format="json")
    assert other.status_code == 200, other.json()
    assert api.get(f"{CASES}/{first['id']}").json()["inputs"] == [tensor]


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"inputs": [{"name": "x", "datatype": "INT8", "shape": [1], "data": [300]}]},
         "BadArgument", "300 does not fit INT8"),
        ({"inputs": [{"name": "x", "datatype": "INT8", "shape": [2], "data": [3]}]},
         "BadArgument", "x: 1 values"),
        ({"inputs": [{"name": "x", "datatype": "WHAT", "shape": [1], "data": [3]}]},
         "BadArgument", "unknown datatype 'WHAT'"),
        ({"options": {"parameters": {"color": "red"}}}, "BadArgument", "parameters.color"),
    ],
)  # fmt: skip
def test_what_could_not_be_called_is_not_kept(
    api: APIClient, changes: dict[str, Any], code: str, words: str
) -> None:
    answer = api.post(CASES, case(**changes), format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert words in answer.json()["detail"]


def test_too_much_is_refused_with_the_limit(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "MAX_CASE_BYTES", 1 << 20)
    tensor = {"name": "x", "datatype": "INT8", "shape": [600_000], "data": [0] * 600_000}
    answer = api.post(CASES, case(inputs=[tensor]), format="json")
    assert answer.status_code == 413
    assert "a test case holds 1" in answer.json()["detail"]


def test_viewers_read_and_deployers_delete(api: APIClient, viewer_api: APIClient) -> None:
    address = f"{CASES}/{api.post(CASES, case(), format='json').json()['id']}"
    assert viewer_api.post(CASES, case(name="x"), format="json").status_code == 403
    assert viewer_api.delete(address).status_code == 403
    assert api.delete(address).status_code == 204
    gone = api.get(address)
    assert (gone.status_code, gone.json()["code"]) == (404, "TestCaseNotFound")
