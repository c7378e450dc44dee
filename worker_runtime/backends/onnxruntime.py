"""ONNX Runtime: sessions with thread defaults that do not fight, on the CPU or a CUDA device."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from worker_runtime.backends.base import Array, LoadSpec, Placement
from worker_runtime.errors import ConfigInvalid, InvalidArgument, LoadFailed, Problem, Unavailable
from worker_runtime.types.graph import GraphTensor, ModelGraph

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
_ERROR = re.compile(r"\[ONNXRuntimeError\] : (\d+) : \w+ : (.*)", re.DOTALL)
_LEVELS = {
    -1: ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    1: ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
}
# Triton's parameters that are plain session configuration entries or attributes.
_INTRA, _INTER = "intra_op_thread_count", "inter_op_thread_count"


class OnnxRuntimeBackend:
    def load(self, spec: LoadSpec) -> "OnnxModel":
        """One session per instance; single-threaded CPU instances share one: less memory."""
        path = model_file(spec)
        cpu = [place for place in spec.placements if place.gpu is None]
        intra = _number(spec, _INTRA, 0)
        intra = intra or max(1, spec.cores // max(1, len(cpu)))
        shared: Any = None
        on_cpu: Any = None
        sessions = []
        for place in spec.placements:
            if place.gpu is None and intra == 1:
                shared = shared or _session(spec, path, place, intra)
                sessions.append(shared)
            else:
                sessions.append(_session(spec, path, place, intra))
            if place.gpu is None:
                on_cpu = sessions[-1]
        # why only without devices: the CPU time of a thread says nothing about a GPU's work.
        model = OnnxModel(sessions, on_cpu if len(cpu) == len(spec.placements) else None)
        model.memory = _memory(path, spec.placements, shared=shared is not None)
        return model


class OnnxInstance:
    def __init__(self, session: Any) -> None:
        # why the inner session: the wrapper's checks repeat ours, and cost as much as a tiny model.
        self._run = session._sess.run
        self._strings = {
            item.name for item in session.get_inputs() if item.type == "tensor(string)"
        }

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        if self._strings:
            for name in self._strings & inputs.keys():
                inputs[name] = _decoded(name, inputs[name])
        arrays: list[Array] = self._run(outputs, inputs, None)
        return arrays

    def close(self) -> None:
        """Let go of the session, which may hold gigabytes, whoever still holds this instance."""
        self._run = _closed


class OnnxModel:
    def __init__(self, sessions: list[Any], on_cpu: Any) -> None:
        # kind, device and bytes: what the weights take
        self.memory: tuple[tuple[str, int, int], ...] = ()
        self.graph: ModelGraph | None = graph_of(sessions[0])
        self.inline: OnnxInstance | None = OnnxInstance(on_cpu) if on_cpu is not None else None
        self.instances: list[OnnxInstance] = [OnnxInstance(session) for session in sessions]

    def close(self) -> None:
        for instance in (*self.instances, self.inline):
            if instance is not None:
                instance.close()
        self.instances = []
        self.inline = None


def _closed(*_arguments: Any) -> Any:
    raise Unavailable("the model was unloaded")


def _memory(
    path: Path, placements: Sequence[Placement], *, shared: bool
) -> tuple[tuple[str, int, int], ...]:
    """An estimate: each session holds the weights once, as they lie in the files."""
    size = sum(item.stat().st_size for item in path.parent.iterdir() if item.is_file())
    on_cpu = sum(place.gpu is None for place in placements)
    gpus = sorted({place.gpu for place in placements if place.gpu is not None})
    rows = [("CPU", 0, size * (1 if shared else on_cpu))] if on_cpu else []
    rows += [("GPU", gpu, size * sum(p.gpu == gpu for p in placements)) for gpu in gpus]
    return tuple(rows)


def model_file(spec: LoadSpec) -> Path:
    """The file to load: the named one, or the one inside a directory of that name."""
    path = spec.path / (spec.filename or "model.onnx")
    if path.is_dir():
        path = path / "model.onnx"
    if not path.is_file():
        message = f"model file '{spec.path.name}/{path.relative_to(spec.path)}' does not exist"
        raise LoadFailed(
            f"unable to find '{path}' for model instance '{spec.name}'",
            Problem("ModelLoadFailed", message, model=spec.name),
            "Unavailable",
        )
    return path


def open_session(path: Path, options: Any, providers: list[Any], name: str) -> Any:
    """A session, or LoadFailed with ONNX Runtime's own words."""
    try:
        return ort.InferenceSession(str(path), options, providers=providers)
    # why so wide: ONNX Runtime's exceptions share no base class but Exception.
    except Exception as error:
        code = "NotAnOnnxFile" if "INVALID_PROTOBUF" in str(error) else "ModelLoadFailed"
        problem = Problem(
            code,
            f"ONNX Runtime {ort.__version__} cannot load this model",
            model=name,
            detail=str(error),
            hints=("Export it again, or for an older opset: torch.onnx.export(opset_version=17).",),
        )
        raise LoadFailed(_told(error), problem, "Internal") from error


def _told(error: Exception) -> str:
    """What ONNX Runtime says, as Triton's backend passes it on."""
    found = _ERROR.fullmatch(str(error))
    return f"onnx runtime error {found[1]}: {found[2]}" if found else str(error)


def inspect_graph(path: Path, name: str) -> ModelGraph:
    """Load once, without optimisation, only to learn inputs and outputs. Raises LoadFailed."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return graph_of(open_session(path, options, ["CPUExecutionProvider"], name))


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


def _session(spec: LoadSpec, path: Path, place: Placement, intra: int) -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = _LEVELS.get(
        spec.graph_level, ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    )
    parameters = spec.parameters
    options.intra_op_num_threads = intra
    options.inter_op_num_threads = _number(spec, _INTER, 1)
    if parameters.get("execution_mode", "0") == "1":
        options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    if parameters.get("enable_mem_arena") == "0":
        options.enable_cpu_mem_arena = False
    if parameters.get("enable_mem_pattern") == "0":
        options.enable_mem_pattern = False
    # why off: spinning threads burn 1.4 to 2.5 times the CPU and starve the event loop.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    for key, value in parameters.items():
        if key.startswith("session."):
            options.add_session_config_entry(key, value)
    return open_session(path, options, _providers(place, parameters), spec.name)


def _number(spec: LoadSpec, key: str, default: int) -> int:
    """A parameter that counts something. Raises ConfigInvalid."""
    value = spec.parameters.get(key, "")
    if not value:
        return default
    if not value.isdigit():
        message = f"parameter '{key}' of model '{spec.name}' is '{value}', expected a whole number"
        problem = Problem("ConfigInvalid", message, model=spec.name, field="parameters")
        raise ConfigInvalid(message, (problem,))
    return int(value)


def _providers(place: Placement, parameters: Any) -> list[Any]:
    if place.gpu is None:
        return ["CPUExecutionProvider"]
    settings = {"device_id": str(place.gpu)}
    for key in ("cudnn_conv_algo_search", "gpu_mem_limit", "arena_extend_strategy"):
        if key in parameters:
            settings[key] = parameters[key]
    return [("CUDAExecutionProvider", settings), "CPUExecutionProvider"]


def _decoded(name: str, array: Array) -> Array:
    """ONNX Runtime takes text; the wire has bytes."""
    flat = array.reshape(-1)
    try:
        text = [item.decode() if isinstance(item, bytes) else item for item in flat]
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"input '{name}' has an element that is not UTF-8: {error}"
        ) from error
    decoded = np.empty(len(text), dtype=object)
    decoded[:] = text
    return decoded.reshape(array.shape)
