"""Check request forms against a model's signature once, and remember the result.

A form is everything but the data: names, types, shapes, wanted outputs. Byte sizes of BYTES
tensors and of the body are checked per request by who holds them.

The order of the checks is Triton's: outputs, number of inputs, batch, then each input; and like
Triton it looks at the inputs of a request from the last to the first.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from worker_runtime.errors import InvalidArgument, Unattributed
from worker_runtime.types.request import Plan, PlannedInput
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME, element_count

InputForm = tuple[str, str, tuple[int, ...]]  # name, wire data type, shape
_MAX_PLANS = 1024

_BATCH_NOTE = (
    "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be "
    "prepended to each input shape. If you want to specify the full shape including the batch dim "
    "in your input dims config, try setting max_batch_size to zero. See the model configuration "
    "docs for more info on max_batch_size."
)


class Planner:
    """Plans of one model version, cached and bounded."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._model = signature.model
        self._batched = signature.max_batch_size > 0
        self._inputs = {spec.name: spec for spec in signature.inputs}
        self._positions = {spec.name: i for i, spec in enumerate(signature.inputs)}
        self._required = [spec.name for spec in signature.inputs if not spec.optional]
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
        check_once("input", [name for name, _, _ in inputs])
        wanted = self._wanted(outputs)
        self._check_count([name for name, _, _ in inputs])
        rows = self._rows(inputs) if self._batched else 1
        planned = {name: self._input(name, kind, shape) for name, kind, shape in reversed(inputs)}
        if rows == 0:
            if inputs:
                raise self._empty_batch(inputs)
            rows = 1  # all inputs are optional, and none was sent
        order = sorted(range(len(inputs)), key=lambda i: self._positions[inputs[i][0]])
        ordered = tuple(planned[inputs[i][0]] for i in order)
        batch_key = tuple((p.name, self._item_shape(p)) for p in ordered)
        return Plan(
            inputs=ordered,
            order=None if order == list(range(len(order))) else tuple(order),
            rows=rows,
            batch_key=self._keys.setdefault(batch_key, batch_key),
            outputs=wanted,
        )

    def _wanted(self, outputs: tuple[str, ...] | None) -> tuple[str, ...]:
        if outputs is None:
            return self._outputs
        wanted = set(outputs)
        for name in outputs:
            if name not in self._outputs:
                raise Unattributed(
                    f"unexpected inference output '{name}' for model '{self._model}'"
                )
        return tuple(name for name in self._outputs if name in wanted)

    def _check_count(self, names: list[str]) -> None:
        most, least, got = len(self._inputs), len(self._required), len(names)
        if least <= got <= most and self._all_there(names):
            return
        expected = (
            f"expected {most} inputs"
            if most == least
            else f"expected number of inputs between {least} and {most}"
        )
        missing = [name for name in self._required if name not in names]
        raise InvalidArgument(
            f"{expected} but got {got} inputs for model '{self._model}'. Got input(s) "
            f"[{_quoted(reversed(names))}], but missing required input(s) "
            # why no opening bracket when nothing is missing: to the letter
            f"{f'[{_quoted(missing)}' if missing else ''}]. Please provide all required input(s)."
        )

    def _all_there(self, names: list[str]) -> bool:
        """No required input is missing, as far as counting cannot tell it."""
        for name in reversed(names):
            self._spec(name)
        return all(name in names for name in self._required)

    def _spec(self, name: str) -> TensorSpec:
        spec = self._inputs.get(name)
        if spec is None:
            raise Unattributed(f"unexpected inference input '{name}' for model '{self._model}'")
        return spec

    def _rows(self, inputs: tuple[InputForm, ...]) -> int:
        limit = self._signature.max_batch_size
        rows = 0
        for name, _, shape in reversed(inputs):
            if self._spec(name).shape_tensor:
                continue
            if not shape:
                raise InvalidArgument(
                    f"input '{name}' has no shape but model requires batch dimension for "
                    f"'{self._model}'"
                )
            if rows == 0:
                rows = shape[0]
            elif rows != shape[0]:
                raise InvalidArgument(
                    f"input '{name}' batch size does not match other inputs for '{self._model}'"
                )
        if rows > limit:
            raise InvalidArgument(
                f"inference request batch-size must be <= {limit} for '{self._model}'"
            )
        return rows

    def _input(self, name: str, wire_type: str, shape: tuple[int, ...]) -> PlannedInput:
        spec = self._spec(name)
        if wire_type != spec.datatype.name:
            shown = wire_type if wire_type in BY_NAME else "<invalid>"
            raise InvalidArgument(
                f"inference input '{name}' data-type is '{shown}', but model '{self._model}' "
                f"expects '{spec.datatype.name}'"
            )
        batched = self._batched and not spec.shape_tensor
        self._check_shape(spec, shape, batched=batched)
        seen = (*shape[:1], *reshaped(spec, shape[1:])) if batched else reshaped(spec, shape)
        size = element_count(shape) * spec.datatype.item_size if spec.datatype.item_size else -1
        return PlannedInput(name, spec.datatype, shape, seen, size)

    def _check_shape(self, spec: TensorSpec, shape: tuple[int, ...], *, batched: bool) -> None:
        dims = shape[1:] if batched else shape
        fits = len(dims) == len(spec.dims)
        if fits and any(dim < 0 for dim in shape):
            raise InvalidArgument(
                f"All input dimensions should be specified for input '{spec.name}' for model "
                f"'{self._model}', got {_shown(shape)}"
            )
        if fits and all(want in (-1, got) for want, got in zip(spec.dims, dims, strict=True)):
            return
        expected = [-1, *spec.dims] if batched else list(spec.dims)
        raise InvalidArgument(
            f"unexpected shape for input '{spec.name}' for model '{self._model}'. Expected "
            f"{_shown(expected)}, got {_shown(shape)}. {_BATCH_NOTE if self._batched else ''}"
        )

    def _empty_batch(self, inputs: tuple[InputForm, ...]) -> InvalidArgument:
        """Triton takes a batch of 0 for no batch axis at all, and then misses the data of one."""
        for name, _, shape in reversed(inputs):
            spec = self._inputs[name]
            count = element_count(shape[1:])
            if count and spec.datatype.item_size:
                return size_mismatch(name, self._model, count * spec.datatype.item_size, 0)
            if count:
                return InvalidArgument(
                    f"expected {count} string elements for inference input '{name}' for model "
                    f"'{self._model}', got 0"
                )
        return InvalidArgument(f"inference request batch-size must be >= 1 for '{self._model}'")

    def _item_shape(self, item: PlannedInput) -> tuple[int, ...] | None:
        """What two requests must share to be batched, besides the names; None: nothing more."""
        if self._inputs[item.name].ragged:
            return None
        return item.shape[1:] if self._batched else item.shape


def check_once(what: str, names: Sequence[str]) -> None:
    """Raises InvalidArgument when one of the names is there twice."""
    if len(set(names)) == len(names):
        return
    seen = set[str]()
    for name in names:
        if name in seen:
            raise InvalidArgument(f"{what} '{name}' already exists in request")
        seen.add(name)


def size_mismatch(name: str, model: str, expected: int, got: int) -> InvalidArgument:
    """That an input has not as many bytes as its shape and data type say."""
    return InvalidArgument(
        f"input byte size mismatch for input '{name}' for model '{model}'. Expected {expected}, "
        f"got {got}"
    )


def reshaped(spec: TensorSpec, dims: tuple[int, ...]) -> tuple[int, ...]:
    """What the model sees of ``dims``: variable sizes pass from -1 to -1 in order."""
    if spec.reshape is None:
        return dims
    variable = iter([got for want, got in zip(spec.dims, dims, strict=True) if want == -1])
    return tuple(next(variable) if dim == -1 else dim for dim in spec.reshape)


def _quoted(names: Iterable[str]) -> str:
    return ",".join(f"'{name}'" for name in names)


def _shown(shape: Sequence[int]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"
