"""What is wrong with one configuration, each finding with its code and, if there is one, its fix.

Triton itself stops at the first mistake and says it in its words; people want all of them, where
they are, and a button. Findings here come before the runtime's own validation, which has the last
word on what remains.
"""

import difflib
from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.inspection.edits import (
    at,
    field_removed,
    fixed,
    list_replaced,
    removed,
    value_replaced,
)
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.repository.complete import batchable
from worker_runtime.repository.pbtxt import parse, places
from worker_runtime.types.backends import (
    ENSEMBLE,
    FORMATS,
    by_backend,
    by_platform,
    family_of_platform,
)
from worker_runtime.types.signature import GraphTensor
from worker_runtime.types.tensor import BY_NAME, BY_NUMBER

# What people write for a backend: names of frameworks, of files, of packages.
BACKEND_ALIASES = {
    "torchscript": "pytorch", "torch": "pytorch", "libtorch": "pytorch", "pytorch_libtorch":
    "pytorch", "onnx_runtime": "onnxruntime", "onnx": "onnxruntime", "ort": "onnxruntime",
    "onnxruntime_onnx": "onnxruntime", "tf": "tensorflow", "tensorflow2": "tensorflow",
    "tensorflow_savedmodel": "tensorflow", "savedmodel": "tensorflow", "trt": "tensorrt",
    "tensorrt_plan": "tensorrt", "py": "python", "python3": "python", "xgboost": "fil",
    "lightgbm": "fil", "forest": "fil",
}  # fmt: skip
PLATFORM_ALIASES = {
    "onnx": "onnxruntime_onnx", "onnxruntime": "onnxruntime_onnx", "onnx_runtime":
    "onnxruntime_onnx", "pytorch": "pytorch_libtorch", "torchscript": "pytorch_libtorch",
    "libtorch": "pytorch_libtorch", "tensorrt": "tensorrt_plan", "savedmodel":
    "tensorflow_savedmodel", "tensorflow": "tensorflow_savedmodel",
}  # fmt: skip
MAX_ROUNDS = 30


def lint(text: str, model: str, metadata: FileMetadata | None) -> list[Problem]:
    """Everything found in ``text``, the configuration of the model in folder ``model``.

    Raises ConfigInvalid for a text that cannot be parsed, with the place and what was meant.
    """
    config, where = parse(text), places(text)
    named = _identity(text, config, model)
    config.name = model or config.name
    found = [
        *named,
        *_batching(text, config, metadata),
        *_devices(text, config),
        *_tensors(text, config, metadata),
        *_torch(config, metadata),
        *_python(config, metadata),
    ]
    return [at(problem, where) for problem in found]


def repaired(text: str, model: str, metadata: FileMetadata | None) -> tuple[str, list[Problem]]:
    """``text`` after the first fix, and the next, until there is none; and all that was found."""
    found: list[Problem] = []
    for _ in range(MAX_ROUNDS):
        try:
            now = lint(text, model, metadata)
        except ConfigInvalid as error:
            now = [problem for problem in error.problems if problem.fix]
            if not now:
                raise
        known = {problem_key(problem) for problem in found}
        found += [problem for problem in now if problem_key(problem) not in known]
        step = next((item for item in now if item.fix and item.severity == "error"), None)
        if step is None or step.fix == text:
            return text, found
        text = step.fix
    return text, found


def problem_key(problem: Problem) -> tuple[str, str, str]:
    """The same finding has the same, wherever edits have moved it."""
    return problem.code, problem.field, problem.message


# --- who it is -----------------------------------------------------------------------------------


def _identity(text: str, config: Any, model: str) -> list[Problem]:
    return [*_name(text, config, model), *_kind(text, config)]


def _name(text: str, config: Any, model: str) -> Iterator[Problem]:
    if model and config.name and config.name != model:
        yield fixed(
            Problem(
                "NameMismatch",
                f"unexpected directory name '{model}' for model '{config.name}', directory name "
                "must equal model name",
                field="name",
                detail=f'got "{config.name}"; expected "{model}", the name of the folder',
                hints=(f'write name: "{model}", or rename the folder to {config.name}',),
            ),
            f'Write name: "{model}"',
            value_replaced(text, "name", f'"{model}"'),
        )


def _kind(text: str, config: Any) -> Iterator[Problem]:
    backends = sorted({item.backend for item in FORMATS})
    meant = _meant(config.backend, backends, BACKEND_ALIASES)
    if meant:
        yield fixed(
            Problem(
                "BackendUnknown",
                f'there is no backend "{config.backend}"; it is called "{meant}"',
                field="backend",
                detail=f"known: {', '.join(backends)}",
                hints=(f'write backend: "{meant}"',),
            ),
            f'Write backend: "{meant}"',
            value_replaced(text, "backend", f'"{meant}"'),
        )
    platforms = sorted({item.platform for item in FORMATS if item.platform} | {ENSEMBLE})
    meant = _meant(config.platform, platforms, PLATFORM_ALIASES)
    if meant:
        yield fixed(
            Problem(
                "PlatformUnknown",
                f'there is no platform "{config.platform}"; it is called "{meant}"',
                field="platform",
                detail=f"known: {', '.join(platforms)}",
                hints=(f'write platform: "{meant}"',),
            ),
            f'Write platform: "{meant}"',
            value_replaced(text, "platform", f'"{meant}"'),
        )
    family = family_of_platform(config.platform)
    known = by_backend(config.backend)
    if family and known is not None and family != config.backend:
        yield fixed(
            Problem(
                "PlatformConflict",
                f'platform "{config.platform}" belongs to backend "{family}", not to '
                f'"{config.backend}"',
                field="platform",
                hints=("backend alone is enough",),
            ),
            "Leave platform out",
            field_removed(text, "platform"),
        )


