"""Outputs whose shapes only the execution tells, states, and ragged batches on the device."""

from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
from onnx import helper, numpy_helper

from tests.support import gpu_models as gm
from tests.support import onnx_models as om
from tests.support import sequence_models as sm
from tests.support.gpu_device import Device
from tests.support.gpu_server import Server, given, side_by_side

CLIENTS = 4
LIMIT = 500
RAGGED = """
backend: "onnxruntime"
max_batch_size: 8
dynamic_batching { max_queue_delay_microseconds: 20000 }
input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true }
output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] },
         { name: "counts" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ ] } } ]
batch_input { kind: BATCH_ELEMENT_COUNT target_name: "n" data_type: TYPE_FP32 source_input: "x" }
batch_output { kind: BATCH_SCATTER_WITH_INPUT_SHAPE target_name: "y" source_input: "x" }
"""


def chosen() -> Any:
    """y are the numbers of x above LIMIT."""
    body = om.graph(
        [
            helper.make_node("Greater", ["x", "limit"], ["above"]),
            helper.make_node("Compress", ["x", "above"], ["y"]),
        ],
        [om.tensor("x", om.FP32, "N")],
        [om.tensor("y", om.FP32, None)],
    )
    body.initializer.append(numpy_helper.from_array(np.array([LIMIT], np.float32), "limit"))
    return body


def distinct() -> Any:
    """y are the numbers of x once each, in order, times two: Unique runs on the CPU alone."""
    return om.graph(
        [
            helper.make_node("Unique", ["x"], ["once"], sorted=1),
            helper.make_node("Add", ["once", "once"], ["y"]),
        ],
        [om.tensor("x", om.FP32, "N")],
        [om.tensor("y", om.FP32, None)],
    )


def distinct_last() -> Any:
    """y are the numbers of x doubled, once each: what gives the output runs on the CPU."""
    return om.graph(
        [
            helper.make_node("Add", ["x", "x"], ["twice"]),
            helper.make_node("Unique", ["twice"], ["y"], sorted=1),
        ],
        [om.tensor("x", om.FP32, "N")],
        [om.tensor("y", om.FP32, None)],
    )


ONNX: dict[str, tuple[Any, Any]] = {
    "chosen": (chosen, lambda x: x[x > LIMIT]),
    "distinct": (distinct, lambda x: 2 * np.unique(x)),
    "distinct_last": (distinct_last, lambda x: 2 * np.unique(x)),
}


def check(server: Server, device: Device, name: str, expected: Any) -> None:
    """Many clients with inputs of different lengths."""

    def ask(part: int) -> None:
        with server.over_grpc() as client:
            for turn in range(device.pick(60, 8)):
                random = np.random.default_rng([part, turn])
                array = random.integers(0, 1000, 1 + 97 * turn % 4000).astype(np.float32)
                answer = client.infer(name, given(over_grpc, x=array), client_timeout=30)
                np.testing.assert_array_equal(answer.as_numpy("y"), expected(array))

    side_by_side(CLIENTS, ask)
    server.unload(name)


@pytest.mark.parametrize("kind", ONNX)
def test_onnx_runtime_gives_outputs_of_unforeseen_shapes(
    server: Server, device: Device, kind: str
) -> None:
    make, expected = ONNX[kind]
    text = gm.config("onnxruntime", device, "x:FP32:-1", "y:FP32:-1", count=2)
    check(server, device, server.add(kind, make(), text), expected)


def test_pytorch_gives_outputs_of_unforeseen_shapes(server: Server, device: Device) -> None:
    pytest.importorskip("torch")
    from tests.support.gpu_modules import Above

    text = gm.config("pytorch", device, "x:FP32:-1", "y:FP32:-1", count=2)
    check(server, device, server.add("above", Above(LIMIT), text), lambda x: x[x > LIMIT])


@pytest.mark.parametrize("strategy", ["direct {}", "oldest { max_candidate_sequences: 4 }"])
def test_states_of_sequences_are_never_mixed(server: Server, device: Device, strategy: str) -> None:
    name = f"total_{strategy.split(maxsplit=1)[0]}"
    groups = f"instance_group {{ count: 2 kind: {device.kind} }}"
    batching = f"sequence_batching {{ {strategy} {sm.STATE} }} }}"
    server.add(name, sm.total(), f"max_batch_size: 4 {groups} {batching}")

    def ask(part: int) -> None:
        total, turns = 0, device.pick(50, 6)
        with server.over_grpc() as client:
            for turn in range(turns):
                total += 100 * part + turn
                value = over_grpc.InferInput("INPUT", [1, 1], "INT32")
                value.set_data_from_numpy(np.array([[100 * part + turn]], np.int32))
                answer = client.infer(
                    name,
                    [value],
                    sequence_id=1 + part,
                    sequence_start=not turn,
                    sequence_end=turn == turns - 1,
                    client_timeout=30,
                )
                assert answer.as_numpy("TOTAL").tolist() == [[total]], (part, turn)

    side_by_side(CLIENTS, ask)
    server.unload(name)


def test_requests_of_different_lengths_share_a_ragged_batch(server: Server, device: Device) -> None:
    nodes = [helper.make_node("Identity", [a], [b]) for a, b in (("x", "y"), ("n", "counts"))]
    x, n, y, counts = (om.tensor(name, om.FP32, None) for name in ("x", "n", "y", "counts"))
    groups = f"instance_group {{ count: 1 kind: {device.kind} }}"
    server.add("ragged", om.graph(nodes, [x, n], [y, counts]), RAGGED + groups)

    def ask(part: int) -> None:
        with server.over_grpc() as client:
            for turn in range(device.pick(25, 4)):
                array = np.full((1, 1 + part + 7 * turn), 100 * part + turn, np.float32)
                answer = client.infer("ragged", given(over_grpc, x=array), client_timeout=30)
                np.testing.assert_array_equal(answer.as_numpy("y"), array)
                assert answer.as_numpy("counts").tolist() == [[array.size]]

    side_by_side(CLIENTS, ask)
    found = server.statistics("ragged")
    assert found["execution_count"] < found["inference_count"], "no batch was ever ragged"
    server.unload("ragged")
