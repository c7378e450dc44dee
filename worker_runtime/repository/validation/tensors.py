"""Inputs and outputs: names, types, dims, formats, reshapes; and tensors about a batch."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.validation.findings import finding
from worker_runtime.types.tensor import element_count

_TENSORRT = "tensorrt_plan"
_LAYOUTS = (1, 2)  # FORMAT_NHWC, FORMAT_NCHW
_TYPES = (8, 11)  # TYPE_INT32, TYPE_FP32


def check_tensors(config: Any, *, complete: bool = True) -> Iterator[Problem]:
    """``complete``: nothing will fill in what is not given."""
    for kind in ("input", "output"):
        seen: set[str] = set()
        for index, item in enumerate(getattr(config, kind)):
            field = f"{kind}[{index}]"
            if item.name in seen and item.name:
                yield finding(
                    f"{field}.name",
                    f"{kind} '{item.name}' is given twice: the last one counts",
                    severity="warning",
                )
            seen.add(item.name)
            yield from _tensor(config, item, kind, field, complete=complete)


def _tensor(config: Any, item: Any, kind: str, field: str, *, complete: bool) -> Iterator[Problem]:
    end = f" for {config.name}"
    if not item.name:
        yield finding(field, f"model {kind} must specify 'name'{end}")
        return
    start = f"model {kind} '{item.name}'"
    if complete and not item.data_type:
        yield finding(field, f"{start} must specify 'data_type'{end}")
    if complete and not item.dims:
        yield finding(field, f"{start} must specify 'dims'{end}")
    if item.HasField("reshape") and not item.reshape.shape and config.max_batch_size == 0:
        yield finding(
            f"{field}.reshape",
            f"{start} cannot have empty reshape for non-batching model as scalar tensors are not "
            f"supported{end}",
        )
    if any(dim < 1 and dim != -1 for dim in item.dims):
        yield finding(
            f"{field}.dims",
            f"{start} dimension must be integer >= 1, or -1 to indicate a variable-size "
            f"dimension{end}",
            got=item.dims,
            expected="every size at least 1, or -1",
        )
    elif item.HasField("reshape"):
        yield from _reshape(item, start, end, field)
    yield from _layout(config, item, kind, field)


def _reshape(item: Any, start: str, end: str, field: str) -> Iterator[Problem]:
    dims, shape = tuple(item.dims), tuple(item.reshape.shape)
    where = f"{field}.reshape"
    if any(dim < 1 and dim != -1 for dim in shape):
        yield finding(
            where,
            f"{start} reshape dimensions must be integer >= 1, or -1 to indicate a variable-size "
            f"dimension{end}",
            got=shape,
            expected="every size at least 1, or -1",
        )
        return
    variable = (dims.count(-1), shape.count(-1))
    if variable[0] and variable[1] and variable[0] != variable[1]:
        yield finding(
            where,
            f"{start} has different number of variable-size dimensions for dims and reshape{end}",
            got=shape,
            expected=f"{variable[0]} times -1",
        )
    elif dims and _segments(dims) != _segments(shape):
        yield finding(
            where,
            f"{start} has different size for dims and reshape{end}",
            got=shape,
            expected=f"as many elements as {list(dims)}, before, between and after every -1",
        )


def _segments(dims: tuple[int, ...]) -> list[int]:
    """How many elements lie before, between and behind the variable sizes."""
    found: list[int] = []
    run: list[int] = []
    for dim in dims:
        if dim == -1:
            found.append(element_count(tuple(run)))
            run = []
        else:
            run.append(dim)
    return [*found, element_count(tuple(run))]


def _layout(config: Any, item: Any, kind: str, field: str) -> Iterator[Problem]:
    end = f" for {config.name}"
    if kind == "input" and item.format in _LAYOUTS and len(item.dims) != 3:
        yield finding(
            f"{field}.format",
            f"model input NHWC/NCHW require 3 dims{end}",
            got=item.dims,
            expected="3 dims, without the batch",
        )
    if item.is_shape_tensor and config.platform != _TENSORRT:
        yield finding(
            f"{field}.is_shape_tensor",
            f"shape tensors are only supported for TensorRT platform{end}",
        )
    if item.is_non_linear_format_io:
        if config.platform != _TENSORRT:
            yield finding(
                f"{field}.is_non_linear_format_io",
                f"Non-linear IO format is only supported for the TensorRT platform{end}",
            )
        elif len(item.dims) != 3:
            yield finding(
                f"{field}.is_non_linear_format_io",
                f"Non-linear IO format {kind} requires 3 dims{end}",
            )


def check_batches(config: Any) -> Iterator[Problem]:
    """batch_input and batch_output: tensors about a batch, made of its requests."""
    inputs = {item.name for item in config.input}
    outputs = {item.name for item in config.output}
    end = f" for {config.name}"
    for index, item in enumerate(config.batch_input):
        field = f"batch_input[{index}]"
        yield from _sources(item, "input", inputs, field, end)
        if item.data_type not in _TYPES:
            yield finding(
                f"{field}.data_type",
                f"batch input data type must be TYPE_INT32 or TYPE_FP32{end}",
            )
    for index, item in enumerate(config.batch_output):
        field = f"batch_output[{index}]"
        yield from _sources(item, "output", inputs, field, end)
        yield from _targets(item, outputs, field, end)


def _sources(item: Any, kind: str, inputs: set[str], field: str, end: str) -> Iterator[Problem]:
    if len(item.source_input) != 1:
        yield finding(
            f"{field}.source_input",
            f"batch {kind} kind '{item.Kind.Name(item.kind)}' expects 1 source input, got "
            f"{len(item.source_input)}{end}",
            got=item.source_input,
            expected="the name of one input",
        )
    for name in item.source_input:
        if name not in inputs:
            yield finding(
                f"{field}.source_input",
                f"unknown source input name '{name}'{end}",
                got=name,
                expected=f"one of {', '.join(sorted(inputs)) or 'none'}",
            )


def _targets(item: Any, outputs: set[str], field: str, end: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for name in item.target_name:
        if name not in outputs:
            yield finding(
                f"{field}.target_name",
                f"unknown target output name '{name}'{end}",
                got=name,
                expected=f"one of {', '.join(sorted(outputs)) or 'none'}",
            )
        elif name in seen:
            yield finding(
                f"{field}.target_name",
                f"target output name '{name}' can only be specified once{end}",
            )
        seen.add(name)