def _meant(value: str, known: list[str], aliases: dict[str, str]) -> str:
    """What was meant by a word that is not known; "" for what is known, or like nothing."""
    if not value or value in known:
        return ""
    if value.lower() in aliases:
        return aliases[value.lower()]
    close = difflib.get_close_matches(value.lower(), known, n=1, cutoff=0.75)
    return close[0] if close else ""


# --- batches -------------------------------------------------------------------------------------


def _batching(text: str, config: Any, metadata: FileMetadata | None) -> Iterator[Problem]:
    graph = metadata.graph if metadata else None
    if graph is not None and graph.producer != "model.py":
        shaped = all(tensor.shape is not None for tensor in (*graph.inputs, *graph.outputs))
        if shaped and graph.inputs and config.max_batch_size > 0 and not batchable(graph):
            fixed_size = next(t for t in (*graph.inputs, *graph.outputs) if t.dims[:1] != (-1,))
            yield fixed(
                Problem(
                    "BatchingUnsupported",
                    f"the model does not batch: the first dimension of '{fixed_size.name}' is "
                    f"{fixed_size.dims[0] if fixed_size.dims else 'missing'}, not variable",
                    field="max_batch_size",
                    detail=f"got {config.max_batch_size}; expected 0",
                    hints=("export it with a variable batch axis, or set max_batch_size: 0",),
                ),
                "Set max_batch_size: 0",
                value_replaced(text, "max_batch_size", "0"),
            )
    if config.WhichOneof("scheduling_choice") != "dynamic_batching":
        return
    batching = config.dynamic_batching
    large = [size for size in batching.preferred_batch_size if size > config.max_batch_size]
    if large and config.max_batch_size > 0:
        fit = [size for size in batching.preferred_batch_size if size <= config.max_batch_size]
        path = "dynamic_batching[0].preferred_batch_size"
        yield fixed(
            Problem(
                "PreferredBatchTooLarge",
                f"preferred_batch_size {', '.join(map(str, large))} is more than max_batch_size "
                f"{config.max_batch_size}",
                field=path,
            ),
            f"Remove {', '.join(map(str, large))}",
            list_replaced(text, path, fit or [config.max_batch_size]),
        )


# --- devices -------------------------------------------------------------------------------------


def _devices(text: str, config: Any) -> Iterator[Problem]:
    """Guides write KIND_GPU where any machine would do: said once, for the first such group."""
    named = [index for index, group in enumerate(config.instance_group) if _on_gpu(group)]
    known = by_backend(config.backend) or by_platform(config.platform)
    if not named or (known is not None and known.backend == "tensorrt"):
        return
    anywhere = text
    for index in named:
        group = f"instance_group[{index}]"
        anywhere = value_replaced(anywhere, f"{group}.kind", "KIND_AUTO") or anywhere
        anywhere = removed(anywhere, f"{group}.gpus") or anywhere
    field = f"instance_group[{named[0]}]"
    message = "Instances are on GPUs: machines without them refuse this model. KIND_AUTO suits all."
    yield fixed(
        Problem(
            "GpuNeeded",
            message,
            severity="warning",
            field=f"{field}.kind" if f"{field}.kind" in places(text) else f"{field}.gpus",
            hints=("kind: KIND_AUTO takes GPUs where there are some, and the CPU elsewhere",),
            plain=message,
        ),
        "Write KIND_AUTO",
        anywhere if anywhere != text else "",
    )


def _on_gpu(group: Any) -> bool:
    return bool(group.kind == group.KIND_GPU or group.gpus)


# --- tensors -------------------------------------------------------------------------------------


def _tensors(text: str, config: Any, metadata: FileMetadata | None) -> Iterator[Problem]:
    graph = metadata.graph if metadata else None
    if graph is None or graph.producer == "model.py" or config.platform == ENSEMBLE:
        return
    if config.HasField("sequence_batching") or config.batch_input:
        return  # further tensors come from the server itself
    by_position = graph.producer == "torch.export"  # names are free there: X__0, X__1
    for kind, items, tensors in (
        ("input", config.input, (*graph.inputs, *graph.initializers)),
        ("output", config.output, graph.outputs),
    ):
        known = {tensor.name: tensor for tensor in tensors}
        for index, item in enumerate(items):
            path = f"{kind}[{index}]"
            tensor = known.get(item.name)
            if tensor is None:
                if item.name and not by_position:
                    yield _unknown_tensor(text, item.name, kind, path, list(known))
                continue
            yield from _against(text, config, item, tensor, kind, path)


