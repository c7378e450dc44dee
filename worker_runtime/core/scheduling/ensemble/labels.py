"""Class labels of an ensemble's outputs: its own, or those of the step that makes the tensor."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from worker_runtime.core.scheduling.context import ServedModel
from worker_runtime.core.scheduling.ensemble.graph import EnsembleGraph
from worker_runtime.errors import RuntimeFault
from worker_runtime.types.signature import Signature


def labelled(
    signature: Signature, config: Any, resolve: Callable[[str, str], ServedModel]
) -> Signature:
    """The signature of an ensemble, with the labels that it does not give itself."""
    made = {
        tensor: (step, source)
        for step in EnsembleGraph(config).steps
        for source, tensor in step.outputs
    }
    outputs = []
    for spec in signature.outputs:
        step, source = made.get(spec.name, (None, ""))
        if not spec.labels and step is not None:
            try:
                parts = resolve(step.model, step.version).signature.outputs
            except RuntimeFault:
                parts = ()  # it has gone while we load: the manager loads us once more
            found = next((part.labels for part in parts if part.name == source), ())
            spec = replace(spec, labels=found)
        outputs.append(spec)
    return replace(signature, outputs=tuple(outputs))
