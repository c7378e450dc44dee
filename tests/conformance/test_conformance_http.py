"""What only HTTP has: framing of binary tensors, JSON rules, statuses, routes."""

import json
import struct
from typing import Any

import pytest

from tests.support.runtime_process import Runtime

DATA = struct.pack("<6f", *[1.5] * 6)
JSON_INPUT = {"name": "x", "datatype": "FP32", "shape": [2, 3], "data": [1.5] * 6}
BINARY_INPUT = {
    "name": "x",
    "datatype": "FP32",
    "shape": [2, 3],
    "parameters": {"binary_data_size": 24},
}


MORE = "unexpected additional input data for model 'fixed'"
LESS = "unexpected size for input 'x', expecting %d additional bytes for model 'fixed'"


def infer(
    server: Runtime,
    body: Any,
    tail: bytes = b"",
    *,
    length: int | None = None,
    model: str = "fixed",
) -> tuple[int, dict[str, str], bytes]:
    head = json.dumps(body).encode()
    length = len(head) if length is None and tail else length
    headers = {} if length is None else {"Inference-Header-Content-Length": str(length)}
    return server.call(f"v2/models/{model}/infer", head + tail, headers=headers)


@pytest.mark.parametrize(
    ("request_parameters", "outputs", "binary"),
    [
        ({}, None, False),
        ({"binary_data_output": True}, None, True),
        ({"binary_data_output": True}, [{"name": "y"}], False),
        ({}, [{"name": "y", "parameters": {"binary_data": True}}], True),
        (
            {"binary_data_output": True},
            [{"name": "y", "parameters": {"binary_data": False}}],
            False,
        ),
    ],
)
def test_unlisted_outputs_follow_the_request_and_listed_ones_themselves(
    conforming: Runtime, request_parameters: dict[str, Any], outputs: Any, binary: bool
) -> None:
    body: dict[str, Any] = {"inputs": [JSON_INPUT], "parameters": request_parameters}
    if outputs is not None:
        body["outputs"] = outputs
    status, headers, answer = infer(conforming, body)
    assert status == 200
    assert ("inference-header-content-length" in headers) is binary
    assert headers["content-type"] == ("application/octet-stream" if binary else "application/json")
    if binary:
        assert answer[int(headers["inference-header-content-length"]) :] == DATA


@pytest.mark.parametrize(
    ("body", "tail", "length", "text"),
    [
        ({"inputs": [BINARY_INPUT]}, DATA + b"x", None, MORE),
        ({"inputs": [BINARY_INPUT]}, DATA[:-1], None, LESS % 1),
        ({"inputs": [BINARY_INPUT]}, b"", None, LESS % 24),
        ({"inputs": [JSON_INPUT]}, b"x", None, MORE),
        ({"inputs": [BINARY_INPUT]}, DATA, 9999, "inference header size should be in range (0, "),
        ({"inputs": [BINARY_INPUT]}, DATA, -1, "inference header size should be in range (0, "),
        ({"inputs": [BINARY_INPUT]}, DATA, 10, "failed to parse the request JSON buffer: Invalid"),
        ({"inputs": [JSON_INPUT | {"data": [1, 2]}]}, b"", None, "Unable to parse 'data': Shape "),
    ],
)
def test_badly_framed_requests_are_refused(
    conforming: Runtime, body: Any, tail: bytes, length: int | None, text: str
) -> None:
    status, _, answer = infer(conforming, body, tail, length=length)
    assert status == (500 if "parse" in text else 400)
    found = json.loads(answer)
    assert list(found) == ["error"]
    assert found["error"].startswith(text)


def test_a_raw_request_is_the_only_input(conforming: Runtime) -> None:
    headers = {"Inference-Header-Content-Length": "0"}
    status, found, answer = conforming.call("v2/models/fixed/infer", DATA, headers=headers)
    assert status == 200
    assert answer[int(found["inference-header-content-length"]) :] == DATA
    status, _, answer = conforming.call("v2/models/vary/infer", DATA[:16], headers=headers)
    assert json.loads(answer[: answer.index(b"}]}") + 3])["outputs"][0]["shape"] == [1, 4]
    status, _, answer = conforming.call("v2/models/fixed/infer", DATA[:8], headers=headers)
    assert (status, "byte size mismatch" in answer.decode()) == (400, True)
    status, _, answer = conforming.call("v2/models/simple/infer", DATA, headers=headers)
    assert (status, "must only have 1 input" in answer.decode()) == (400, True)


def test_half_floats_do_not_travel_as_json(conforming: Runtime) -> None:
    item = {"name": "x", "datatype": "FP16", "shape": [2]}
    status, _, answer = infer(conforming, {"inputs": [item | {"data": [1, 2]}]}, model="half")
    assert (status, "receiving FP16 data via JSON" in answer.decode()) == (400, True)
    binary = item | {"parameters": {"binary_data_size": 4}}
    status, _, answer = infer(conforming, {"inputs": [binary]}, b"\0\0\0\0", model="half")
    assert (status, "FP16 data via JSON" in answer.decode()) == (400, True)
    body = {"inputs": [binary], "parameters": {"binary_data_output": True}}
    assert infer(conforming, body, b"\0\0\0\0", model="half")[0] == 200


