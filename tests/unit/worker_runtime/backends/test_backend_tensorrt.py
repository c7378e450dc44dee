"""TensorRT engines: what is told where there is none, and the logic around a stand-in for one.

Nothing here has run on a GPU: the module ``tensorrt`` and its engine are stand-ins at the boundary.
"""

import ctypes
import importlib
import math
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from tests.support.tensors import load_spec
from worker_runtime.backends.base import Placement
from worker_runtime.backends.capabilities import capabilities_of, check_capabilities
from worker_runtime.backends.catalog import backend
from worker_runtime.errors import ConfigInvalid, InvalidArgument, LoadFailed, Unavailable

NAMES = ("x", "y")
PARTS = ("graphs", "engines", "backend")


class Kind(NamedTuple):
    name: str


class Context:
    """Doubles FP32 tensors, at the addresses that it is given."""

    def __init__(self) -> None:
        self.profile = -1
        self.runs = 0
        self.shape: tuple[int, ...] = ()
        self.addresses: dict[str, int] = {}

    def set_optimization_profile_async(self, number: int, stream: int) -> None:
        self.profile = number

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self.shape = shape
        return True

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self.shape

    def set_tensor_address(self, name: str, address: int) -> None:
        self.addresses[name] = address

    def execute_async_v3(self, stream: int) -> bool:
        work = partial(doubled, math.prod(self.shape), *(self.addresses[name] for name in NAMES))
        if Graph.capturing is not None:
            Graph.capturing.work.append(work)  # a device does nothing while it is captured
        else:
            self.runs += 1
            work()
        return True


def doubled(count: int, source: int, target: int) -> None:
    numbers = (ctypes.c_float * count).from_address(source)
    found = (ctypes.c_float * count).from_address(target)
    for index in range(count):
        found[index] = 2 * numbers[index]


class Graph:
    """As torch.cuda.CUDAGraph: replays what was started while it was captured, where it was."""

    capturing: "Graph | None" = None
    fails = False

    def __init__(self) -> None:
        self.work: list[Callable[[], None]] = []
        self.replays = 0

    def replay(self) -> None:
        self.replays += 1
        for work in self.work:
            work()

    @staticmethod
    @contextmanager
    def capture(graph: "Graph", stream: Any, capture_error_mode: str) -> Iterator[None]:
        assert capture_error_mode == "thread_local"
        if Graph.fails:
            raise RuntimeError("operation not permitted when stream is capturing")
        Graph.capturing = graph
        try:
            yield
        finally:
            Graph.capturing = None


class Engine:
    """x [-1, 3] to y [-1, 3]; profile 0 takes 1 to 2 rows, profile 1 takes 3 to 8."""

    num_io_tensors = 2
    num_optimization_profiles = 2

    def __init__(self) -> None:
        self.contexts: list[Context] = []

    def create_execution_context(self) -> Context:
        self.contexts.append(Context())
        return self.contexts[-1]

    def get_tensor_name(self, number: int) -> str:
        return NAMES[number]

    def get_tensor_mode(self, name: str) -> str:
        return "in" if name == "x" else "out"

    def get_tensor_dtype(self, name: str) -> Kind:
        return Kind("FLOAT")

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return (-1, 3)

    def get_tensor_profile_shape(self, name: str, number: int) -> tuple[tuple[int, ...], ...]:
        low, high = ((1, 2), (3, 8))[number]
        return ((low, 3), (high, 3), (high, 3))