def _unknown_tensor(text: str, name: str, kind: str, path: str, known: list[str]) -> Problem:
    lower = {item.lower(): item for item in known}
    close = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.5)
    meant = lower[close[0]] if close else (known[0] if len(known) == 1 else "")
    problem = Problem(
        "TensorUnknown",
        f"unexpected inference {kind} '{name}', allowed {kind}s are: {', '.join(sorted(known))}",
        field=f"{path}.name",
        hints=(f'did you mean "{meant}"?',) if meant else (),
    )
    if not meant:
        return problem
    label = f'Write "{meant}"'
    return fixed(problem, label, value_replaced(text, f"{path}.name", f'"{meant}"'))


def _against(
    text: str, config: Any, item: Any, tensor: GraphTensor, kind: str, path: str
) -> Iterator[Problem]:
    wanted = BY_NAME.get(tensor.datatype)
    given = BY_NUMBER.get(item.data_type)
    if wanted is not None and given is not None and wanted != given:
        yield fixed(
            Problem(
                "DatatypeMismatch",
                f"unable to load model '{config.name}', configuration expects datatype "
                f"{given.config_name} for {kind} '{item.name}', model provides "
                f"TYPE_{tensor.datatype}",
                field=f"{path}.data_type",
                detail=f"got {given.config_name}; expected {wanted.config_name}",
            ),
            f"Write {wanted.config_name}",
            value_replaced(text, f"{path}.data_type", wanted.config_name),
        )
    if tensor.shape is None or not tensor.shape or item.HasField("reshape") or not item.dims:
        return
    written = "max_batch_size" in places(text)
    # why the length: without a number the runtime finds out whether dims hold the batch axis
    batched = config.max_batch_size > 0 or (not written and len(item.dims) < len(tensor.dims))
    if batched and tensor.dims[0] != -1:
        return  # said already, or batching is out of the question
    expected = tensor.dims[1:] if batched else tensor.dims
    dims = tuple(item.dims)
    fits = len(dims) == len(expected) and all(
        got == -1 or want in (-1, got) for got, want in zip(dims, expected, strict=True)
    )
    if fits or getattr(item, "allow_ragged_batch", False):  # outputs have no such field
        return
    code, why = "ShapeMismatch", f"the model has {_shown(tensor.dims)}"
    if batched and len(dims) == len(tensor.dims):
        code = "BatchDimInDims"
        why = (
            "max_batch_size is more than 0, so dims leave the batch axis out; "
            f"the model has {_shown(tensor.dims)}"
        )
    yield fixed(
        Problem(
            code,
            f"dims of '{item.name}' are {_shown(dims)}: {why}",
            field=f"{path}.dims",
            detail=f"got {list(dims)}; expected {list(expected)}",
        ),
        f"Write dims: {_shown(expected)}",
        list_replaced(text, f"{path}.dims", expected) if expected else "",
    )


def _shown(dims: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, dims)) + "]"


# --- what the code of the model says -------------------------------------------------------------


def _torch(config: Any, metadata: FileMetadata | None) -> Iterator[Problem]:
    if metadata is None or not metadata.arguments:
        return
    arguments = [name for name, _ in metadata.arguments]
    names = [item.name for item in config.input]
    free = [name for name in names if name not in arguments and not _indexed(name)]
    if free:
        yield Problem(
            "TorchNaming",
            f"'{free[0]}' is neither an argument of forward nor <name>__<index>: inputs are then "
            "taken in the order in which they are written",
            severity="warning",
            field=f"input[{names.index(free[0])}].name",
            hints=(f"arguments of forward: {', '.join(arguments)}",),
        )


def _indexed(name: str) -> bool:
    stem, sign, index = name.rpartition("__")
    return bool(stem and sign and index.isdecimal())


def _python(config: Any, metadata: FileMetadata | None) -> Iterator[Problem]:
    if metadata is None or not (metadata.reads or metadata.writes):
        return
    if config.backend not in ("", "python"):
        return
    hidden = {control.name for control in config.sequence_batching.control_input}
    hidden |= {state.input_name for state in config.sequence_batching.state}
    hidden |= {state.output_name for state in config.sequence_batching.state}
    for kind, names, items in (
        ("input", metadata.reads, config.input),
        ("output", metadata.writes, config.output),
    ):
        known = {item.name for item in items} | hidden
        unknown = [name for name in names if name not in known]
        if known and items and unknown:
            verb = "asks for" if kind == "input" else "makes"
            yield Problem(
                "PythonTensorUnknown",
                f"model.py {verb} '{unknown[0]}', which is no {kind} of the configuration",
                severity="warning",
                field=f"{kind}[0]",
                detail=f"{kind}s: {', '.join(sorted(known))}",
            )
