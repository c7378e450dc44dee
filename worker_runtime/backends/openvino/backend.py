"""Loads OpenVINO models and runs batches on them."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov

from worker_runtime.backends.base import Array, Instance, LoadSpec
from worker_runtime.backends.capabilities import ALL_TYPES, Capabilities
from worker_runtime.backends.openvino.models import (
    attempt,
    fill,
    graph_of,
    has_batch_layout,
    port_name,
    read_model,
    shaped,
)
from worker_runtime.backends.openvino.parameters import EXTENSION, openvino_options
from worker_runtime.errors import BackendFailed, Unavailable
from worker_runtime.files.inside import inside
from worker_runtime.types.code import LIBRARY
from worker_runtime.types.signature import GraphTensor, ModelGraph

_CORE = threading.Lock()  # why: extensions are added and models read one at a time


class OpenvinoInstance:
    """One request object of a compiled model, which all instances share.

    ``batch`` is the only batch size that the model takes, 0 for any; ``pad`` fills up to it.
    """

    def __init__(self, compiled: Any, batch: int, *, pad: bool) -> None:
        self._request: Any = compiled.create_infer_request()
        self._batch = batch
        self._pad = pad
        self._inputs = {port_name(port): number for number, port in enumerate(compiled.inputs)}
        self._outputs = {port_name(port): number for number, port in enumerate(compiled.outputs)}

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        if self._request is None:
            raise Unavailable("the model was unloaded")
        rows = 0
        if self._batch:
            rows = len(next(iter(inputs.values())))
            if rows != self._batch:
                inputs = {name: self._padded(array, rows) for name, array in inputs.items()}
        try:
            given = {self._inputs[name]: array for name, array in inputs.items()}
            found = self._request.infer(given, share_inputs=True)
        except Exception as error:  # why so wide: OpenVINO raises plain RuntimeErrors and others
            text = " ".join(str(error).split())
            raise BackendFailed(f"openvino error in running inference: {text}") from error
        arrays = [np.asarray(found[self._outputs[name]]) for name in outputs]
        return [array[:rows] for array in arrays] if rows else arrays

    def _padded(self, array: Array, rows: int) -> Array:
        """Zeros behind the rows that are there. Raises BackendFailed when that was not wanted."""
        if not self._pad:
            raise BackendFailed(
                f"expected requests with batch size '{self._batch}', got '{rows}'... this error "
                "can be avoided by setting 'ENABLE_BATCH_PADDING' parameter in model "
                "configuration to 'YES' at a performance cost."
            )
        full = np.zeros((self._batch, *array.shape[1:]), array.dtype)
        full[:rows] = array
        return full

    def close(self) -> None:
        self._request = None


class OpenvinoModel:
    """``inline`` is None: OpenVINO works in threads of its own."""

    inline: Instance | None = None

    def __init__(self, graph: ModelGraph, instances: Sequence[OpenvinoInstance]) -> None:
        self.graph: ModelGraph | None = graph
        self.instances = instances

    def close(self) -> None:
        for instance in self.instances:
            instance.close()
        self.instances = ()


class OpenvinoBackend:
    capabilities = Capabilities(
        datatypes=ALL_TYPES - {"BYTES", "BF16"}, gpu=False, title="Triton openVINO"
    )

    def auto_complete(self, spec: LoadSpec) -> None:
        """As far as the model's layouts tell. Raises LoadFailed."""
        if len(spec.config.input) and len(spec.config.output) and spec.config.max_batch_size:
            return
        with _CORE:
            model = read_model(ov.Core(), spec)
        fill(spec, graph_of(model), batches=has_batch_layout(model))

    def load(self, spec: LoadSpec) -> OpenvinoModel:
        """One compiled model, one request object per instance. Raises LoadFailed."""
        options = openvino_options(spec.parameters, len(spec.placements), spec.cores)
        batch = spec.config.max_batch_size
        with _CORE:
            core = ov.Core()
            if options.extension:
                extension = _extension(spec, options.extension)
                attempt(
                    lambda: core.add_extension(extension),
                    "loading custom CPU extensions",
                    spec.name,
                )
            model = shaped(read_model(core, spec), spec, options)
            compiled = attempt(
                lambda: core.compile_model(model, options.device, options.properties),
                "loading model",
                spec.name,
            )
        fixed = batch if options.fixed_batch else 0
        instances = [OpenvinoInstance(compiled, fixed, pad=options.pad) for _ in spec.placements]
        return OpenvinoModel(_seen(graph_of(model), batched=batch > 0), instances)


def _extension(spec: LoadSpec, name: str) -> str:
    """Raises LoadFailed or FileUnreadable where the model may not bring it."""
    spec.code.demand(LIBRARY, spec.name, name, f"is a library that {EXTENSION} names")
    return str(inside(spec.path.parent, name, EXTENSION)) if spec.code.limited else name


def _seen(graph: ModelGraph, *, batched: bool) -> ModelGraph:
    """The graph as requests see it: a batch axis of a fixed size is variable to them."""
    if not batched:
        return graph

    def opened(tensor: GraphTensor) -> GraphTensor:
        if not tensor.shape:
            return tensor
        return GraphTensor(tensor.name, tensor.datatype, (-1, *tensor.shape[1:]))

    return ModelGraph(tuple(map(opened, graph.inputs)), tuple(map(opened, graph.outputs)))
