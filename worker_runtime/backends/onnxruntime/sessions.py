"""ONNX Runtime sessions: their options, how they are opened, what they and their errors say."""

import contextlib
import functools
import io
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnxruntime as ort

from worker_runtime.backends.attempt import side_by_side
from worker_runtime.backends.base import LoadSpec
from worker_runtime.backends.configuration import as_flag, as_integer, bad_value
from worker_runtime.backends.onnxruntime.providers import CPU, CUDA, TENSORRT, WHEELS, Provider
from worker_runtime.errors import BackendFailed, GpuMemoryFull, LoadFailed, Problem
from worker_runtime.files.inside import inside, leaves
from worker_runtime.types.code import FILES, LIBRARY
from worker_runtime.types.signature import GraphTensor, ModelGraph

logger = logging.getLogger(__name__)
_ERROR = re.compile(r"\[ONNXRuntimeError\] : (\d+) : \w+ : (.*)", re.DOTALL)
_NO_MEMORY = re.compile(
    r"failed to allocate memory|out of memory|CUDA_ERROR_OUT_OF_MEMORY|ALLOC_FAILED"
    r"|cudaErrorMemoryAllocation|CUDA failure 2\b",
    re.IGNORECASE,
)
NO_GRAPH = -1
_BESIDE = "session.model_external_initializers_file_folder_path"
_PLUGINS = "trt_extra_plugin_lib_paths"
_ADDRESSES = ("gpu_external_", "user_compute_stream", "has_user_compute_stream")
# Options of execution providers that are files or folders.
_PATHS = frozenset(
    {
        "trt_engine_cache_path",
        "trt_timing_cache_path",
        "trt_ep_context_file_path",
        "trt_int8_calibration_table_name",
        "cache_dir",
        "load_config",
    }
)
_LEVELS = {
    -1: ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    1: ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    2: ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
_TYPES = {
    "tensor(bool)": "BOOL",
    "tensor(uint8)": "UINT8",
    "tensor(uint16)": "UINT16",
    "tensor(uint32)": "UINT32",
    "tensor(uint64)": "UINT64",
    "tensor(int8)": "INT8",
    "tensor(int16)": "INT16",
    "tensor(int32)": "INT32",
    "tensor(int64)": "INT64",
    "tensor(float16)": "FP16",
    "tensor(float)": "FP32",
    "tensor(double)": "FP64",
    "tensor(string)": "BYTES",
}


def session_options(spec: LoadSpec, intra: int) -> Any:
    """Options by Triton's parameters; ``intra`` threads per session. Raises ConfigInvalid."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = _LEVELS.get(
        spec.graph_level, ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    )
    options.intra_op_num_threads = intra
    options.inter_op_num_threads = thread_count(spec, "inter_op_thread_count") or 1
    mode = as_integer(spec.parameters.get("execution_mode", "0"))
    if mode not in (0, 1):
        raise bad_value(
            "Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 "
            f"but got {mode} ."
        )
    if mode:
        options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.enable_cpu_mem_arena = _flag(spec, "enable_mem_arena", default=True)
    options.enable_mem_pattern = _flag(spec, "enable_mem_pattern", default=True)
    # why off: spinning threads burn 1.4 to 2.5 times the CPU and starve the event loop.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    for key, value in spec.parameters.items():
        if key.startswith("session."):
            options.add_session_config_entry(key, value)
    _register_operators(spec, options)
    return options


def run_options(spec: LoadSpec, graph: int = 0, *, waits: bool = True) -> Any:
    """What each execution is told; None for nothing.

    ``graph``: the number of the CUDA graph to capture or replay, NO_GRAPH for none, 0 where there
    are no graphs at all. One that does not ``wait`` leaves the device at work.
    """
    key = "memory.enable_memory_arena_shrinkage"
    if key not in spec.parameters and not graph and waits:
        return None
    options = ort.RunOptions()
    if not waits:
        options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    if key in spec.parameters:
        options.add_run_config_entry(key, spec.parameters[key])
    if graph:
        options.add_run_config_entry("gpu_graph_id", str(graph))
    return options


def thread_count(spec: LoadSpec, key: str) -> int:
    """0: not given. Raises ConfigInvalid."""
    return max(0, as_integer(spec.parameters.get(key) or "0"))


def open_sessions(opens: Sequence[Callable[[], Any]], at_once: int) -> list[Any]:
    """What each of ``opens`` gives, so many ``at_once``; each is an ``open_session``."""
    # why around all: filters are the whole process's, and threads would put back each other's
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ``open_session`` checks what they say
        return side_by_side(opens, at_once=at_once)


def open_session(
    path: Path, options: Any, providers: Sequence[Provider], name: str, beside: bytes | None = None
) -> Any:
    """A session on exactly these providers, or LoadFailed with ONNX Runtime's own words.

    ``beside``: the model without the weights that are to be mapped from ``path``.
    """
    require(providers, name)
    if any(provider in (CUDA, TENSORRT) for provider, _ in providers):
        _load_cuda()
    try:
        session = _session(path, options, list(providers), beside)
    # why so wide: ONNX Runtime's exceptions share no base class but Exception.
    except Exception as error:
        on_gpu = any(provider in (CUDA, TENSORRT) for provider, _ in providers)
        raise _refused(error, name, on_gpu=on_gpu) from error
    started = session.get_providers()
    for provider, _ in providers:
        # why: ONNX Runtime only logs it, and then runs the model on the CPU.
        if provider not in started:
            message = (
                f"failed to load model '{name}': ONNX Runtime could not start {provider}; are "
                "its libraries and a device there?"
            )
            raise LoadFailed(message, Problem("ModelLoadFailed", message, model=name))
    session.disable_fallback()
    return session


def _session(path: Path, options: Any, providers: list[Provider], beside: bytes | None) -> Any:
    if beside is not None:
        options.add_session_config_entry(_BESIDE, str(path.parent))
        try:
            return ort.InferenceSession(beside, options, providers=providers)
        except Exception as error:  # why so wide: as above
            # why again: of the file itself ONNX Runtime speaks as Triton passes it on
            logger.info("%s is read whole, its weights could not be mapped: %s", path, error)
    return ort.InferenceSession(str(path), options, providers=providers)


@functools.cache
def _load_cuda() -> None:
    """The libraries of CUDA and cuDNN that come by pip, which lie where no loader looks for them.

    Of what is missing the provider says more when it starts.
    """
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        ort.preload_dlls()
    if said.getvalue():
        logger.debug("ONNX Runtime's libraries: %s", said.getvalue().strip())


def execution_fault(error: Exception, *, on_gpu: bool = False) -> BackendFailed:
    """What an execution raised, as Triton tells it; a lack of memory in plain words as well."""
    text = error_text(error)
    if _NO_MEMORY.search(text):
        kind = GpuMemoryFull if on_gpu else BackendFailed  # its words are the same for both
        return kind(f"out of memory while the model ran; try smaller batches: {text}")
    return BackendFailed(text)


def error_text(error: Exception) -> str:
    """What ONNX Runtime says, as Triton's backend passes it on."""
    found = _ERROR.fullmatch(str(error))
    return f"onnx runtime error {found[1]}: {found[2]}" if found else str(error)


def require(providers: Sequence[Provider], name: str) -> None:
    """Raises LoadFailed for a provider that is not in this build of ONNX Runtime."""
    available = ort.get_available_providers()
    for provider, _ in providers:
        if provider != CPU and provider not in available:
            message = (
                f"failed to load model '{name}': this build of ONNX Runtime has no {provider}. "
                f"Install it with: pip install {WHEELS[provider]}, in the place of the other "
                "builds of onnxruntime"
            )
            raise LoadFailed(message, Problem("BackendUnsupported", message, model=name))


def _refused(error: Exception, name: str, *, on_gpu: bool = False) -> LoadFailed:
    text = error_text(error)
    if _NO_MEMORY.search(text):
        where = " on the GPU" if on_gpu else ""
        message = f"failed to load model '{name}': out of memory{where}: {text}"
        problem = Problem(
            "ModelLoadFailed", message, model=name, hints=("fewer instances, or a smaller model",)
        )
        return LoadFailed(message, problem, "Internal")
    code = "NotAnOnnxFile" if "INVALID_PROTOBUF" in str(error) else "ModelLoadFailed"
    problem = Problem(
        code,
        f"ONNX Runtime {ort.__version__} cannot load this model",
        model=name,
        detail=str(error),
        hints=("Export it again, or for an older opset: torch.onnx.export(opset_version=17).",),
    )
    return LoadFailed(text, problem, "Internal")


def _register_operators(spec: LoadSpec, options: Any) -> None:
    """Libraries of custom operators, which lie in the model's directory or where they say."""
    if spec.config is None:
        return
    for filename in spec.config.model_operations.op_library_filename:
        path = library(spec, filename, "model_operations.op_library_filename")
        try:
            options.register_custom_ops_library(str(path))
        except Exception as error:  # why so wide: as above
            raise _refused(error, spec.name) from error


def library(spec: LoadSpec, name: str, field: str) -> Path:
    """A library that the model names, once it may. Raises LoadFailed or FileUnreadable."""
    spec.code.demand(LIBRARY, spec.name, name, f"is a library that {field} names")
    if spec.code.limited:
        return inside(spec.path.parent, name, field)
    beside = spec.path.parent / name
    return beside if beside.exists() else Path(name)


def contained(providers: Sequence[Provider], spec: LoadSpec) -> list[Provider]:
    """The providers with what their options name in the model's folder, where code is limited.

    Raises LoadFailed or FileUnreadable.
    """
    if not spec.code.limited:
        return list(providers)
    return [
        (provider, {key: _contained(key, value, spec) for key, value in options.items()})
        for provider, options in providers
    ]


def _contained(key: str, value: str, spec: LoadSpec) -> str:
    field = f"optimization.execution_accelerators.{key}"
    if key.startswith(_ADDRESSES):
        spec.code.demand(LIBRARY, spec.name, key, "is an address of code in the process")
    if key == _PLUGINS:
        return ";".join(str(library(spec, name, field)) for name in value.split(";") if name)
    if key not in _PATHS or not value:
        return value
    spec.code.demand(FILES, spec.name, value, f"is read or written: {field} names it")
    model = spec.path.parent
    # why its folder: a cache is made where there is none yet
    folder = inside(model, str(Path(value).parent), field, directories=True)
    name = folder.relative_to(model.resolve()) / Path(value).name
    if (model / name).exists() or leaves(str(name)):
        return str(inside(model, str(name), field, directories=True))
    return str(model / name)


def _flag(spec: LoadSpec, key: str, *, default: bool) -> bool:
    return as_flag(spec.parameters[key]) if key in spec.parameters else default


def inspect_graph(path: Path, name: str) -> ModelGraph:
    """Load once, without optimisation, only to learn inputs and outputs. Raises LoadFailed."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return graph_of(open_session(path, options, [("CPUExecutionProvider", {})], name))


def graph_of(session: Any) -> ModelGraph:
    return ModelGraph(
        inputs=tuple(_tensor(item) for item in session.get_inputs()),
        outputs=tuple(_tensor(item) for item in session.get_outputs()),
        producer=session.get_modelmeta().producer_name,
        initializers=tuple(_tensor(item) for item in session.get_overridable_initializers()),
    )


def _tensor(item: Any) -> GraphTensor:
    shape = tuple(d if isinstance(d, int | str) and d != "" else -1 for d in item.shape)
    return GraphTensor(item.name, _TYPES.get(item.type, item.type), shape)
