"""batch_input and batch_output: tensors about a batch, made of its requests."""

from collections.abc import Iterator
from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.repository.validation.findings import finding

_TYPES = (8, 11)  # TYPE_INT32, TYPE_FP32


def check_batches(config: Any) -> Iterator[Problem]:
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
