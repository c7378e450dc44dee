"""ONNX models under Triton's parameters, execution providers as it spells them, and errors.

No GPU was ever there: providers of devices are asked for at the boundary and never started.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from msgspec.structs import replace
from onnx import helper, numpy_helper

from tests.support import onnx_models as om
from tests.support.backend_instances import check_concurrent, check_no_growth
from tests.support.tensors import load_spec
from worker_runtime.backends.base import LoadSpec, Placement
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
    OPENVINO,
    TENSORRT,
    providers_of,
)
from worker_runtime.errors import (
    BackendFailed,
    ConfigInvalid,
    GpuMemoryFull,
    InvalidArgument,
    LoadFailed,
    Unavailable,
)
from worker_runtime.repository.pbtxt import parse

Array = np.ndarray[Any, Any]
ROWS = np.random.default_rng(0).random((6, 16), np.float32)
PAIR = {"INPUT0": ROWS, "INPUT1": ROWS[::-1].copy()}


def spec(folder: Path, text: str = "", **more: Any) -> LoadSpec:
    return load_spec(folder, 'backend: "onnxruntime"\n' + text, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(om.model_bytes(om.add_sub(kind=om.FP32)))
    return tmp_path


CPUS = (Placement("m_0", None), Placement("m_1", None))
OPENVINO_CPU = (
    'optimization { execution_accelerators { cpu_execution_accelerator { name: "openvino" } } }'
)


def test_sessions_open_side_by_side(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(2, timeout=30)
    real = sessions.open_session

    def opened(*arguments: Any) -> Any:
        together.wait()
        return real(*arguments)

    monkeypatch.setattr(module, "open_session", opened)
    model = backend("onnxruntime").load(replace(spec(folder), placements=CPUS, cores=4))
    assert len(model.instances) == 2
    np.testing.assert_array_equal(total_of(model), PAIR["INPUT0"] + PAIR["INPUT1"])
    # the next of these finds what the first has compiled
    begun: list[int] = []
    monkeypatch.setattr(module, "open_session", lambda *_: begun.append(threading.get_ident()))
    monkeypatch.setattr(module, "OnnxModel", lambda *_: None)
    config = parse(OPENVINO_CPU)
    backend("onnxruntime").load(replace(spec(folder), placements=CPUS, cores=4, config=config))
    assert begun == [threading.get_ident()] * 2


def total_of(model: Any) -> Array:
    found: Array = model.instances[0].execute(dict(PAIR), ["OUTPUT0"])[0]
    return found


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"intra_op_thread_count": "1"},
        {"intra_op_thread_count": "2", "inter_op_thread_count": "2", "execution_mode": "1"},
        {"enable_mem_arena": "0", "enable_mem_pattern": "false"},
        {"memory.enable_memory_arena_shrinkage": "cpu:0"},
        {"share_session_between_instances": "true", "session.set_denormal_as_zero": "1"},
    ],
)
@pytest.mark.parametrize("graph_level", [-1, 0, 1, 2])
def test_parameters_keep_the_answers(
    folder: Path, parameters: dict[str, str], graph_level: int
) -> None:
    def answer() -> Array:
        model = backend("onnxruntime").load(spec(folder, graph_level=graph_level, **parameters))
        found = total_of(model)
        model.close()
        return found

    # Models are loaded in threads, and it matters: a process's first session with
    # set_denormal_as_zero leaves its thread without subnormal numbers for good.
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(answer).result()
    np.testing.assert_array_equal(found, PAIR["INPUT0"] + PAIR["INPUT1"])


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"execution_mode": "2"}, r"values for  execution_mode are 0 or 1 but got 2 \."),
        ({"execution_mode": "x"}, "failed to convert 'x' to integral number"),
        ({"intra_op_thread_count": "two"}, "failed to convert 'two' to integral number"),
        ({"enable_mem_arena": "maybe"}, "failed to convert 'maybe' to boolean"),
        ({"share_session_between_instances": "2"}, "failed to convert '2' to boolean"),
    ],
)
def test_parameters_are_refused_in_tritons_words(
    folder: Path, parameters: dict[str, str], text: str
) -> None:
    with pytest.raises(ConfigInvalid, match=text):
        backend("onnxruntime").load(spec(folder, **parameters))


def accelerated(kind: str, *items: str) -> Any:
    blocks = "".join(f"{kind}_execution_accelerator {{ {item} }}" for item in items)
    return parse(f"optimization {{ execution_accelerators {{ {blocks} }} }}")


def entry(key: str, value: str) -> str:
    return f'parameters {{ key: "{key}" value: "{value}" }}'


@pytest.mark.parametrize(
    ("config", "parameters", "gpu", "expected"),
    [
        (parse(""), {}, None, [(CPU, {})]),
        (parse(""), {}, 1, [(CUDA, {"device_id": "1"}), (CPU, {})]),
        (
            parse(""),
            {
                "cudnn_conv_algo_search": "1",
                "gpu_mem_limit": "1000",
                "arena_extend_strategy": "1",
                "do_copy_in_default_stream": "true",
            },
            0,
            [
                (
                    CUDA,
                    {
                        "cudnn_conv_algo_search": "HEURISTIC",
                        "arena_extend_strategy": "kSameAsRequested",
                        "gpu_mem_limit": "1000",
                        "do_copy_in_default_stream": "1",
                        "device_id": "0",
                    },
                ),
                (CPU, {}),
            ],
        ),
        (
            accelerated("gpu", f'name: "cuda" {entry("use_ep_level_unified_stream", "TRUE")}'),
            {},
            0,
            [(CUDA, {"use_ep_level_unified_stream": "1", "device_id": "0"}), (CPU, {})],
        ),
        (
            accelerated(
                "gpu",
                f'name: "tensorrt" {entry("precision_mode", "FP16")}'
                f"{entry('max_workspace_size_bytes', '1073741824')}"
                f"{entry('trt_engine_cache_enable', 'true')}",
                f'name: "cuda" {entry("cudnn_conv_use_max_workspace", "0")}',
            ),
            {},
            2,
            [
                (
                    TENSORRT,
                    {
                        "trt_fp16_enable": "1",
                        "trt_max_workspace_size": "1073741824",
                        "trt_engine_cache_enable": "1",
                        "device_id": "2",
                    },
                ),
                (CUDA, {"cudnn_conv_use_max_workspace": "0", "device_id": "2"}),
                (CPU, {}),
            ],
        ),
        (
            accelerated("gpu", f'name: "tensorrt" {entry("precision_mode", "FP32")}'),
            {},
            0,
            [(TENSORRT, {"device_id": "0"}), (CUDA, {"device_id": "0"}), (CPU, {})],
        ),
        (accelerated("gpu", 'name: "tensorrt"'), {}, None, [(CPU, {})]),
        (
            accelerated("cpu", 'name: "openvino"'),
            {},
            None,
            [(OPENVINO, {"device_type": "CPU"}), (CPU, {})],
        ),
    ],
)
def test_providers_by_accelerators(
    config: Any, parameters: dict[str, str], gpu: int | None, expected: Any
) -> None:
    assert providers_of(config, parameters, gpu) == expected


@pytest.mark.parametrize(
    ("config", "parameters", "text"),
    [
        (
            accelerated("gpu", 'name: "rocm"'),
            {},
            "unknown Execution Accelerator 'rocm' is requested",
        ),
        (accelerated("cpu", 'name: "xnn"'), {}, "unknown Execution Accelerator 'xnn' is requested"),
        (
            accelerated("gpu", f'name: "tensorrt" {entry("precision_mode", "FP8")}'),
            {},
            "unsupported precision mode 'FP8' is requested",
        ),
        (
            accelerated("gpu", f'name: "tensorrt" {entry("speed", "high")}'),
            {},
            "unknown parameter 'speed' is provided for TensorRT Execution Accelerator",
        ),
        (
            accelerated("gpu", f'name: "tensorrt" {entry("trt_dla_core", "x")}'),
            {},
            "failed to convert 'x' to integral number",
        ),
        (
            parse(""),
            {"cudnn_conv_algo_search": "3"},
            "unsupported cudnn_conv_algo_search value '3'",
        ),
        (parse(""), {"arena_extend_strategy": "2"}, "unsupported arena_extend_strategy value '2'"),
    ],
)
def test_accelerators_are_refused_in_tritons_words(
    config: Any, parameters: dict[str, str], text: str
) -> None:
    with pytest.raises(ConfigInvalid, match=text):
        providers_of(config, parameters, 0)


def test_a_provider_of_another_build_names_its_wheel(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ort, "get_available_providers", lambda: [CPU])
    text = (
        'optimization { execution_accelerators { cpu_execution_accelerator { name: "openvino" }}}'
    )
    with pytest.raises(LoadFailed, match=r"has no OpenVINO.* pip install onnxruntime-openvino"):
        backend("onnxruntime").load(spec(folder, text))


class Session:
    """A session as ONNX Runtime gives it when a provider did not start: silently on the CPU."""

    def get_providers(self) -> list[str]:
        return [CPU]


def test_a_provider_that_does_not_start_is_no_cpu_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ort, "get_available_providers", lambda: [CUDA, CPU])
    monkeypatch.setattr(ort, "InferenceSession", lambda *_, **__: Session())
    with pytest.raises(LoadFailed, match=r"PyTorch .* cannot use GPU 0"):
        backend("onnxruntime").load(spec(folder, gpus=(0,)))
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "torch", None)
        with pytest.raises(LoadFailed, match="pip install torch"):
            backend("onnxruntime").load(spec(folder, gpus=(0,)))
    monkeypatch.setattr(module, "DEVICE", "cpu")
    with pytest.raises(LoadFailed, match="could not start CUDAExecutionProvider"):
        backend("onnxruntime").load(spec(folder, gpus=(0,)))


NO_MEMORY = (
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Add "
    "node. Name:'' Status Message: bfc_arena.cc:358 AllocateRawInternal Failed to allocate memory "
    "for requested buffer of size 8589934592"
)


def test_a_lack_of_memory_is_said_plainly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = sessions.execution_fault(RuntimeError(NO_MEMORY))
    assert str(fault).startswith("out of memory while the model ran; try smaller batches: onnx run")
    assert not isinstance(fault, GpuMemoryFull)
    on_gpu = sessions.execution_fault(RuntimeError(NO_MEMORY), on_gpu=True)
    assert isinstance(on_gpu, GpuMemoryFull)
    assert str(on_gpu) == str(fault)

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError(NO_MEMORY)

    monkeypatch.setattr(ort, "InferenceSession", refuse)
    with pytest.raises(LoadFailed, match="failed to load model 'm': out of memory"):
        backend("onnxruntime").load(spec(folder))


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
        self._sess = real._sess
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
        self._real.run_with_iobinding(binding, options)


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


def test_texts_are_not_bound(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(om.model_bytes(om.identity(om.STRING, "N", 2)))
    assert not bindable(ort.InferenceSession(tmp_path / "model.onnx", providers=[CPU]))
    instance = backend("onnxruntime").load(spec(tmp_path)).instances[0]
    given = np.array([[b"a", "ü".encode()]], dtype=object)
    assert instance.execute({"x": given}, ["y"])[0].tolist() == [["a", "ü"]]
    with pytest.raises(InvalidArgument, match="not UTF-8"):
        instance.execute({"x": np.array([[b"\xff", b""]], dtype=object)}, ["y"])


@pytest.mark.parametrize("inside", ["", "model.onnx"])
def test_weights_in_files_of_their_own(tmp_path: Path, inside: str) -> None:
    place = tmp_path / inside
    place.mkdir(exist_ok=True)
    weights = numpy_helper.from_array(ROWS, "w")
    body = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [om.tensor("x", om.FP32, 6, 16)],
        [om.tensor("y", om.FP32, 6, 16)],
        [weights],
    )
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save_model(
        model, place / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    assert (place / "w.bin").stat().st_size == ROWS.nbytes
    loaded = backend("onnxruntime").load(spec(tmp_path))
    (found,) = loaded.instances[0].execute({"x": ROWS}, ["y"])
    np.testing.assert_array_equal(found, 2 * ROWS)


def test_batches_equal_singles_and_wrong_data_fails_alone(folder: Path) -> None:
    instance = backend("onnxruntime").load(spec(folder)).instances[0]
    (batched,) = instance.execute(dict(PAIR), ["OUTPUT0"])
    singles = [
        instance.execute({name: rows[i : i + 1] for name, rows in PAIR.items()}, ["OUTPUT0"])[0]
        for i in range(len(ROWS))
    ]
    np.testing.assert_array_equal(np.concatenate(singles), batched)
    with pytest.raises(BackendFailed, match="onnx runtime error 2: "):
        instance.execute({"INPUT0": ROWS, "INPUT1": ROWS[:, :3]}, ["OUTPUT0"])
    with pytest.raises(BackendFailed, match="onnx runtime error 2: "):
        instance.execute({name: rows.astype(np.int32) for name, rows in PAIR.items()}, ["OUTPUT0"])
    np.testing.assert_array_equal(instance.execute(dict(PAIR), ["OUTPUT0"])[0], batched)


def test_instances_answer_at_the_same_time(folder: Path) -> None:
    expected = PAIR["INPUT0"] + PAIR["INPUT1"]
    model = backend("onnxruntime").load(spec(folder))
    check_concurrent(model, PAIR, "OUTPUT0", expected, repeats=200)


def test_loading_again_and_again_does_not_grow(folder: Path) -> None:
    check_no_growth(lambda: backend("onnxruntime").load(spec(folder)), PAIR, "OUTPUT0", mib=8)
