"""What `shoal dev` prints of its server."""

import json
from typing import Any

import pytest

from shoal.dev.lines import model_lines, request_line, server_line

STARTED = 'I1126 13:30:44.252441 19138 server.py:356] "Started HTTPService at 127.0.0.1:8000"'


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (STARTED, None),
        ('I1126 13:30:44.2 1 a.py:1] "loading: net:1"', ("13:30:44  loading: net:1", None)),
        ('E1126 13:30:44.2 1 a.py:1] "failed:\\nwhy"', ("13:30:44  failed:\nwhy", "red")),
        ('W1126 13:30:44.2 1 a.py:1] "a \\"word\\""', ('13:30:44  a "word"', "yellow")),
        ("printed by a model", ("printed by a model", None)),
        ("+-------+--------+", None),
        ("", None),
    ],
)
def test_lines_of_the_server(line: str, shown: tuple[str, str | None] | None) -> None:
    assert server_line(line) == shown


def test_everything_is_shown_to_who_asks() -> None:
    assert server_line(STARTED, everything=True) == (
        "13:30:44  Started HTTPService at 127.0.0.1:8000",
        None,
    )


ENTRY: dict[str, Any] = {
    "time": 0.0, "model": "net", "version": 2, "protocol": "HTTP", "status": "OK",
    "rows": 1, "responses": 1, "total_us": 1500, "queue_us": 100, "compute_infer_us": 700,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "end", "colour"),
    [
        ({}, "net:2  HTTP  OK  1 row  1.50 ms (queue 0.10, compute 0.70)", "green"),
        ({"rows": 3, "responses": 2}, "3 rows  1.50 ms (queue 0.10, compute 0.70)  2 answers", ""),
        ({"status": "BackendFailed"}, "compute 0.70)", "red"),
    ],
)
def test_a_request_is_a_line(changes: dict[str, Any], end: str, colour: str) -> None:
    text, found = request_line(json.dumps({**ENTRY, **changes}))
    assert text.endswith(end)
    assert not colour or found == colour


def test_who_was_refused_has_no_times_of_a_model() -> None:
    entry = {k: v for k, v in ENTRY.items() if k not in ("queue_us", "compute_infer_us")}
    assert request_line(json.dumps(entry))[0].endswith("1 row  1.50 ms")


def test_a_model_is_introduced_with_a_call() -> None:
    metadata = {
        "name": "net",
        "inputs": [
            {"name": "x", "datatype": "FP32", "shape": [-1, 2]},
            {"name": "t", "datatype": "BYTES", "shape": [1]},
            {"name": "image", "datatype": "UINT8", "shape": [-1, 224, 224, 3]},
        ],
        "outputs": [{"name": "y", "datatype": "BOOL", "shape": [-1]}],
    }
    lines = model_lines(metadata, "127.0.0.1:8000")
    assert lines[1] == "  takes x: FP32 [any, 2]"
    assert lines[4] == "  gives y: BOOL [any]"
    body = json.loads(lines[5].split("'")[1])
    assert [item["data"] for item in body["inputs"]] == [[0, 0], ["text"], ["..."]]
    assert lines[5].endswith("http://127.0.0.1:8000/v2/models/net/infer")


def test_a_model_that_nobody_can_call_is_told() -> None:
    lines = model_lines({"name": "net", "inputs": [], "outputs": []}, "127.0.0.1:8000")
    assert len(lines) == 1 and "net/config.pbtxt" in lines[0]
