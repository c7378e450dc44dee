"""The test backend `identity`: OUTPUT<i> is INPUT<i>.

Parameters as Triton's: `execute_delay_ms`, `instance_wise_delay_multiplier` (times the instance's
number), `creation_delay_sec`. Ours: `delay_ms`, and `fail`, a text to raise.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worker_runtime.backends.base import Array, BackendRequest, BuiltIn, LoadSpec
from worker_runtime.backends.configuration import refuse_unless, seen_dims, shown
from worker_runtime.errors import LoadFailed, Unsupported
from worker_runtime.types.request import ParameterValue, Response
from worker_runtime.types.tensor import BY_NUMBER, DataType

_INPUT, _OUTPUT = "INPUT", "OUTPUT"
# Triton's backend shows with these what parameters of a response look like.
_PARAMETERS: dict[str, ParameterValue] = {
    "param0": "an example string parameter",
    "param1": 42,
    "param2": False,
    "param3": 123.123,
}
Blanks = Mapping[str, tuple[DataType, tuple[int, ...]]]


class IdentityInstance:
    """``blanks``: by input that may be absent, what its output then is: zeros of that shape."""

    def __init__(self, delay_s: float, failure: str, blanks: Blanks, *, batched: bool) -> None:
        self._delay_s = delay_s
        self._failure = failure
        self._blanks = blanks
        self._batched = batched

    def execute_requests(self, requests: Sequence[BackendRequest]) -> None:
        if self._delay_s:
            time.sleep(self._delay_s)
        if self._failure:
            raise RuntimeError(self._failure)
        for request in requests:
            request.send(self._answer(request), final=True)

    def _answer(self, request: BackendRequest) -> Response:
        arrays: list[Array] = []
        inputs = request.inputs
        for output in request.outputs:
            name = _INPUT + output.removeprefix(_OUTPUT)
            array = inputs.get(name)
            if array is None:
                if name not in self._blanks:
                    return Response(error=Unsupported(f"failed to get input '{name}'"))
                rows = next((len(given) for given in inputs.values()), 1)
                array = _zeros(*self._blanks[name], rows=rows if self._batched else 0)
            arrays.append(array)
        return Response(request.outputs, arrays, _PARAMETERS)


class IdentityBackend:
    def load(self, spec: LoadSpec) -> BuiltIn:
        """Raises LoadFailed when inputs and outputs are not pairs."""
        check(spec.config)
        given = spec.parameters
        time.sleep(int(given.get("creation_delay_sec", "0")))
        delay_s = float(given.get("execute_delay_ms") or given.get("delay_ms", "0")) / 1000
        multiplier = int(given.get("instance_wise_delay_multiplier", "0"))
        blanks = {
            item.name: (
                BY_NUMBER[item.data_type],
                tuple(1 if dim == -1 else dim for dim in seen_dims(item)),
            )
            for item in spec.config.input
            if item.optional
        }
        return BuiltIn(
            [
                IdentityInstance(
                    delay_s * max(1, multiplier * number),
                    given.get("fail", ""),
                    blanks,
                    batched=spec.config.max_batch_size > 0,
                )
                for number in range(len(spec.placements))
            ]
        )


def check(config: Any) -> None:
    """Raises LoadFailed."""
    refuse_unless(
        len(config.input) == len(config.output),
        "model configuration must have equal input/output pairs",
    )
    inputs = {}
    for item, output in zip(config.input, config.output, strict=True):
        for tensor, prefix, kind in ((item, _INPUT, "input"), (output, _OUTPUT, "output")):
            refuse_unless(
                tensor.name.startswith(prefix),
                f"expected {kind} name to follow {prefix}<index> pattern, got '{tensor.name}'",
            )
        inputs[item.name.removeprefix(_INPUT)] = item
    for output in config.output:
        source = inputs.get(output.name.removeprefix(_OUTPUT))
        if source is None:
            raise LoadFailed("expected input and output indices to match")
        types = [BY_NUMBER[tensor.data_type].config_name for tensor in (source, output)]
        refuse_unless(
            types[0] == types[1],
            f"expected input and output datatype to match, got {types[0]} and {types[1]}",
        )
        shapes = [seen_dims(tensor) for tensor in (source, output)]
        refuse_unless(
            shapes[0] == shapes[1],
            f"expected input and output shape to match, got {shown(shapes[0])} and "
            f"{shown(shapes[1])}",
        )


def _zeros(datatype: DataType, shape: tuple[int, ...], *, rows: int) -> Array:
    full = (rows, *shape) if rows else shape
    if not datatype.item_size:
        return np.full(full, b"", object)
    return np.zeros(full, datatype.dtype)
