"""ONNX models under Triton's parameters, execution providers as it spells them, and errors.

Providers of devices are asked for at the boundary and never started: test_onnx_devices.py goes
their way on the CPU, tests/gpu on a card.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from msgspec.structs import replace
from onnx import helper, numpy_helper

from tests.support import onnx_models as om
from tests.support.backend_instances import check_concurrent, check_no_growth
from tests.unit.worker_runtime.backends.onnx_sums import (
    PAIR,
    ROWS,
    accelerated,
    entry,
    spec,
    sums_in,
)
from worker_runtime.backends.base import Placement
from worker_runtime.backends.catalog import backend
from worker_runtime.backends.onnxruntime import backend as module
from worker_runtime.backends.onnxruntime import sessions
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
)
from worker_runtime.repository.pbtxt import parse

Array = np.ndarray[Any, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sums_in(tmp_path)


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