def test_bytes_travel_as_json_text(conforming: Runtime) -> None:
    item = {"name": "x", "datatype": "BYTES", "shape": [2], "data": ["ä", ""]}
    status, _, answer = infer(conforming, {"inputs": [item]}, model="words")
    assert (status, json.loads(answer)["outputs"][0]["data"]) == (200, ["ä", ""])


def test_not_a_number_appears_as_a_literal(conforming: Runtime) -> None:
    status, _, answer = infer(conforming, {"inputs": [JSON_INPUT | {"data": [float("nan")] * 6}]})
    assert (status, b"[NaN,NaN,NaN,NaN,NaN,NaN]" in answer) == (200, True)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("v2/health/live", 200),
        ("v2/health/ready", 200),
        ("v2", 200),
        ("v2/", 404),
        ("v2/models/fixed", 200),
        ("v2/models/fixed/", 404),
        ("v2/models/nope", 404),
        ("v2/models/fixed/versions/1", 200),
        ("v2/models/fixed/versions/2", 404),
        ("v2/models/fixed/versions/one", 404),
        ("v2/models/fixed/ready", 200),
        ("v2/models/nope/ready", 404),
        ("v2/models/fixed/config", 200),
        ("v2/models/fixed/stats", 200),
        ("v2/models/stats", 200),
        ("v2/models/nope/stats", 400),
        ("v2/models/fixed/infer", 405),
        ("v2/repository/index", 405),
        ("nothing", 404),
        ("v2/health/live?x=1", 200),
        ("v2/systemsharedmemory/status", 200),
        ("v2/logging", 200),
    ],
)
def test_statuses_of_get(conforming: Runtime, path: str, status: int) -> None:
    found, headers, body = conforming.call(path)
    assert found == status
    if status != 200:
        assert list(json.loads(body)) == ["error"]
    if status == 405:
        assert headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("v2/health/live", 405),
        ("v2/models/fixed", 405),
        ("v2/repository/index", 200),
        ("v2/repository/models/fixed/load", 503),
        ("v2/repository/models/fixed/unload", 503),
        ("v2/repository/here/models/fixed/load", 501),
        ("v2/models/fixed/generate", 400),
    ],
)
def test_statuses_of_post(conforming: Runtime, path: str, status: int) -> None:
    assert conforming.call(path, b"{}")[0] == status


def test_health_answers_are_empty(conforming: Runtime) -> None:
    for path in ("v2/health/live", "v2/health/ready", "v2/models/fixed/ready"):
        assert conforming.call(path)[2] == b""


def test_metadata_shows_the_batch_axis_and_string_versions(conforming: Runtime) -> None:
    found = conforming.json("v2/models/simple")[1]
    assert found["versions"] == ["1"]
    assert found["inputs"][0] == {"name": "INPUT0", "datatype": "INT32", "shape": [-1, 16]}
    assert conforming.json("v2/models/words")[1]["inputs"][0]["datatype"] == "BYTES"
    server = conforming.json("v2")[1]
    assert server["name"] == "triton"
    assert {"binary_tensor_data", "statistics", "model_repository"} <= set(server["extensions"])


@pytest.mark.parametrize(
    "request_id", ["7", "", "a b", 'quote"d', "back\\slash", "ümlaut", "x" * 300, "\n", "{", '",']
)
def test_ids_come_back_whatever_they_are(conforming: Runtime, request_id: str) -> None:
    for binary in (True, False):
        body = {
            "id": request_id,
            "inputs": [BINARY_INPUT],
            "parameters": {"binary_data_output": binary},
        }
        for separators in ((",", ":"), (", ", ": ")):
            head = json.dumps(body, separators=separators).encode()
            headers = {"Inference-Header-Content-Length": str(len(head))}
            status, found, answer = conforming.call(
                "v2/models/fixed/infer", head + DATA, headers=headers
            )
            assert status == 200
            length = int(found.get("inference-header-content-length", len(answer)))
            assert json.loads(answer[:length]).get("id", "") == request_id
            assert answer[length:] == (DATA if binary else b"")


def test_faults_are_placed_as_the_client_counts(conforming: Runtime) -> None:
    """Although an id in front is taken off before the rest is read."""
    head = b'{"id":"7","inputs":[}'
    headers = {"Inference-Header-Content-Length": str(len(head))}
    status, _, answer = conforming.call("v2/models/fixed/infer", head + DATA, headers=headers)
    assert (status, json.loads(answer)["error"]) == (
        500,
        "failed to parse the request JSON buffer: Invalid value. at 20",
    )
