"""Loads PyTorch models."""

import contextlib
import gc
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from worker_runtime.backends.base import Instance, LoadSpec
from worker_runtime.backends.device.streams import CAPTURES
from worker_runtime.backends.graph_sizes import GraphSize, usual_sizes
from worker_runtime.backends.pytorch.files import Kind, kind_of
from worker_runtime.backends.pytorch.instances import (
    Module,
    Switches,
    TorchCall,
    TorchDeviceInstance,
    TorchInstance,
)
from worker_runtime.errors import (
    ConfigInvalid,
    LoadFailed,
    Problem,
)
from worker_runtime.files.contents import kinds_of_file
from worker_runtime.types.code import CodeReason
from worker_runtime.types.signature import ModelGraph

_TRUE, _FALSE = {"true", "1"}, {"false", "0"}
DEVICE = "cuda"  # PyTorch's name for where the instances on GPUs are
_LOADING = threading.Lock()  # torch.load is one for all of the process
_JIT: Any = torch.jit  # why: torch has no types for what is used of it here


class TorchModel:
    """``graph`` is None: TorchScript does not say shapes, so the configuration must."""

    graph: ModelGraph | None = None
    inline: Instance | None = None

    def __init__(self, instances: Sequence[TorchInstance | TorchDeviceInstance]) -> None:
        self.instances = instances

    def close(self) -> None:
        for instance in self.instances:
            instance.close()
        self.instances = ()
        gc.collect()  # why: modules are full of cycles, and gc.freeze leaves them lying about
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


class PytorchBackend:
    def load(self, spec: LoadSpec) -> TorchModel:
        """One module per instance, or per device with ENABLE_WEIGHT_SHARING. Raises LoadFailed."""
        path = spec.path / (spec.filename or "model.pt")
        if not path.is_file():
            message = f"unable to find '{path}' for model '{spec.name}'"
            raise LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name))
        kind = kind_of(path, spec.name)
        check_file(path, spec)
        _executor_switches(spec)
        do = _switches(spec)
        shared: dict[str, Module] = {}
        instances: list[TorchInstance | TorchDeviceInstance] = []
        for place in spec.placements:
            device = torch.device("cpu") if place.gpu is None else torch.device(DEVICE, place.gpu)
            module = shared.get(str(device))
            # why also exported ones: they keep no state between calls, so copies gain nothing.
            if module is None or not (do.share_weights or kind is not Kind.SCRIPT):
                with CAPTURES.load():
                    module = shared[str(device)] = load_module(path, kind, device, spec.name)
            call = TorchCall(spec, module, do)
            if place.gpu is None:
                instances.append(TorchInstance(call, do.intra_threads))
            else:
                sizes = _batch_sizes(spec.config)
                instances.append(
                    TorchDeviceInstance(call, device, sizes, clean_cache=do.clean_cache)
                )
        return TorchModel(instances)


def _batch_sizes(config: Any) -> Sequence[GraphSize]:
    """Those that batches may be padded to: where the server makes batches, and of any rows."""
    if config.WhichOneof("scheduling_choice") != "dynamic_batching":
        return ()
    return usual_sizes(config.max_batch_size, config.dynamic_batching.preferred_batch_size)


def load_module(path: Path, kind: Kind, device: torch.device, model: str) -> Module:
    """Raises LoadFailed with PyTorch's own words."""
    try:
        if kind is Kind.SCRIPT:
            module: Any = _JIT.load(str(path), map_location=device)
            module.eval()
            return module  # type: ignore[no-any-return] # torch.jit has no types
        if kind is Kind.EXPORTED:
            with weights_alone():
                program = torch.export.load(path).module()
            return program.to(device)
        index = device.index if device.type == "cuda" else -1
        package: Module = torch._inductor.aoti_load_package(str(path), device_index=index)
        return package
    except Exception as error:  # why so wide: PyTorch's loaders share no base class
        message = f"failed to load model '{model}': {error}"
        problem = Problem(
            "ModelLoadFailed",
            f"PyTorch {torch.__version__} cannot load this {kind.value} model",
            model=model,
            detail=str(error),
        )
        raise LoadFailed(message, problem) from error


def check_file(path: Path, spec: LoadSpec) -> None:
    """Raises LoadFailed for code in the file that is not allowed: libraries, pickles, operators."""
    if not spec.code.limited:
        return
    name = f"{spec.name}/{spec.version}/{path.relative_to(spec.path).as_posix()}"
    for kind, description in kinds_of_file(path, name):
        spec.code.check(CodeReason(name, kind, "", f"{name} {description}."), spec.name)


@contextlib.contextmanager
def weights_alone() -> Iterator[None]:
    """Meanwhile ``torch.load`` makes tensors and nothing else.

    why: torch.export asks for that first, and unpickles the same bytes when it is refused.
    """
    with _LOADING:
        usual = torch.load

        def load(*arguments: Any, **options: Any) -> Any:
            return usual(*arguments, **(options | {"weights_only": True}))

        torch.load = load
        try:
            yield
        finally:
            torch.load = usual


def _switches(spec: LoadSpec) -> Switches:
    on_cpu = sum(place.gpu is None for place in spec.placements)
    given = _number(spec, "INTRA_OP_THREAD_COUNT")
    inter = _number(spec, "INTER_OP_THREAD_COUNT")
    if inter:
        # why suppressed: torch allows it once per process; the first model decides.
        with contextlib.suppress(RuntimeError):
            torch.set_num_interop_threads(inter)
    return Switches(
        inference_mode=_flag(spec, "INFERENCE_MODE", default=True),
        optimized=not _flag(spec, "DISABLE_OPTIMIZED_EXECUTION", default=False),
        share_weights=_flag(spec, "ENABLE_WEIGHT_SHARING", default=False),
        clean_cache=_flag(spec, "ENABLE_CACHE_CLEANING", default=False),
        cudnn=not _flag(spec, "DISABLE_CUDNN", default=False),
        intra_threads=given or max(1, spec.cores // max(1, on_cpu)),
    )


def _executor_switches(spec: LoadSpec) -> None:
    """TorchScript's own executor: process-wide, set only where a model asks."""
    if "ENABLE_JIT_EXECUTOR" in spec.parameters:
        torch._C._jit_set_profiling_executor(_flag(spec, "ENABLE_JIT_EXECUTOR", default=True))
    if "ENABLE_JIT_PROFILING" in spec.parameters:
        torch._C._jit_set_profiling_mode(_flag(spec, "ENABLE_JIT_PROFILING", default=True))


def _flag(spec: LoadSpec, key: str, *, default: bool) -> bool:
    value = spec.parameters.get(key, "").lower()
    if not value:
        return default
    if value not in _TRUE | _FALSE:
        raise _bad(spec, key, "true or false")
    return value in _TRUE


def _number(spec: LoadSpec, key: str) -> int:
    value = spec.parameters.get(key, "")
    if not value:
        return 0
    if not value.isdigit() or not int(value):
        raise _bad(spec, key, "a whole number above 0")
    return int(value)


def _bad(spec: LoadSpec, key: str, expected: str) -> ConfigInvalid:
    value = spec.parameters[key]
    message = f"parameter '{key}' of model '{spec.name}' is '{value}', expected {expected}"
    problem = Problem("ConfigInvalid", message, model=spec.name, field="parameters")
    return ConfigInvalid(message, (problem,))
