"""TensorRT engines: what is told where there is none, and the logic around a stand-in for one.

Nothing here has run on a GPU: the module ``tensorrt`` and its engines are stand-ins.
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.tensorrt_library import Engine, Memory, Tensor, doubler, resizer
from tests.support.tensorrt_modules import Backend, backend_on_stand_in
from tests.support.tensors import load_spec
from worker_runtime.backends.base import BatchInput, Placement
from worker_runtime.backends.capabilities import capabilities_of, check_capabilities
from worker_runtime.backends.catalog import backend
from worker_runtime.errors import ConfigInvalid, InvalidArgument, LoadFailed, Unavailable
from worker_runtime.types.tensor import BY_NAME


@pytest.fixture
def trt(monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    yield from backend_on_stand_in(monkeypatch)


@pytest.mark.skipif("tensorrt" in sys.modules, reason="TensorRT is here")
def test_a_missing_library_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    with pytest.raises(LoadFailed, match=r"pip install tensorrt \(extra 'tensorrt'"):
        backend("tensorrt")


@pytest.mark.usefixtures("trt")
def test_without_a_gpu_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "model.plan").write_bytes(b"plan")
    chosen = backend("tensorrt")
    wanted = load_spec(tmp_path, 'backend: "tensorrt"', gpus=(None,))
    with pytest.raises(ConfigInvalid, match="tensorrt backend supports only GPU device"):
        check_capabilities(wanted.config, capabilities_of(chosen), (None,))
    if not torch.cuda.is_available():
        with pytest.raises(LoadFailed, match="need an NVIDIA GPU"):
            chosen.load(load_spec(tmp_path, 'backend: "tensorrt"', gpus=(0,)))


def test_an_engine_for_something_else_is_refused(trt: Backend, tmp_path: Path) -> None:
    (tmp_path / "model.plan").write_bytes(b"other")
    with pytest.raises(LoadFailed, match=r"not built for TensorRT 10\.0 and this GPU") as caught:
        trt.engines.read_engine(tmp_path / "model.plan", "m", {})
    assert caught.value.problem is not None
    assert caught.value.problem.detail == ""


def test_an_engine_describes_itself(trt: Backend) -> None:
    engine = doubler(trt.library.memory)
    graph = trt.engines.graph_of(engine)
    assert [(t.name, t.datatype, t.dims) for t in graph.inputs] == [("x", "FP32", (-1, 3))]
    assert [t.name for t in graph.outputs] == ["y"]
    assert trt.engines.largest_batch(engine, trt.engines.profiles_of(engine, (1,))) == 8
    with pytest.raises(LoadFailed, match="requested profile 2 is not in the engine"):
        trt.engines.profiles_of(engine, (2,))


def test_an_engine_with_a_type_that_is_not_known_is_refused(trt: Backend) -> None:
    odd = Tensor("x", (1,), [((1,), (1,), (1,))], "FP4")
    engine = Engine(Memory(), [odd], [], lambda *_: {}, lambda *_: {})
    with pytest.raises(LoadFailed, match="tensor 'x' has the type FP4, expected one of FLOAT"):
        trt.engines.tensors_of(engine)


def test_shapes_choose_their_profile(trt: Backend) -> None:
    engine = doubler(trt.library.memory)
    instance = trt.instance(engine, (0, 1))
    assert [context.profile for context in engine.contexts] == [0, 1]
    for rows, context in ((1, 0), (2, 0), (3, 1), (8, 1)):
        given = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        (found,) = instance.execute({"x": given}, ["y"])
        np.testing.assert_array_equal(found, 2 * given)
        assert engine.contexts[context].shapes == {"x": (rows, 3)}
    with pytest.raises(InvalidArgument, match="dimension 0 to be between 1 and 2 but received 9"):
        instance.execute({"x": np.zeros((9, 3), np.float32)}, ["y"])
    instance.close()
    with pytest.raises(Unavailable, match="unloaded"):
        instance.execute({"x": np.zeros((1, 3), np.float32)}, ["y"])


def test_groups_name_their_profiles(trt: Backend, tmp_path: Path) -> None:
    config = load_spec(
        tmp_path,
        'instance_group [{ name: "a" profile: ["1", "0"] }, { name: "b" },'
        ' { name: "c" profile: "x" }]',
    ).config
    wanted = trt.backend.wanted_profiles
    assert wanted(config, Placement("a_3")) == [1, 0]
    assert wanted(config, Placement("b_0")) == []
    with pytest.raises(ConfigInvalid, match="unable to parse 'x'"):
        wanted(config, Placement("c_0"))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_shape_tensors_are_read_and_written_on_the_host(trt: Backend, kind: Any) -> None:
    engine = resizer(trt.library.memory, np.dtype(kind))
    instance = trt.instance(engine, (), batched=False)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    for shape in ([4, 8], [1, 5]):
        to = np.frombuffer(np.array(shape, kind).tobytes(), kind)  # read-only, as a request's is
        seen, y = instance.execute({"x": given, "to": to}, ["seen", "y"])
        np.testing.assert_array_equal(y, np.resize(given, shape))
        np.testing.assert_array_equal(seen, to)
        assert seen.dtype == kind


def test_where_a_model_batches_the_batch_is_the_first_of_the_shape_s_values(trt: Backend) -> None:
    engine = resizer(trt.library.memory)
    instance = trt.instance(engine, (), batched=True)
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    y, seen = instance.execute({"x": given, "to": np.array([5], np.int32)}, ["y", "seen"])
    np.testing.assert_array_equal(y, np.resize(given, (2, 5)))
    assert seen.tolist() == [5]
    assert trt.engines.largest_batch(engine, trt.engines.profiles_of(engine, ())) == 4
    graph = trt.engines.graph_of(engine)
    assert [t.name for t in (*graph.inputs, *graph.outputs) if t.shape_tensor] == ["to", "seen"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([4, 9], r"value at index 1 is expected to be in range from 1 to 8, Got: 9; this is a"),
        ([0, 8], r"input 'to': the shape value at index 0 .* from 1 to 4, Got: 0"),
        ([4], r"mismatch between the number of shape values. Expecting 2. Got 1"),
    ],
)
def test_values_of_shapes_keep_to_the_profile(trt: Backend, values: list[int], text: str) -> None:
    instance = trt.instance(resizer(trt.library.memory), (), batched=False)
    given = {"x": np.zeros((1, 3), np.float32), "to": np.array(values, np.int32)}
    with pytest.raises(InvalidArgument, match=text):
        instance.execute(given, ["y"])


def test_a_batch_has_one_shape(trt: Backend) -> None:
    lane = trt.instance(resizer(trt.library.memory), ()).lanes[1]
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = BatchInput("x", BY_NAME["FP32"], (2, 3), [rows[:1], rows[1:]])

    def to(*values: int) -> BatchInput:
        parts: list[Any] = [np.array([value], np.int32).tobytes() for value in values]
        return BatchInput("to", BY_NAME["INT32"], (2,), parts)

    outcome = lane.execute_parts([x, to(5, 5)], ["y"], (), int)
    np.testing.assert_array_equal(outcome.arrays[0], np.resize(rows, (2, 5)))
    with pytest.raises(InvalidArgument, match="'to': requests with other values of a shape tensor"):
        lane.execute_parts([x, to(5, 6)], ["y"], (), int)


def test_an_input_that_is_missing_is_named(trt: Backend) -> None:
    instance = trt.instance(resizer(trt.library.memory), (), batched=False)
    with pytest.raises(InvalidArgument, match="missing input 'to' for m_0_0"):
        instance.execute({"x": np.zeros((1, 3), np.float32)}, ["y"])


def test_plugins_are_registered_once_before_the_first_engine(
    trt: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    registered, real = trt.library.registered, ctypes.CDLL
    (tmp_path / "model.plan").write_bytes(b"plan")

    def opened(library: str) -> Any:
        registered.append(library)
        return real(library)

    monkeypatch.setattr(ctypes, "CDLL", opened)
    for settings in ({"plugins": "libc.so.6;/nowhere/p.so;"}, {"plugins": "libm.so.6"}, {}):
        for _ in range(2):
            trt.engines.read_engine(tmp_path / "model.plan", "m", settings)
    assert registered == ["libc.so.6", "/nowhere/p.so", "TensorRT", "libm.so.6"]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "plugin library '/nowhere/p.so' could not be loaded: /nowhere/p.so" in caplog.text
    (tmp_path / "model.plan").write_bytes(b"other")
    with pytest.raises(LoadFailed, match="or needs a plugin that is not here") as caught:
        trt.engines.read_engine(tmp_path / "model.plan", "m", {})
    assert caught.value.problem is not None
    assert "/nowhere/p.so" in caught.value.problem.detail


def test_own_plugins_that_are_not_there_are_told(
    trt: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trt.library.plugins_work = False
    (tmp_path / "model.plan").write_bytes(b"plan")
    trt.engines.read_engine(tmp_path / "model.plan", "m", {})
    assert "TensorRT's own plugins could not be registered" in caplog.text


def test_instances_of_a_gpu_share_its_engine_and_the_room_for_graphs(
    trt: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "model.plan").write_bytes(b"plan")
    made, real = [], trt.backend.EngineInstance

    def on_cpu(engine: Any, profiles: Any, device: Any, name: str, *, batched: bool) -> Any:
        made.append((device.index, name, batched))
        return real(engine, profiles, torch.device("cpu"), name, batched=batched)

    monkeypatch.setattr(trt.backend, "EngineInstance", on_cpu)
    # room for the graphs of 1 and of 2 rows, 24 bytes each, of both lanes of one instance
    monkeypatch.setattr(trt.backend, "memory_of", lambda device: 1440)
    cuda = SimpleNamespace(is_available=lambda: True, device=lambda number: nullcontext())
    monkeypatch.setattr(trt.backend, "torch", SimpleNamespace(cuda=cuda, device=torch.device))
    spec = load_spec(tmp_path, "optimization { cuda { graphs: true } }", gpus=(0, 0, 1))
    model = trt.backend.TensorrtBackend().load(spec)
    assert spec.config.max_batch_size == 2
    assert made == [(0, "m_0_0", True), (0, "m_0_1", True), (1, "m_0_2", True)]
    assert [record.message[:33] for record in caplog.records] == [
        "m_0_1: no room for the CUDA graph"
    ]
    given = np.ones((2, 3), np.float32)
    for instance in model.instances:
        (found,) = instance.execute({"x": given}, ["y"])
        np.testing.assert_array_equal(found, 2 * given)
    model.close()
