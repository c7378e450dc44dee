"""ONNX models on a device, with the CPU as the device: bindings, sizes of batches, CUDA graphs.

tests/gpu asks the same of a card.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch
from msgspec.structs import replace
from onnx import helper

from tests.support import onnx_models as om
from tests.unit.worker_runtime.backends.onnx_sums import (
    PAIR,
    ROWS,
    accelerated,
    entry,
    spec,
    sums_in,
)
from worker_runtime.backends.base import LoadSpec
from worker_runtime.backends.catalog import backend
from worker_runtime.backends.device.streams import CAPTURES, Turn
from worker_runtime.backends.graph_sizes import GraphBudget, usual_sizes
from worker_runtime.backends.onnxruntime import backend as module
from worker_runtime.backends.onnxruntime import sessions
from worker_runtime.backends.onnxruntime.batch_sizes import BatchSizes
from worker_runtime.backends.onnxruntime.bound import OnnxDeviceInstance, OnnxProgram
from worker_runtime.backends.onnxruntime.instances import bindable
from worker_runtime.backends.onnxruntime.providers import (
    CPU,
    CUDA,
    TENSORRT,
)
from worker_runtime.errors import (
    BackendFailed,
    ConfigInvalid,
    Unavailable,
)
from worker_runtime.repository.pbtxt import parse


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sums_in(tmp_path)


def bound(session: Any, of: LoadSpec, sizes: BatchSizes | None = None) -> OnnxDeviceInstance:
    """The way of devices, here with the CPU as the device."""
    cpu, options = torch.device("cpu"), sessions.run_options(of, waits=False)
    turn, kept = Turn(cpu), sizes or BatchSizes(())
    return OnnxDeviceInstance(cpu, turn, lambda: OnnxProgram(session, cpu, turn, options, kept))


def test_bound_tensors_give_the_same_answers(folder: Path) -> None:
    session = ort.InferenceSession(folder / "model.onnx", providers=[CPU])
    assert bindable(session)
    instance = bound(session, spec(folder))
    rest, total = instance.execute(dict(PAIR), ["OUTPUT1", "OUTPUT0"])
    np.testing.assert_array_equal(total, PAIR["INPUT0"] + PAIR["INPUT1"])
    np.testing.assert_array_equal(rest, PAIR["INPUT0"] - PAIR["INPUT1"])
    with pytest.raises(BackendFailed, match="Missing Input: INPUT1"):
        instance.execute({"INPUT0": ROWS}, ["OUTPUT0"])
    instance.close()


def test_a_session_that_is_slow_gets_batches_of_few_sizes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it is run with is padded; the answers are those of the rows that came."""
    session = ort.InferenceSession(folder / "model.onnx", providers=[CPU])
    sizes = BatchSizes(usual_sizes(6))
    sizes.slow = True
    instance = bound(session, spec(folder), sizes)
    wanted: list[int] = []
    monkeypatch.setattr(sizes, "ran", lambda shapes, _: wanted.append(shapes[0][1][0]))
    for rows in (3, 6, 1, 5):
        pair = {name: array[:rows] + rows for name, array in PAIR.items()}
        (total,) = instance.execute(pair, ["OUTPUT0"])
        np.testing.assert_array_equal(total, pair["INPUT0"] + pair["INPUT1"])
    assert wanted == [4, 6, 6, 6]


