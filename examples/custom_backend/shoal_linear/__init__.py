"""A backend for Shoal: y = x @ weights + bias, from a file ``model.npz``.

It is an example of the contract in ``worker_runtime.backends.base``, with everything that a real
one has: a file that may be broken, a parameter, completion of the configuration, and an end.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from worker_runtime.backends.base import Array, Instance, LoadSpec
from worker_runtime.backends.capabilities import Capabilities
from worker_runtime.errors import InvalidArgument, LoadFailed, Unavailable
from worker_runtime.types.signature import GraphTensor, ModelGraph

INPUT, OUTPUT = "x", "y"


class LinearInstance:
    """One place of execution. The weights are shared: nobody changes them."""

    def __init__(self, weights: Array, bias: Array) -> None:
        self._parts: tuple[Array, Array] | None = (weights, bias)

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        """One batch: [rows, inputs] to [rows, outputs]. The order is that of ``outputs``."""
        if self._parts is None:
            raise Unavailable("the model was unloaded")
        weights, bias = self._parts
        rows = inputs[INPUT]
        if rows.shape[-1] != len(weights):
            raise InvalidArgument(f"expected {len(weights)} columns, got {rows.shape[-1]}")
        found = {OUTPUT: rows @ weights + bias}
        return [found[name] for name in outputs]

    def close(self) -> None:
        self._parts = None


class LinearModel:
    """A version in memory. ``graph`` lets the server complete and check the configuration."""

    def __init__(self, weights: Array, bias: Array, instances: int) -> None:
        self.graph: ModelGraph | None = ModelGraph(
            inputs=(GraphTensor(INPUT, "FP32", (-1, weights.shape[0])),),
            outputs=(GraphTensor(OUTPUT, "FP32", (-1, weights.shape[1])),),
        )
        self.instances: Sequence[Any] = [LinearInstance(weights, bias) for _ in range(instances)]
        # Quick and without threads or devices, so the server may call it where requests arrive.
        self.inline: Instance | None = LinearInstance(weights, bias)

    def close(self) -> None:
        for instance in (*self.instances, self.inline):
            instance.close()
        self.instances, self.inline = (), None


class LinearBackend:
    capabilities = Capabilities(datatypes=frozenset({"FP32"}), gpu=False)

    def load(self, spec: LoadSpec) -> LinearModel:
        """Parameter ``scale`` multiplies the weights. Raises LoadFailed with a text for people."""
        path = spec.path / (spec.filename or "model.npz")
        try:
            # allow_pickle stays False: a model file must not be able to run code.
            with np.load(path) as file:
                weights, bias = (file[name].astype(np.float32) for name in ("weights", "bias"))
        except (OSError, ValueError, KeyError) as error:
            raise LoadFailed(f"failed to load model '{spec.name}' from {path}: {error}") from error
        if weights.ndim != 2 or bias.shape != weights.shape[1:]:
            raise LoadFailed(
                f"failed to load model '{spec.name}': weights have the shape {weights.shape}, bias "
                f"{bias.shape}; expected (inputs, outputs) and (outputs,)"
            )
        try:
            scale = np.float32(spec.parameters.get("scale", "1"))
        except ValueError as error:
            raise LoadFailed(f"parameter 'scale' of model '{spec.name}': {error}") from error
        return LinearModel(weights * scale, bias, len(spec.placements))
