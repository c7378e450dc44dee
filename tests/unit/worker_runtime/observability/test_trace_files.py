"""Traces in Triton's files: which requests, in which files, with what in them."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.errors import InvalidArgument
from worker_runtime.observability.access import AccessLog
from worker_runtime.observability.dialect import Dialect
from worker_runtime.observability.tracing.config import Level, TraceConfig, read_trace_changes
from worker_runtime.observability.tracing.tracer import Tracer
from worker_runtime.types.request import InferRequest, Plan, PlannedInput, Response
from worker_runtime.types.tensor import BY_NAME, string_array

TIMES = (100, 200, 300, 400)


def model_of(name: str = "m", **outputs: str) -> Any:
    specs = tuple(SimpleNamespace(name=n, datatype=BY_NAME[t]) for n, t in outputs.items())
    return SimpleNamespace(name=name, version=1, signature=SimpleNamespace(outputs=specs))


def request_of(name: str = "", *inputs: tuple[str, str, tuple[int, ...], Any]) -> InferRequest:
    planned = tuple(PlannedInput(n, BY_NAME[t], shape, shape, 0) for n, t, shape, _ in inputs)
    plan = Plan(inputs=planned, order=None, rows=1, batch_key=(), outputs=("OUT",))
    return InferRequest(
        plan=plan, inputs=[item[3] for item in inputs], sink=RecordingSink(), id=name
    )


def run(tracer: Tracer, *, name: str = "", model: Any = None) -> InferRequest:
    """One request, from the front end to its answer."""
    request = request_of(name)
    tracer.start(request, model or model_of(), "HTTP", {}, (10, 20))
    request.queued_ns, request.timings = 50, TIMES
    request.sink.deliver(request, [])
    return request


def tracer_of(tmp_path: Path, **options: Any) -> Tracer:
    wanted: dict[str, Any] = {"levels": frozenset({Level.TIMESTAMPS}), "rate": 1, **options}
    return Tracer(TraceConfig(file=str(tmp_path / "t.json"), **wanted))


def elements(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def names_of(found: list[dict[str, Any]]) -> list[str]:
    return [item["timestamps"][0]["name"] if "timestamps" in item else "" for item in found]


def test_a_trace_holds_what_a_request_went_through(tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path)
    run(tracer, name='r"1')
    tracer.close()
    found = elements(tmp_path / "t.json")
    assert found[2] == {"id": 1, "model_name": "m", "model_version": 1, "request_id": 'r"1'}
    assert names_of(found[:2]) == ["HTTP_RECV_START", "HTTP_RECV_END"]
    assert set(names_of(found)) == {
        "",
        "HTTP_RECV_START",
        "HTTP_RECV_END",
        "REQUEST_START",
        "QUEUE_START",
        "COMPUTE_START",
        "COMPUTE_INPUT_END",
        "COMPUTE_OUTPUT_START",
        "COMPUTE_END",
        "INFER_RESPONSE_COMPLETE",
        "HTTP_SEND_START",
        "HTTP_SEND_END",
        "REQUEST_END",
    }
    assert all(item["id"] == 1 for item in found)


def test_every_nth_request_is_traced(tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path, rate=3)
    traced = [run(tracer).trace is not None for _ in range(7)]
    assert traced == [False, False, True, False, False, True, False]
    tracer.close()
    heads = [item for item in elements(tmp_path / "t.json") if "model_name" in item]
    assert [head["id"] for head in heads] == [1, 2]


def test_the_count_runs_down_and_then_nothing_is_traced(tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path, count=2)
    run(tracer)
    assert (tracer.settings()["trace_count"], tracer.active) == ("1", True)
    run(tracer)
    assert (tracer.settings()["trace_count"], tracer.active) == ("0", False)
    assert run(tracer).trace is None
    # What was asked for is complete: it is written, not kept for the end.
    assert len([i for i in elements(tmp_path / "t.json.0") if "model_name" in i]) == 2
    tracer.close()
    assert not (tmp_path / "t.json").exists()


def test_so_many_traces_go_into_one_file(tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path, log_frequency=2)
    for _ in range(5):
        run(tracer)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.json.0", "t.json.1"]
    tracer.close()
    ids = [{item["id"] for item in elements(tmp_path / f"t.json.{index}")} for index in range(3)]
    assert ids == [{1, 2}, {3, 4}, {5}]


def test_a_model_may_have_a_setting_of_its_own(tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path, levels=frozenset())
    assert not tracer.active
    tracer.update("own", read_trace_changes({"trace_level": ["TIMESTAMPS"]}, Dialect.JSON))
    assert tracer.active
    assert run(tracer).trace is None
    assert run(tracer, model=model_of("own")).trace is not None


def test_a_change_writes_what_the_old_setting_has_collected(tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path)
    run(tracer)
    request = request_of()
    tracer.start(request, model_of(), "HTTP")
    tracer.update("", read_trace_changes({"trace_level": ["OFF"]}, Dialect.JSON))
    assert not (tmp_path / "t.json").exists()  # one is still on its way
    request.sink.deliver(request, [])
    tracer.update("", read_trace_changes({"trace_level": ["TIMESTAMPS"]}, Dialect.JSON))
    run(tracer)
    tracer.close()
    assert {item["id"] for item in elements(tmp_path / "t.json")} == {1, 2, 3}


def test_steps_name_their_parent_and_are_written_with_it(tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path, log_frequency=1)
    request = request_of("whole")
    tracer.start(request, model_of("ensemble"), "GRPC", {}, (1, 2))
    step = request_of()
    step.model = model_of("step")
    request.trace.follow(step)
    step.timings = TIMES
    step.sink.deliver(step, [])
    assert not list(tmp_path.iterdir())
    request.sink.respond(request, Response(("OUT",), []), final=True)
    found = elements(tmp_path / "t.json.0")
    heads = [item for item in found if "model_name" in item]
    assert heads == [
        {"id": 1, "model_name": "ensemble", "model_version": 1, "request_id": "whole"},
        {"id": 2, "model_name": "step", "model_version": 1, "parent_id": 1},
    ]
    assert "GRPC_WAITREAD_START" in names_of(found)
    assert "GRPC_SEND_END" in names_of(found)
    assert names_of([item for item in found if item["id"] == 2]) == [
        "",
        *[n for n in names_of(found) if n.startswith("COMPUTE")],
        "REQUEST_START",
        "REQUEST_END",
    ]


def test_refused_and_failed_requests_end_their_traces(tmp_path: Path) -> None:
    tracer = tracer_of(tmp_path, log_frequency=1)
    refused = request_of()
    tracer.start(refused, model_of(), "HTTP")
    refused.trace.abandon(refused, InvalidArgument("no"))
    failed = request_of()
    tracer.start(failed, model_of(), "HTTP")
    failed.sink.fail(failed, InvalidArgument("no"))
    for index in range(2):
        names = names_of(elements(tmp_path / f"t.json.{index}"))
        assert "REQUEST_END" in names
        assert "COMPUTE_START" not in names


TENSORS = [
    ("INT32", np.array([[1, -2]], "<i4").tobytes(), (1, 2), "1,-2"),
    ("UINT8", bytes([7, 8]), (2,), "7,8"),
    ("BOOL", bytes([1, 0]), (2,), "1,0"),
    ("FP32", np.array([0.1, 1e9], "<f4").tobytes(), (2,), "0.1,1e+09"),
    ("FP16", b"\0\0", (1,), ""),
    ("BF16", b"\0\0", (1,), ""),
    ("BYTES", string_array([b"a", "b\xff".encode()]), (2,), '"a","bÿ"'),
]


@pytest.mark.parametrize(("datatype", "buffer", "shape", "data"), TENSORS)
def test_tensors_are_texts(
    tmp_path: Path, datatype: str, buffer: Any, shape: tuple[int, ...], data: str
) -> None:
    tracer = tracer_of(tmp_path, levels=frozenset({Level.TENSORS}), log_frequency=1)
    request = request_of("", ("IN", datatype, shape, buffer))
    tracer.start(request, model_of(OUT="FP64"), "HTTP")
    request.timings = TIMES
    request.inputs = []  # the front end lets go of them early
    request.sink.deliver(request, [np.array([2.5])])
    found = elements(tmp_path / "t.json.0")
    assert not any("timestamps" in item for item in found)
    shown = {item["activity"]: item["tensor"] for item in found if "activity" in item}
    given = {
        "name": "IN",
        "data": data,
        "shape": ",".join(map(str, shape)),
        "dtype": datatype,
    }
    assert shown == {
        "TENSOR_QUEUE_INPUT": given,
        "TENSOR_BACKEND_INPUT": given,
        "TENSOR_BACKEND_OUTPUT": {"name": "OUT", "data": "2.5", "shape": "1", "dtype": "FP64"},
    }


def test_a_file_that_cannot_be_written_costs_no_request(tmp_path: Path) -> None:
    tracer = Tracer(
        TraceConfig(
            levels=frozenset({Level.TIMESTAMPS}),
            rate=1,
            log_frequency=1,
            file=str(tmp_path / "no" / "such" / "place"),
        )
    )
    sink = run(tracer).sink
    assert sink is not None


def test_the_access_log_has_a_line_for_each_request(tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    tracer = Tracer(access=AccessLog(str(file)))
    assert tracer.active
    good = request_of("r1", ("IN", "INT32", (1, 2), b"\0" * 8))
    tracer.start(good, model_of(OUT="FP64"), "GRPC")
    good.arrived_ns, good.queued_ns, good.timings = 1, 50_000, (100_000, 103_000, 108_000, 109_000)
    good.sink.deliver(good, [np.zeros(3)])
    bad = request_of("r2")
    tracer.start(bad, model_of(), "HTTP")
    bad.sink.fail(bad, InvalidArgument("no"))
    refused = request_of("r3")
    tracer.start(refused, model_of(), "HTTP")
    refused.trace.follow(request_of())
    refused.trace.abandon(refused, InvalidArgument("no"))
    first, second, third = [json.loads(line) for line in file.read_text().splitlines()]
    assert (
        first.items()
        >= {
            "id": "r1",
            "model": "m",
            "version": 1,
            "protocol": "GRPC",
            "status": "OK",
            "rows": 1,
            "responses": 1,
            "request_bytes": 8,
            "response_bytes": 24,
            "queue_us": 50,
            "compute_input_us": 3,
            "compute_infer_us": 5,
            "compute_output_us": 1,
        }.items()
    )
    assert (second["id"], second["status"], second["responses"]) == ("r2", "InvalidArgument", 0)
    assert (third["id"], third["status"]) == ("r3", "InvalidArgument")
    tracer.close()


def test_a_request_can_be_traced_and_logged(tmp_path: Path) -> None:
    access = AccessLog(str(tmp_path / "access.log"))
    config = TraceConfig(
        levels=frozenset({Level.TIMESTAMPS}),
        rate=1,
        log_frequency=1,
        file=str(tmp_path / "t.json"),
    )
    tracer = Tracer(config, access)
    run(tracer)
    refused = request_of()
    tracer.start(refused, model_of(), "HTTP")
    refused.trace.abandon(refused, InvalidArgument("no"))
    assert len((tmp_path / "access.log").read_text().splitlines()) == 2
    assert (tmp_path / "t.json.1").exists()
    tracer.close()