def fake_tensorrt(engine: Engine | None) -> Any:
    class Runtime:
        def __init__(self, logger: Any) -> None: ...

        def deserialize_cuda_engine(self, data: bytes) -> Engine | None:
            return engine if data == b"plan" else None

    class Logger:
        WARNING = 1

        def __init__(self, level: int) -> None: ...

    found: Any = types.ModuleType("tensorrt")
    found.__version__ = "10.0"
    found.Runtime, found.Logger = Runtime, Logger
    found.TensorIOMode = types.SimpleNamespace(INPUT="in")
    return found


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module under test, on a stand-in for the library."""
    prefix = "worker_runtime.backends.tensorrt."
    monkeypatch.setitem(sys.modules, "tensorrt", fake_tensorrt(Engine()))
    for part in PARTS:
        monkeypatch.delitem(sys.modules, prefix + part, raising=False)
    yield importlib.import_module(prefix + "engines")
    for part in PARTS:
        sys.modules.pop(prefix + part, None)


@pytest.mark.skipif("tensorrt" in sys.modules, reason="TensorRT is here")
def test_a_missing_library_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", None)
    with pytest.raises(LoadFailed, match=r"pip install tensorrt \(extra 'tensorrt'"):
        backend("tensorrt")


def test_without_a_gpu_that_is_said(engines: Any, tmp_path: Path) -> None:
    (tmp_path / "model.plan").write_bytes(b"plan")
    chosen = backend("tensorrt")
    wanted = load_spec(tmp_path, 'backend: "tensorrt"', gpus=(None,))
    with pytest.raises(ConfigInvalid, match="tensorrt backend supports only GPU device"):
        check_capabilities(wanted.config, capabilities_of(chosen), (None,))
    if not torch.cuda.is_available():
        with pytest.raises(LoadFailed, match="need an NVIDIA GPU"):
            chosen.load(load_spec(tmp_path, 'backend: "tensorrt"', gpus=(0,)))


def test_an_engine_for_something_else_is_refused(engines: Any, tmp_path: Path) -> None:
    (tmp_path / "model.plan").write_bytes(b"other")
    with pytest.raises(LoadFailed, match=r"not built for TensorRT 10\.0 and this GPU"):
        engines.read_engine(tmp_path / "model.plan", "m")


def test_an_engine_describes_itself(engines: Any) -> None:
    engine = Engine()
    graph = engines.graph_of(engine)
    assert [(t.name, t.datatype, t.dims) for t in graph.inputs] == [("x", "FP32", (-1, 3))]
    assert [t.name for t in graph.outputs] == ["y"]
    assert engines.largest_batch(engine, engines.profiles_of(engine, (1,))) == 8
    with pytest.raises(LoadFailed, match="requested profile 2 is not in the engine"):
        engines.profiles_of(engine, (2,))


def test_shapes_choose_their_profile(engines: Any) -> None:
    engine = Engine()
    instance = engines.EngineInstance(
        engine, engines.profiles_of(engine, (0, 1)), torch.device("cpu"), "m_0_0"
    )
    assert [context.profile for context in engine.contexts] == [0, 1]
    for rows, context in ((1, 0), (2, 0), (3, 1), (8, 1)):
        given = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        (found,) = instance.execute({"x": given}, ["y"])
        np.testing.assert_array_equal(found, 2 * given)
        assert engine.contexts[context].shape == (rows, 3)
    with pytest.raises(InvalidArgument, match="dimension 0 to be between 1 and 2 but received 9"):
        instance.execute({"x": np.zeros((9, 3), np.float32)}, ["y"])
    instance.close()
    with pytest.raises(Unavailable, match="unloaded"):
        instance.execute({"x": np.zeros((1, 3), np.float32)}, ["y"])


def test_groups_name_their_profiles(engines: Any, tmp_path: Path) -> None:
    module = importlib.import_module("worker_runtime.backends.tensorrt.backend")
    config = load_spec(
        tmp_path,
        'instance_group [{ name: "a" profile: ["1", "0"] }, { name: "b" },'
        ' { name: "c" profile: "x" }]',
    ).config
    assert module.wanted_profiles(config, Placement("a_3")) == [1, 0]
    assert module.wanted_profiles(config, Placement("b_0")) == []
    with pytest.raises(ConfigInvalid, match="unable to parse 'x'"):
        module.wanted_profiles(config, Placement("c_0"))


BEST = {"x": (2, 3), "z": (2, 5)}
SPEC = """
optimization { cuda { graphs: true graph_spec [
  { batch_size: 4 input { key: "x" value { dim: [ 7 ] } } },
  { batch_size: 8 graph_lower_bound { batch_size: 5 } } ] } } max_batch_size: 8
