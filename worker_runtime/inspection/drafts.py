"""A configuration for a model whose file does not tell all of it: what is known, and guesses."""

from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.repository.pbtxt import render
from worker_runtime.types.tensor import BY_NAME
from worker_runtime.types.triton_messages import model_config_pb2

# Backends whose files name no tensors: without a configuration nobody could call the model.
UNDECLARED = ("pytorch", "fil")


def draft(config: Any, metadata: FileMetadata) -> tuple[str, bool]:
    """``config`` with inputs and outputs filled in, as text; and whether nothing was guessed."""
    made = model_config_pb2.ModelConfig()
    made.CopyFrom(config)
    del made.instance_group[:]
    made.ClearField("version_policy")
    made.ClearField("optimization")
    if metadata.graph is not None:
        return render(made), True
    if not made.input:
        names = [name for name, kind in metadata.arguments if _is_tensor(kind)] or ["INPUT__0"]
        _guess(made.input, names)
    if not made.output:
        count = sum(_is_tensor(kind) for kind in metadata.results) or 1
        _guess(made.output, [f"OUTPUT__{index}" for index in range(count)])
    return render(made), False


def config_needed(name: str, metadata: FileMetadata) -> Problem:
    said = ", ".join(f"{argument}: {kind}" for argument, kind in metadata.arguments)
    return Problem(
        "ConfigNeeded",
        f"the file of '{name}' does not tell types and shapes of its inputs and outputs: they must "
        "be written into config.pbtxt",
        detail=f"forward takes {said}" if said else "",
        hints=("take the draft and correct types and dims", "max_batch_size: 0 is a safe start"),
    )


def _is_tensor(kind: str) -> bool:
    return kind in ("Tensor", "Optional[Tensor]")


def _guess(field: Any, names: list[str]) -> None:
    for name in names:
        field.add(name=name, data_type=BY_NAME["FP32"].number, dims=[-1])
