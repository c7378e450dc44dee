"""Generate and streams of events over HTTP, in the words that a real server gave."""

import json
import re
from typing import Any

import pytest

from tests.support.http_surface import POST, error_of
from tests.support.runtime_process import Runtime


def events(answer: bytes) -> list[dict[str, Any]]:
    assert answer == b"" or answer.endswith(b"\n\n")
    found = answer.decode().split("\n\n")[:-1]
    assert all(event.startswith("data: ") for event in found)
    return [json.loads(event[6:]) for event in found]


def repeated(count: int, **more: Any) -> bytes:
    values = {"IN": list(range(7, 7 + count)), "DELAY": [0] * count, "WAIT": 0}
    return json.dumps(values | more).encode()


def test_generate_flattens_the_one_answer(server: Runtime) -> None:
    status, headers, answer = server.call("v2/models/repeat/generate", repeated(1, id="q"))
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(answer) == {
        "IDX": 0,
        "OUT": 7,
        "id": "q",
        "model_name": "repeat",
        "model_version": "1",
    }


@pytest.mark.parametrize("count", [0, 3])
def test_generate_wants_exactly_one_answer(server: Runtime, count: int) -> None:
    status, _, answer = server.call("v2/models/repeat/generate", repeated(count))
    assert (status, error_of(answer)) == (
        200,
        "generate expects model to produce exactly 1 response, use generate stream for model that "
        "generates various number of responses",
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_generate_stream_sends_an_event_for_each_answer(server: Runtime, count: int) -> None:
    status, headers, answer = server.call("v2/models/repeat/generate_stream", repeated(count))
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert headers["transfer-encoding"] == "chunked"
    assert [event["OUT"] for event in events(answer)] == list(range(7, 7 + count))


def test_the_first_answer_settles_the_status_of_a_stream(server: Runtime) -> None:
    body = b'{"IN":[1,2],"DELAY":[0],"WAIT":0}'
    status, headers, answer = server.call("v2/models/repeat/generate_stream", body)
    assert (status, headers["content-type"]) == (400, "text/event-stream; charset=utf-8")
    assert list(events(answer)[0]) == ["error"]


def test_events_leave_as_they_come(server: Runtime) -> None:
    body = json.dumps({"IN": [1, 2], "DELAY": [0, 3000], "WAIT": 0}).encode()
    with server.socket() as connection:
        connection.sendall(POST % (b"repeat/generate_stream", len(body)) + body)
        received = b""
        while b'"OUT":1' not in received:
            received += connection.recv(4096)
        assert b'"OUT":2' not in received


def test_ordinary_models_generate_too(server: Runtime) -> None:
    body = json.dumps({"INPUT0": [1] * 32, "INPUT1": [2] * 32}).encode()
    status, _, answer = server.call("v2/models/addsub/generate", body)
    assert (status, json.loads(answer)["OUTPUT0"]) == (200, [3] * 32)
    status, _, answer = server.call("v2/models/mix/generate", b'{"INPUT0":0.1,"INPUT8":1}')
    assert (status, "receiving FP16 data via JSON" in error_of(answer)) == (400, True)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("[]", "attempt to get members for non-object"),
        ("{", "failed to parse the request JSON buffer: Missing a name for object member. at 1"),
        ('{"id":5}', "Unable to parse 'id': attempt to access JSON non-string as string"),
        (
            '{"INPUT0":[1,2,3],"INPUT1":1}',
            "The schema can not convert input 'INPUT0' to tensor with proper shape",
        ),
        (
            '{"x":{}}',
            "parameter 'x' has invalid type. It should be either 'int', 'bool', or 'string'.",
        ),
        (
            '{"parameters":1}',
            "Expected JSON object for keyword: 'parameters': attempt to access JSON non-object as "
            "object",
        ),
        (
            '{"parameters":{"x":null}}',
            "Converting keyword: 'parameters': parameter 'x' has invalid type. It should be either "
            "'int', 'bool', or 'string'.",
        ),
        (
            json.dumps({"INPUT0": [1] * 16})[:-1] + "," + json.dumps({"INPUT0": [1] * 16})[1:],
            "[request id: <id_unknown>] input 'INPUT0' already exists in request",
        ),
        (
            "{}",
            "[request id: <id_unknown>] expected 2 inputs but got 0 inputs for model 'addsub'. Got "
            "input(s) [], but missing required input(s) ['INPUT0','INPUT1']. Please provide all "
            "required input(s).",
        ),
    ],
)
def test_bad_generate_requests(server: Runtime, body: str, text: str) -> None:
    for kind in ("generate", "generate_stream"):
        status, _, answer = server.call(f"v2/models/addsub/{kind}", body.encode())
        # What Triton's reader of JSON cannot make sense of is a 500 there.
        code = 500 if re.search("attempt to (access|get)|failed to parse", text) else 400
        assert (status, error_of(answer)) == (code, text)


def test_decoupled_models_stream_on_infer_to_who_asks_for_events(server: Runtime) -> None:
    count = 3
    inputs = [
        {"name": "IN", "datatype": "INT32", "shape": [count], "data": [5, 6, 7]},
        {"name": "DELAY", "datatype": "UINT32", "shape": [count], "data": [0] * count},
        {"name": "WAIT", "datatype": "UINT32", "shape": [1], "data": [0]},
    ]
    body = json.dumps({"id": "q", "inputs": inputs}).encode()
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "gzip"}
    for _ in range(2):  # read anew, and as a known form
        status, found, answer = server.call("v2/models/repeat/infer", body, headers=headers)
        assert (status, found["content-type"].split(";")[0]) == (200, "text/event-stream")
        events = [json.loads(part[6:]) for part in answer.decode().split("\n\n") if part]
        assert [event["outputs"][0]["data"] for event in events] == [[5], [6], [7]]
        assert {event["id"] for event in events} == {"q"}
    status, _, answer = server.call("v2/models/repeat/infer", body)
    text = "HTTP end point doesn't support models with decoupled transaction policy"
    assert (status, error_of(answer)) == (501, text)
    binary = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    _, _, answer = server.call("v2/models/repeat/infer", binary, headers=headers)
    assert "events carry JSON" in answer.decode()


def test_generate_takes_no_compressed_bodies(server: Runtime) -> None:
    headers = {"Content-Encoding": "gzip"}
    status, _, answer = server.call("v2/models/addsub/generate", b"x", headers=headers)
    assert (status, error_of(answer)) == (
        400,
        "Unsupported content-encoding, only 'identity' is supported.",
    )


def test_decoupled_models_do_not_infer(server: Runtime) -> None:
    status, _, answer = server.call("v2/models/repeat/infer", b"nonsense")
    assert (status, error_of(answer)) == (
        501,
        "HTTP end point doesn't support models with decoupled transaction policy",
    )