class Recorded:
    """A session on the CPU that says it has a GPU, and remembers the graph of each execution."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self._sess = self  # what executions are given to
        self.graphs: list[str] = []
        self.refuses = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def get_providers(self) -> list[str]:
        return [TENSORRT, CUDA, CPU]

    def run_with_iobinding(self, binding: Any, options: Any) -> None:
        self.graphs.append(options.get_run_config_entry("gpu_graph_id"))
        if self.refuses and self.graphs[-1] != "-1":
            raise RuntimeError("operation not permitted when stream is capturing")
        self._real._sess.run_with_iobinding(binding, options)


GRAPHS = accelerated("gpu", f'name: "cuda" {entry("enable_cuda_graph", "true")}')


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    """ONNX Runtime as it would be with a GPU; "devices" are in host memory."""
    made: list[Recorded] = []
    real = ort.InferenceSession

    def opened(path: str, options: Any, providers: Any) -> Recorded:
        assert providers[0][0] in (CUDA, TENSORRT)
        made.append(Recorded(real(path, options, providers=[CPU])))
        return made[-1]

    monkeypatch.setattr(ort, "get_available_providers", lambda: [TENSORRT, CUDA, CPU])
    monkeypatch.setattr(ort, "InferenceSession", opened)
    monkeypatch.setattr("worker_runtime.backends.onnxruntime.backend.DEVICE", "cpu")
    return made


@pytest.mark.parametrize(
    "config",
    [GRAPHS, accelerated("gpu", f'name: "tensorrt" {entry("trt_cuda_graph_enable", "1")}')],
)
def test_each_set_of_shapes_has_a_graph_of_its_own(
    folder: Path, recorded: list[Recorded], config: Any
) -> None:
    model = backend("onnxruntime").load(replace(spec(folder, gpus=(0,)), config=config))
    (instance,), (session,) = model.instances, recorded
    for rows in (2, 6, 2, 6, 2):
        pair = {name: array[:rows].copy() for name, array in PAIR.items()}
        kept = {name: array.copy() for name, array in pair.items()}
        (total,) = instance.execute(pair, ["OUTPUT0"])
        np.testing.assert_array_equal(total, kept["INPUT0"] + kept["INPUT1"])
        (again,) = instance.execute({name: 2 * array for name, array in pair.items()}, ["OUTPUT0"])
        np.testing.assert_array_equal(total, kept["INPUT0"] + kept["INPUT1"])  # memory of its own
        np.testing.assert_array_equal(again, 2 * total)
        np.testing.assert_array_equal(pair["INPUT0"], kept["INPUT0"])
    of_two, of_six = dict.fromkeys(session.graphs)
    both = [of_two, of_two, of_six, of_six, of_two, of_two]
    # each is captured once, before its first batch
    assert session.graphs == [of_two, *both[:2], of_six, *both[2:4], of_two, of_two, *both[2:]]
    with pytest.raises(BackendFailed, match="Missing Input: INPUT1"):
        instance.execute({"INPUT0": ROWS}, ["OUTPUT0"])
    model.close()
    with pytest.raises(Unavailable, match="unloaded"):
        instance.execute(dict(PAIR), ["OUTPUT0"])


def test_more_shapes_than_graphs_run_without_one(
    folder: Path, recorded: list[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GraphBudget", partial(GraphBudget, most=1))
    model = backend("onnxruntime").load(replace(spec(folder, gpus=(0,)), config=GRAPHS))
    for rows in (1, 1, 2, 2):
        model.instances[0].execute({name: a[:rows] for name, a in PAIR.items()}, ["OUTPUT0"])
    one, *rest = recorded[0].graphs
    assert rest == [one, one, "-1", "-1"]


def test_batches_are_padded_to_the_sizes_of_graphs(folder: Path, recorded: list[Recorded]) -> None:
    """Rows that nobody sent may hold anything; nobody gets them."""
    config = parse("max_batch_size: 6")
    config.optimization.CopyFrom(GRAPHS.optimization)
    model = backend("onnxruntime").load(replace(spec(folder, gpus=(0,)), config=config))
    for rows in (6, 1, 5, 3, 2, 4):
        pair = {name: array[:rows] + rows for name, array in PAIR.items()}
        (total,) = model.instances[0].execute(pair, ["OUTPUT0"])
        np.testing.assert_array_equal(total, pair["INPUT0"] + pair["INPUT1"])
    assert len(set(recorded[0].graphs)) == 4  # of 1, 2, 4 and 6 rows


def test_beside_a_load_batches_run_without_a_graph(folder: Path, recorded: list[Recorded]) -> None:
    """And the next one after it captures."""
    model = backend("onnxruntime").load(replace(spec(folder, gpus=(0,)), config=GRAPHS))
    with CAPTURES.load():
        model.instances[0].execute(dict(PAIR), ["OUTPUT0"])
    model.instances[0].execute(dict(PAIR), ["OUTPUT0"])
    without, *captured = recorded[0].graphs
    assert without == "-1"
    assert len(captured) == 2
    assert "-1" not in captured


def test_a_model_that_cannot_be_captured_runs_without_graphs(
    folder: Path, recorded: list[Recorded], caplog: pytest.LogCaptureFixture
) -> None:
    model = backend("onnxruntime").load(replace(spec(folder, gpus=(0,)), config=GRAPHS))
    recorded[0].refuses = True
    for _ in range(2):
        (total,) = model.instances[0].execute(dict(PAIR), ["OUTPUT0"])
        np.testing.assert_array_equal(total, PAIR["INPUT0"] + PAIR["INPUT1"])
    assert recorded[0].graphs[1:] == ["-1", "-1"]
    assert "no CUDA graph for [(6, 16), (6, 16)]: operation not permitted" in caplog.text


def test_outputs_of_any_shape_are_made_by_onnx_runtime(tmp_path: Path) -> None:
    """Their shapes are not known before, or the file says wrong ones."""
    for said in (("n",), ("rows",)):  # how many there are no input tells; this one would be wrong
        x = helper.make_tensor_value_info("x", om.FP32, ["rows"])
        y = helper.make_tensor_value_info("y", om.FP32, list(said))
        twice = helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
        graph = helper.make_graph([twice], "twice", [x], [y])
        (tmp_path / "model.onnx").write_bytes(om.model_bytes(graph))
        session = ort.InferenceSession(tmp_path / "model.onnx", providers=[CPU])
        instance = bound(session, spec(tmp_path))
        for size in (2, 3, 2):
            given = np.arange(size, dtype=np.float32)
            np.testing.assert_array_equal(
                instance.execute({"x": given}, ["y"])[0], np.concatenate([given, given])
            )


def test_graphs_need_a_session_each_and_no_texts(
    folder: Path, tmp_path: Path, recorded: list[Recorded]
) -> None:
    together = spec(folder, gpus=(0, 0), share_session_between_instances="true")
    with pytest.raises(ConfigInvalid, match="CUDA graphs exclude one another"):
        backend("onnxruntime").load(replace(together, config=GRAPHS))
    backend("onnxruntime").load(replace(spec(folder, gpus=(0, 0)), config=GRAPHS))
    assert len(recorded) == 2  # the first was refused before anything was opened
    (tmp_path / "model.onnx").write_bytes(om.model_bytes(om.identity(om.STRING, "N", 2)))
    with pytest.raises(ConfigInvalid, match="texts, which no CUDA graph can have"):
        backend("onnxruntime").load(replace(spec(tmp_path, gpus=(0,)), config=GRAPHS))
