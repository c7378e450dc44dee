"""What a client sent, found by its x-request-id among captured records."""

import json
import time
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.capture.replay import inputs_of, record_of
from controlplane.core.models import Event
from tests.support.simulated_node import SimulatedNode
from tests.unit.controlplane.capture.test_captured_data import (  # noqa: F401 # fixtures
    DATA,
    LINE,
    lines,
    name_at,
    node,
    send,
)

databases = pytest.mark.django_db(databases=["default", "metrics"])
AT = "2026-01-05T10:00:00+00:00"
X: dict[str, Any] = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}


def record(request_id: str, **more: Any) -> dict[str, Any]:
    return {"time": AT, "id": "", "model": "digits", "version": 1, "x_request_id": request_id,
            **LINE, **more}  # fmt: skip


@databases
def test_what_a_client_sent_is_found_and_that_is_on_record(
    node: SimulatedNode,  # noqa: F811
    api: APIClient,
) -> None:
    content = lines(record("other"), record("a/b"), LINE)
    assert send(node, content, name_at()).status_code == 204
    answer = api.get(f"{DATA}/captured-requests/a%2Fb", {"at": time.time()})
    assert answer.status_code == 200, answer.json()
    found = answer.json()
    assert (found["model"], found["version"], found["told"]) == ("digits", 1, "")
    assert found["inputs"] == [X]
    told = Event.objects.get(verb="capture.downloaded")
    assert told.data["records"] == 1


@databases
@pytest.mark.parametrize(("name", "ago"), [("nobody", 0), ("a", 3600)])
def test_what_is_not_captured_is_told(
    node: SimulatedNode,  # noqa: F811
    api: APIClient,
    name: str,
    ago: float,
) -> None:
    assert send(node, lines(record("a")), name_at()).status_code == 204
    answer = api.get(f"{DATA}/captured-requests/{name}", {"at": time.time() - ago})
    assert (answer.status_code, answer.json()["code"]) == (404, "CapturedRequestNotFound")
    assert not Event.objects.filter(verb="capture.downloaded").exists()


@databases
@pytest.mark.parametrize("query", [{}, {"at": "x"}, {"at": -1}, {"at": "nan"}, {"at": 1e300}])
def test_what_it_refuses(api: APIClient, node: SimulatedNode, query: Any) -> None:  # noqa: F811
    del node
    answer = api.get(f"{DATA}/captured-requests/a", query)
    assert (answer.status_code, answer.json()["code"]) == (400, "BadArgument")


@databases
def test_viewers_read_no_values(node: SimulatedNode, viewer_api: APIClient) -> None:  # noqa: F811
    assert send(node, lines(record("a")), name_at()).status_code == 204
    answer = viewer_api.get(f"{DATA}/captured-requests/a", {"at": time.time()})
    assert answer.status_code == 403


def test_of_many_with_one_id_the_closest_is_taken() -> None:
    given = [
        json.dumps(one).encode()
        for one in (
            record("a", time="2026-01-05T10:00:00+00:00", version=1),
            record("a", time="2026-01-05T10:00:09+00:00", version=2),
            record("a", time="rubbish", version=3),
            {"x_request_id": ["a"]},
            {"inputs": [{"name": "a"}]},
        )
    ]
    found = record_of([*given, b'{"a": "a"', b'["a"]', b"\xff"], "a", 1767607207.0)
    assert found is not None
    assert found["version"] == 2
    assert record_of(given, "b", 0.0) is None


@pytest.mark.parametrize(
    ("inputs", "kept", "told"),
    [
        ([X], ["x"], ""),
        ([{**X, "omitted": "on a device"}], [], "x: not captured, on a device"),
        ([{**X, "hashed": True}], [], "x: only digests of it are kept"),
        ([{**X, "data": [1, None]}], [], "x: it has values that are no finite numbers, which are"),
        ([{**X, "data": None}], [], "x: not readable"),
        ([{**X, "shape": [1, "2"]}], [], "x: not readable"),
        ([X, {**X, "name": "z", "hashed": True}], ["x"], "z: only digests of it are kept"),
        ([], [], "inputs are not captured"),
        (None, [], "inputs are not captured"),
        ([3], [], "inputs are not captured"),
    ],
)
def test_what_can_be_sent_again(inputs: Any, kept: list[str], told: str) -> None:
    found, why = inputs_of({"inputs": inputs})
    assert [one["name"] for one in found] == kept
    assert why.startswith(told)
    assert bool(why) == bool(told)
