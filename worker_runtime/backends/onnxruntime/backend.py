"""Loads ONNX models: one session per instance, with thread defaults that do not fight."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from worker_runtime.backends.base import LoadSpec, Placement
from worker_runtime.backends.configuration import as_flag, bad_value
from worker_runtime.backends.onnxruntime.instances import (
    BoundInstance,
    GraphInstance,
    OnnxInstance,
    bindable,
)
from worker_runtime.backends.onnxruntime.providers import CPU, CUDA, captures_graphs, providers_of
from worker_runtime.backends.onnxruntime.sessions import (
    contained,
    graph_of,
    open_session,
    open_sessions,
    run_options,
    session_options,
    thread_count,
)
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.types.signature import ModelGraph

DEVICE = "cuda"  # ONNX Runtime's name for where the tensors of instances on GPUs are


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
        chosen: list[int] = []  # of ``opened``, by instance
        cached = False
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
                opened.append(partial(open_session, path, options, allowed, spec.name))
                # why: TensorRT and OpenVINO compile for minutes, and the next one finds the result
                cached |= any(provider not in (CPU, CUDA) for provider, _ in providers)
                if together or (place.gpu is None and intra == 1):
                    shared[key] = number
            chosen.append(number)
        sessions = open_sessions(opened, 1 if cached else spec.cores)
        return OnnxModel(spec, path, [sessions[number] for number in chosen])


class OnnxModel:
    def __init__(self, spec: LoadSpec, path: Path, sessions: Sequence[Any]) -> None:
        self.graph: ModelGraph | None = graph_of(sessions[0])
        options = run_options(spec)
        self.instances: list[OnnxInstance | BoundInstance] = [
            _instance(session, place, spec)
            for session, place in zip(sessions, spec.placements, strict=True)
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


def _instance(session: Any, place: Placement, spec: LoadSpec) -> OnnxInstance | BoundInstance:
    graphs = captures_graphs(providers_of(spec.config, spec.parameters, place.gpu))
    if place.gpu is not None and bindable(session):
        if graphs:
            return GraphInstance(session, DEVICE, place.gpu, partial(run_options, spec))
        return BoundInstance(session, DEVICE, place.gpu, run_options(spec))
    if graphs:
        raise bad_value(
            f"model '{spec.name}' has tensors of texts, which no CUDA graph can have",
            "optimization.execution_accelerators",
        )
    return OnnxInstance(session, run_options(spec))


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