"""


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("max_batch_size: 8", []),
        ("max_batch_size: 4 GRAPHS", [(1, 1), (2, 2), (3, 3), (4, 4)]),
        ("max_batch_size: 8 GRAPHS dynamic_batching { preferred_batch_size: [2, 4] }",
         [(2, 2), (4, 4), (8, 8)]),
        ("max_batch_size: 8 GRAPHS sequence_batching { oldest { preferred_batch_size: [4] } }",
         [(4, 4), (8, 8)]),
        ("GRAPHS", [(2, 0)]),
        (SPEC, [(4, 4), (8, 5)]),
    ],
)  # fmt: skip
def test_graphs_that_are_captured(
    engines: Any, tmp_path: Path, config: str, expected: list[tuple[int, int]]
) -> None:
    config = config.replace("GRAPHS", "optimization { cuda { graphs: true } }")
    found = engines.wanted_graphs(load_spec(tmp_path, config).config, BEST)
    assert [(spec.rows, spec.fewest) for spec in found] == expected
    assert all(spec.shapes["z"] == (spec.rows, 5) for spec in found)
    if config == SPEC:
        assert [spec.shapes["x"] for spec in found] == [(4, 7), (8, 3)]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("batch_size: 9", "has batch_size 9, expected 1 to 8"),
        ("", "has batch_size 0, expected 1 to 8"),
        ('batch_size: 1 input { key: "w" value { dim: [1] } }', "names input 'w'"),
        ("batch_size: 4 graph_lower_bound { batch_size: 11 }", "has batch_size 11"),
    ],
)
def test_graphs_that_cannot_be(engines: Any, tmp_path: Path, spec: str, text: str) -> None:
    config = f"max_batch_size: 8 optimization {{ cuda {{ graphs: true graph_spec {{ {spec} }} }} }}"
    with pytest.raises(ConfigInvalid, match=text):
        engines.wanted_graphs(load_spec(tmp_path, config).config, BEST)


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", Graph.capture)
    monkeypatch.setattr(Graph, "fails", False)


def answer(instance: Any, rows: int) -> Any:
    given = np.random.default_rng(rows).random((rows, 3), np.float32)
    (found,) = instance.execute({"x": given}, ["y"])
    np.testing.assert_array_equal(found, 2 * given)
    return found


@pytest.mark.usefixtures("captured")
def test_captured_shapes_are_replayed(engines: Any, tmp_path: Path) -> None:
    engine = Engine()
    instance = engines.EngineInstance(
        engine, engines.profiles_of(engine, (0, 1)), torch.device("cpu"), "m_0_0"
    )
    instance.capture(load_spec(tmp_path, SPEC.replace("dim: [ 7 ]", "dim: [ 3 ]")).config)
    runs = [context.runs for context in engine.contexts]
    assert runs == [0, 2]  # each once before it was captured; the first profile takes neither
    for rows in (1, 4, 2, 8, 5, 3):
        first = answer(instance, rows)
        kept = first.copy()
        answer(instance, rows)
        np.testing.assert_array_equal(first, kept)  # not the graph's own memory
    # 4 and 8 rows are captured, 5 may run in the graph of 8; 1, 2 and 3 run without one
    assert [context.runs for context in engine.contexts] == [4, 2 + 2]
    with pytest.raises(InvalidArgument, match="dimension 0 to be between 1 and 2 but received 9"):
        instance.execute({"x": np.zeros((9, 3), np.float32)}, ["y"])
    instance.close()
    with pytest.raises(Unavailable, match="unloaded"):
        answer(instance, 4)


@pytest.mark.usefixtures("captured")
def test_what_cannot_be_captured_runs_without_a_graph(
    engines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Graph, "fails", True)
    engine = Engine()
    instance = engines.EngineInstance(
        engine, engines.profiles_of(engine, (0,)), torch.device("cpu"), "m_0_0"
    )
    config = "max_batch_size: 2 optimization { cuda { graphs: true } }"
    instance.capture(load_spec(tmp_path, config).config)
    assert "no CUDA graph for {'x': (1, 3)}: operation not permitted" in caplog.text
    answer(instance, 1)
