"""Check request forms against a model's signature once, and remember the result.

A form is everything but the data: names, types, shapes, wanted outputs. Byte sizes of BYTES
tensors and of the body are checked per request by who holds them.
"""

from collections.abc import Sequence
from typing import Any

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.request import Plan, PlannedInput
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import element_count

InputForm = tuple[str, str, tuple[int, ...]]  # name, wire data type, shape
_MAX_PLANS = 1024

_BATCH_NOTE = (
    " NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be "
    "prepended to each input shape. If you want to specify the full shape including the batch dim "
    "in your input dims config, try setting max_batch_size to zero. See the model configuration "
    "docs for more info on max_batch_size."
)


class Planner:
    """Plans of one model version, cached and bounded."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._inputs = {spec.name: spec for spec in signature.inputs}
        self._outputs = tuple(spec.name for spec in signature.outputs)
        self._plans: dict[Any, Plan] = {}
        self._keys: dict[Any, tuple[Any, ...]] = {}

    def plan(self, inputs: tuple[InputForm, ...], outputs: tuple[str, ...] | None) -> Plan:
        """The plan for this form. Raises InvalidArgument with the core's text."""
        key = (inputs, outputs)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._build(inputs, outputs)
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
                self._keys.clear()
            self._plans[key] = plan
        return plan

    def _build(self, inputs: tuple[InputForm, ...], outputs: tuple[str, ...] | None) -> Plan:
        model, batched = self._signature.model, self._signature.max_batch_size > 0
        specs = [self._spec(name) for name, _, _ in inputs]
        self._check_names([name for name, _, _ in inputs])
        rows = self._rows(inputs) if batched else 1
        planned = []
        for spec, (name, datatype, shape) in zip(specs, inputs, strict=True):
            if datatype != spec.datatype.name:
                raise InvalidArgument(
                    f"inference input '{name}' data-type is '{datatype}', but model '{model}' "
                    f"expects '{spec.datatype.name}'"
                )
            self._check_shape(spec, shape)
            seen = (*shape[:1], *reshaped(spec, shape[1:])) if batched else reshaped(spec, shape)
            size = element_count(shape) * spec.datatype.item_size if spec.datatype.item_size else -1
            planned.append(PlannedInput(name, spec.datatype, shape, seen, size))
        positions = {spec.name: i for i, spec in enumerate(self._signature.inputs)}
        order = sorted(range(len(planned)), key=lambda i: positions[planned[i].name])
        ordered = tuple(planned[i] for i in order)
        wanted = self._wanted(outputs)
        # why the outputs too: one execution then computes the same set for the whole batch.
        batch_key = (tuple((p.name, p.shape[1:]) for p in ordered), wanted)
        return Plan(
            inputs=ordered,
            order=None if order == list(range(len(order))) else tuple(order),
            rows=rows,
            batch_key=self._keys.setdefault(batch_key, batch_key),
            outputs=wanted,
        )

    def _spec(self, name: str) -> TensorSpec:
        spec = self._inputs.get(name)
        if spec is None:
            raise InvalidArgument(
                f"unexpected inference input '{name}' for model '{self._signature.model}'"
            )
        return spec

    def _check_names(self, names: Sequence[str]) -> None:
        model, given = self._signature.model, set(names)
        if len(given) != len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise InvalidArgument(f"input '{twice}' already exists in request")
        required = [spec.name for spec in self._signature.inputs if not spec.optional]
        missing = [name for name in required if name not in given]
        if missing:
            total = len(self._signature.inputs)
            expected = (
                f"{total}" if total == len(required) else f"between {len(required)} and {total}"
            )
            raise InvalidArgument(
                f"expected {expected} inputs but got {len(names)} inputs for model '{model}'. Got "
                f"input(s) {list(names)}, but missing required input(s) {missing}. Please provide "
                "all required input(s)."
            )

    def _rows(self, inputs: tuple[InputForm, ...]) -> int:
        model, limit = self._signature.model, self._signature.max_batch_size
        rows = -1
        for name, _, shape in inputs:
            if not shape:
                raise InvalidArgument(
                    f"input '{name}' has no shape but model requires batch dimension for '{model}'"
                )
            if rows == -1:
                rows = shape[0]
            elif rows != shape[0]:
                raise InvalidArgument(
                    f"input '{name}' batch size does not match other inputs for '{model}'"
                )
        if rows < 1:
            raise InvalidArgument(f"inference request batch-size must be >= 1 for '{model}'")
        if rows > limit:
            raise InvalidArgument(f"inference request batch-size must be <= {limit} for '{model}'")
        return rows

    def _check_shape(self, spec: TensorSpec, shape: tuple[int, ...]) -> None:
        batched = self._signature.max_batch_size > 0
        dims = shape[1:] if batched else shape
        fits = len(dims) == len(spec.dims) and all(
            want in (-1, got) for want, got in zip(spec.dims, dims, strict=True)
        )
        if not fits or any(dim < 0 for dim in shape):
            expected = spec.wire_shape(self._signature.max_batch_size)
            raise InvalidArgument(
                f"unexpected shape for input '{spec.name}' for model '{self._signature.model}'. "
                f"Expected {_shown(expected)}, got {_shown(shape)}.{_BATCH_NOTE if batched else ''}"
            )

    def _wanted(self, outputs: tuple[str, ...] | None) -> tuple[str, ...]:
        if outputs is None:
            return self._outputs
        wanted = set(outputs)
        for name in outputs:
            if name not in self._outputs:
                raise InvalidArgument(
                    f"unexpected inference output '{name}' for model '{self._signature.model}'"
                )
        return tuple(name for name in self._outputs if name in wanted)


def reshaped(spec: TensorSpec, dims: tuple[int, ...]) -> tuple[int, ...]:
    """What the model sees of ``dims``: variable sizes pass from -1 to -1 in order."""
    if spec.reshape is None:
        return dims
    variable = iter([got for want, got in zip(spec.dims, dims, strict=True) if want == -1])
    return tuple(next(variable) if dim == -1 else dim for dim in spec.reshape)


def _shown(shape: Sequence[int]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"
