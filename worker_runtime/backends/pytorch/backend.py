"""Loads PyTorch models and runs batches on them."""

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from msgspec import Struct

from worker_runtime.backends.base import Array, Instance, LoadSpec
from worker_runtime.backends.pytorch.files import Kind, kind_of
from worker_runtime.backends.pytorch.tensors import (
    input_order,
    keywords,
    output_positions,
    to_numpy,
    to_torch,
)
from worker_runtime.errors import (
    BackendFailed,
    ConfigInvalid,
    GpuMemoryFull,
    LoadFailed,
    Problem,
    RuntimeFault,
    Unavailable,
)
from worker_runtime.files.contents import kinds_of_file
from worker_runtime.types.code import CodeReason
from worker_runtime.types.signature import ModelGraph
from worker_runtime.types.tensor import BY_NUMBER

_TRUE, _FALSE = {"true", "1"}, {"false", "0"}
Module = Callable[..., Any]
_LOADING = threading.Lock()  # torch.load is one for all of the process
_JIT: Any = torch.jit  # why: torch has no types for what is used of it here


class Switches(Struct, frozen=True):
    """The model's parameters, as Triton's backend spells them."""

    inference_mode: bool
    optimized: bool
    share_weights: bool
    clean_cache: bool
    cudnn: bool
    intra_threads: int


class TorchInstance:
    """One module on one device, with a stream of its own there."""

    def __init__(self, spec: LoadSpec, module: Module, device: torch.device, do: Switches) -> None:
        config = spec.config
        self._module = module
        self._device = device
        self._do = do
        self._types = {item.name: BY_NUMBER[item.data_type].name for item in config.input}
        self._keywords = keywords([item.name for item in config.input])
        self._order = input_order(
            [item.name for item in config.input if item.name not in self._keywords],
            arguments(module),
            spec.name,
        )
        self._positions = output_positions([item.name for item in config.output], spec.name)
        self._as_dict = takes_dict(module)
        self._stream: Any = _stream(device)
        self._threads_set = False

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        if not self._threads_set:
            # why here: torch keeps this number per thread, and this is the instance's.
            torch.set_num_threads(self._do.intra_threads)
            self._threads_set = True
        tensors = {
            name: to_torch(name, array, self._types.get(name, ""), self._device)
            for name, array in inputs.items()
        }
        try:
            with self._execution_context():
                given = self._call(tensors)
                if self._stream is not None:
                    self._stream.synchronize()
        except RuntimeFault:
            raise
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise GpuMemoryFull(
                f"out of memory while the model ran; try smaller batches: {error}"
            ) from error
        except Exception as error:  # why so wide: modules raise whatever they like
            raise BackendFailed(f"PyTorch execute failure: {error}") from error
        finally:
            if self._do.clean_cache and self._stream is not None:
                torch.cuda.empty_cache()
        return self._picked(given, outputs)

    def close(self) -> None:
        """Let go of the module, which may hold gigabytes, whoever still holds this instance."""
        self._module = _closed

    def _call(self, tensors: dict[str, Any]) -> Any:
        if self._as_dict:
            return self._module(tensors)
        named = {key: tensors[name] for name, key in self._keywords.items() if name in tensors}
        return self._module(*[tensors[name] for name in self._order if name in tensors], **named)

    @contextlib.contextmanager
    def _execution_context(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            mode = torch.inference_mode() if self._do.inference_mode else torch.no_grad()
            stack.enter_context(mode)
            stack.enter_context(_JIT.optimized_execution(self._do.optimized))
            if self._stream is not None:
                stack.enter_context(torch.cuda.stream(self._stream))
                stack.enter_context(torch.backends.cudnn.flags(enabled=self._do.cudnn))
            yield

    def _picked(self, given: Any, outputs: Sequence[str]) -> list[Array]:
        """The wanted outputs of a tensor, a list, a tuple or a dict."""
        if isinstance(given, dict):
            missing = [name for name in outputs if name not in given]
            if missing:
                raise BackendFailed(
                    f"the model gave no output '{missing[0]}', but {', '.join(map(str, given))}"
                )
            return [to_numpy(name, given[name]) for name in outputs]
        if isinstance(given, list) and given and isinstance(given[0], str):
            given = (given,)
        values = given if isinstance(given, list | tuple) else (given,)
        found = []
        for name in outputs:
            position = self._positions[name]
            if position >= len(values):
                raise BackendFailed(
                    f"output '{name}' is number {position}, but the model gave {len(values)}"
                )
            found.append(to_numpy(name, values[position]))
        return found


def _closed(*_arguments: Any) -> Any:
    raise Unavailable("the model was unloaded")


def _stream(device: torch.device) -> Any:
    """A stream of its own on a GPU, None on the CPU."""
    streams: Any = torch.cuda.Stream
    return streams(device) if device.type == "cuda" else None


class TorchModel:
    """``graph`` is None: TorchScript does not say shapes, so the configuration must."""

    graph: ModelGraph | None = None
    inline: Instance | None = None

    def __init__(self, instances: Sequence[TorchInstance]) -> None:
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
        instances = []
        for place in spec.placements:
            device = torch.device("cpu" if place.gpu is None else f"cuda:{place.gpu}")
            module = shared.get(str(device))
            # why also exported ones: they keep no state between calls, so copies gain nothing.
            if module is None or not (do.share_weights or kind is not Kind.SCRIPT):
                module = shared[str(device)] = load_module(path, kind, device, spec.name)
            instances.append(TorchInstance(spec, module, device, do))
        return TorchModel(instances)


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


def arguments(module: Module) -> list[str]:
    """The names of forward's arguments, [] where the model does not tell."""
    schema = getattr(getattr(module, "forward", None), "schema", None)
    if schema is not None:
        return [argument.name for argument in schema.arguments if argument.name != "self"]
    graph = getattr(module, "graph", None)
    if graph is None or not hasattr(graph, "nodes"):
        return []
    return [node.target for node in graph.nodes if getattr(node, "op", "") == "placeholder"]


def takes_dict(module: Module) -> bool:
    """Its one argument is a Dict[str, Tensor]."""
    schema = getattr(getattr(module, "forward", None), "schema", None)
    if schema is None:
        return False
    given = [argument for argument in schema.arguments if argument.name != "self"]
    return len(given) == 1 and given[0].type.kind() == "DictType"


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
