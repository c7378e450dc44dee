"""Loads ONNX models: one session per instance, with thread defaults that do not fight."""

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worker_runtime.backends.base import LoadSpec, Placement
from worker_runtime.backends.configuration import as_flag, bad_value
from worker_runtime.backends.graph_sizes import GraphBudget, graph_sizes
from worker_runtime.backends.onnxruntime.instances import OnnxInstance, bindable
from worker_runtime.backends.onnxruntime.providers import (
    CPU,
    CUDA,
    captures_graphs,
    computing_on,
    providers_of,
)
from worker_runtime.backends.onnxruntime.sessions import (
    contained,
    graph_of,
    open_session,
    open_sessions,
    require,
    run_options,
    session_options,
    thread_count,
)
from worker_runtime.backends.onnxruntime.weights import graph_beside
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.types.signature import ModelGraph

if TYPE_CHECKING:  # PyTorch is imported for instances on GPUs alone
    from worker_runtime.backends.device.streams import Turn
    from worker_runtime.backends.onnxruntime.bound import OnnxDeviceInstance

MAP_WEIGHTS = "map-weights"  # of --backend-config
DEVICE = "cuda"  # PyTorch's and ONNX Runtime's name for where the tensors of GPU instances are


class OnnxRuntimeBackend:
    def load(self, spec: LoadSpec) -> "OnnxModel":
        """One session per instance, opened side by side.

        Single-threaded CPU instances share one: less memory. So do all instances of a group on one
        device with ``share_session_between_instances``.
        """
        path = model_file(spec)
        on_cpu = [place for place in spec.placements if place.gpu is None]
        intra = thread_count(spec, "intra_op_thread_count")
        intra = intra or max(1, spec.cores // max(1, len(on_cpu)))
        together = as_flag(spec.parameters.get("share_session_between_instances", "false"))
        shared: dict[tuple[str, int | None], int] = {}
        opened: list[Callable[[], Any]] = []
        turns: list[Turn | None] = []  # of ``opened``: on which stream those on GPUs compute
        chosen: list[int] = []  # of ``opened``, by instance
        cached = False
        beside = graph_beside(path.resolve()) if maps_weights(spec) else None
        for place in spec.placements:
            key = (place.name.rpartition("_")[0] if together else "", place.gpu)
            number = shared.get(key)
            providers = providers_of(spec.config, spec.parameters, place.gpu)
            if number is not None and captures_graphs(providers):
                raise bad_value(
                    f"model '{spec.name}': share_session_between_instances and CUDA graphs exclude "
                    "one another: a session with graphs runs in one thread"
                )
            if number is None:
                number = len(opened)
                options = session_options(spec, intra)
                allowed = contained(providers, spec)
                turn = None
                if place.gpu is not None:
                    require(allowed, spec.name)
                    turn = turn_on(place.gpu, spec.name)
                    allowed = computing_on(allowed, turn.stream.handle)
                turns.append(turn)
                mapped = beside if [name for name, _ in allowed] == [CPU] else None
                lies = path if mapped is None else path.resolve()  # a link's weights are elsewhere
                opened.append(partial(open_session, lies, options, allowed, spec.name, mapped))
                # why: TensorRT and OpenVINO compile for minutes, and the next one finds the result
                cached |= any(provider not in (CPU, CUDA) for provider, _ in providers)
                if together or (place.gpu is None and intra == 1):
                    shared[key] = number
            chosen.append(number)
        on_gpus = any(turn is not None for turn in turns)
        with _no_captures() if on_gpus else contextlib.nullcontext():
            sessions = open_sessions(opened, 1 if cached else spec.cores)
        return OnnxModel(
            spec,
            path,
            [sessions[number] for number in chosen],
            [turns[number] for number in chosen],
        )


class OnnxModel:
    def __init__(
        self,
        spec: LoadSpec,
        path: Path,
        sessions: Sequence[Any],
        turns: Sequence["Turn | None"],
    ) -> None:
        self.graph: ModelGraph | None = graph_of(sessions[0])
        options = run_options(spec)
        self.instances: list[OnnxInstance | OnnxDeviceInstance] = [
            _instance(session, turn, place, spec)
            for session, turn, place in zip(sessions, turns, spec.placements, strict=True)
        ]
        # why only on the plain CPU: the CPU time of a thread says nothing about a GPU's work.
        plain = all(session.get_providers() == [CPU] for session in sessions)
        self.inline: OnnxInstance | None = OnnxInstance(sessions[-1], options) if plain else None
        # kind, device and bytes: what the weights take
        self.memory = _memory(path, spec.placements, sessions)

    def close(self) -> None:
        for instance in (*self.instances, self.inline):
            if instance is not None:
                instance.close()
        self.instances = []
        self.inline = None


def _no_captures() -> contextlib.AbstractContextManager[None]:
    from worker_runtime.backends.device.streams import CAPTURES

    return CAPTURES.load()


def turn_on(gpu: int, model: str) -> "Turn":
    """The stream of a session on a GPU. Raises LoadFailed where PyTorch has no such device."""
    try:
        import torch

        from worker_runtime.backends.device.streams import Turn
    except ImportError as error:
        message = (
            f"failed to load model '{model}': {CUDA} computes on PyTorch's streams, and PyTorch is "
            "not installed: pip install torch"
        )
        problem = Problem("BackendUnsupported", message, model=model)
        raise LoadFailed(message, problem) from error
    try:
        return Turn(torch.device(DEVICE, gpu))
    except Exception as error:  # why so wide: PyTorch says in several ways that it has no CUDA
        message = (
            f"failed to load model '{model}': {CUDA} computes on PyTorch's streams, and PyTorch "
            f"{torch.__version__} cannot use GPU {gpu}: {error}"
        )
        raise LoadFailed(message, Problem("ModelLoadFailed", message, model=model)) from error


def _instance(
    session: Any, turn: "Turn | None", place: Placement, spec: LoadSpec
) -> "OnnxInstance | OnnxDeviceInstance":
    graphs = captures_graphs(providers_of(spec.config, spec.parameters, place.gpu))
    if turn is None or not bindable(session):
        if graphs:
            raise bad_value(
                f"model '{spec.name}' has tensors of texts, which no CUDA graph can have",
                "optimization.execution_accelerators",
            )
        return OnnxInstance(session, run_options(spec))
    import torch

    from worker_runtime.backends.device.streams import memory_of
    from worker_runtime.backends.onnxruntime.batch_sizes import BatchSizes
    from worker_runtime.backends.onnxruntime.bound import (
        GraphProgram,
        OnnxDeviceInstance,
        OnnxProgram,
    )

    device = torch.device(DEVICE, place.gpu or 0)
    sizes = graph_sizes(spec.config) if spec.config.max_batch_size else ()
    if not graphs:
        options = run_options(spec, waits=False)
        kept = BatchSizes(sizes)
        return OnnxDeviceInstance(
            device, turn, lambda: OnnxProgram(session, device, turn, options, kept)
        )
    waiting, going_on = partial(run_options, spec), partial(run_options, spec, waits=False)
    budget = GraphBudget(memory_of(device))
    return OnnxDeviceInstance(
        device,
        turn,
        lambda: GraphProgram(session, device, turn, going_on, waiting, sizes, budget),
    )


def _memory(
    path: Path, placements: Sequence[Placement], sessions: Sequence[Any]
) -> tuple[tuple[str, int, int], ...]:
    """An estimate: each session holds the weights once, as they lie in the files."""
    size = sum(item.stat().st_size for item in path.parent.iterdir() if item.is_file())
    held = {(id(session), place.gpu) for session, place in zip(sessions, placements, strict=True)}
    on_cpu = sum(gpu is None for _, gpu in held)
    gpus = sorted({gpu for _, gpu in held if gpu is not None})
    rows = [("CPU", 0, size * on_cpu)] if on_cpu else []
    rows += [("GPU", gpu, size * sum(other == gpu for _, other in held)) for gpu in gpus]
    return tuple(rows)


def maps_weights(spec: LoadSpec) -> bool:
    """Where nobody changes files in place, and nothing says how sessions are to treat weights."""
    if not as_flag(spec.backend_settings.get(MAP_WEIGHTS, "false")):
        return False
    return not any(key.startswith("session.") for key in spec.parameters)


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
