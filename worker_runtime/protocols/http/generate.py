"""The generate extension: flat JSON to a request."""

from time import monotonic_ns
from typing import Any

from worker_runtime.core.parameters import json_value
from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.http.decode import values_in_slices
from worker_runtime.protocols.http.documents import (
    Long,
    Members,
    count_in_slices,
    large_document,
    members_in_slices,
    text_in_slices,
)
from worker_runtime.protocols.http.json_parser import names_of, read
from worker_runtime.protocols.http.json_values import (
    BadJson,
    as_object,
    as_string,
    explained,
    members,
)
from worker_runtime.protocols.http.limits import check_document
from worker_runtime.protocols.http.schema import Unparsed
from worker_runtime.protocols.http.tensors import from_json
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.request import InferRequest, ParameterValue, Sink
from worker_runtime.types.signature import TensorSpec

_NESTED = "parameters"
_ID = "id"


def generate_request(
    engine: Engine, model: Model, body: bytes, sink: Sink, limit: int
) -> InferRequest:
    """Members named like inputs become tensors, the others parameters. Raises InvalidArgument."""
    arrived = monotonic_ns()
    check_document(len(body), limit)
    document = read(body)
    request_id = _id(document[_ID]) if isinstance(document, dict) and _ID in document else ""
    found = _Found(model, request_id)
    found.take(members(document), nested=False)
    return found.request(engine, sink, arrived)


def generate_in_slices(
    engine: Engine, model: Model, body: bytes, sink: Sink, limit: int
) -> Steps[InferRequest]:
    """The same of a large body."""
    arrived = monotonic_ns()
    check_document(len(body), limit)
    yield None
    document = yield from large_document(body)
    given = dict(document)
    request_id = given.get(_ID, "")
    if isinstance(request_id, Long) and request_id.raw.startswith(b'"'):
        request_id = (yield from text_in_slices(request_id)).decode("utf-8", "surrogateescape")
    found = _Found(model, _id(request_id))
    yield from found.take_in_slices(document, nested=False)
    return found.request(engine, sink, arrived)


def _id(value: Any) -> str:
    try:
        return as_string(value)
    except BadJson as error:
        raise explained(f"Unable to parse '{_ID}'", error) from None


class _Found:
    """What the members of a generate request turned out to be."""

    def __init__(self, model: Model, request_id: str) -> None:
        self._model = model
        self._inputs = {spec.name: spec for spec in model.signature.inputs}
        self._max_batch_size = model.signature.max_batch_size
        self._request_id = request_id
        self.forms: list[tuple[str, str, tuple[int, ...]]] = []
        self.tensors: dict[str, Any] = {}
        self.parameters: dict[str, ParameterValue] = {}

    def request(self, engine: Engine, sink: Sink, arrived: int) -> InferRequest:
        plan = engine.plan(self._model, self._request_id, tuple(self.forms), None)
        return InferRequest(
            plan=plan,
            inputs=[self.tensors[item.name] for item in plan.inputs],
            sink=sink,
            id=self._request_id,
            arrived_ns=arrived,
            parameters=self.parameters or None,
        )

    def take(self, document: dict[str, Any], *, nested: bool) -> None:
        for name in names_of(document):
            self._take(name, document[name], nested=nested)

    def take_in_slices(self, document: Members, *, nested: bool) -> Steps[None]:
        for name, value in document:
            if not isinstance(value, Long):
                self._take(name, value, nested=nested)
            elif name == _NESTED and not nested:
                yield from self._take_long_nested(value)
            elif name in self._inputs:
                yield from self._take_long_tensor(self._inputs[name], value)
            elif not value.raw.startswith(b'"'):
                json_value(name, None)  # which refuses it
            else:
                text = yield from text_in_slices(value)
                self._take(name, text.decode("utf-8", "surrogateescape"), nested=nested)

    def _take(self, name: str, value: Any, *, nested: bool) -> None:
        if name == _NESTED and not nested:
            self._take_nested(value)
        elif name in self._inputs:
            self._take_tensor(self._inputs[name], value)
        elif nested or name != _ID:
            self.parameters[name] = json_value(name, value)

    def _take_nested(self, value: Any) -> None:
        self._check_nested(is_object=isinstance(value, dict))
        try:
            self.take(value, nested=True)
        except InvalidArgument as error:
            raise explained(f"Converting keyword: '{_NESTED}'", error) from None

    def _take_long_nested(self, value: Long) -> Steps[None]:
        self._check_nested(is_object=value.raw.startswith(b"{"))
        try:
            document = yield from members_in_slices(value.raw)
            yield from self.take_in_slices(document, nested=True)
        except InvalidArgument as error:
            raise explained(f"Converting keyword: '{_NESTED}'", error) from None

    def _check_nested(self, *, is_object: bool) -> None:
        if _NESTED in self._inputs:
            raise InvalidArgument(
                f"Keyword '{_NESTED}' for nested schema also given as input tensor name"
            )
        try:
            as_object({} if is_object else None)
        except BadJson as error:
            raise explained(f"Expected JSON object for keyword: '{_NESTED}'", error) from None

    def _take_tensor(self, spec: TensorSpec, value: Any) -> None:
        data = value if isinstance(value, list) else [value]
        shape = fitted(spec, self._max_batch_size, len(data))
        self._add(spec, shape, from_json(Unparsed(data), spec.datatype, len(data), spec.name))

    def _take_long_tensor(self, spec: TensorSpec, value: Long) -> Steps[None]:
        raw, count = value.raw, 1
        if raw.startswith(b"["):
            count = yield from count_in_slices(raw)
        else:
            raw = b"[%b]" % raw
        shape = fitted(spec, self._max_batch_size, count)
        parsed = yield from values_in_slices(raw, spec.datatype, count, spec.name)
        self._add(spec, shape, parsed.data)

    def _add(self, spec: TensorSpec, shape: tuple[int, ...], tensor: Any) -> None:
        if spec.name in self.tensors:
            raise InvalidArgument(f"input '{spec.name}' already exists in request").for_request(
                self._request_id
            )
        self.forms.append((spec.name, spec.datatype.name, shape))
        self.tensors[spec.name] = tensor


def fitted(spec: TensorSpec, max_batch_size: int, count: int) -> tuple[int, ...]:
    """The shape of ``count`` elements: the innermost variable axis takes what the others leave.

    Raises InvalidArgument when the fixed axes do not divide the elements.
    """
    shape = spec.wire_shape(max_batch_size)
    for dim in shape:
        if dim != -1:
            if not dim or count % dim:
                raise _misfit(spec.name)
            count //= dim
    for axis in reversed(range(len(shape))):
        if shape[axis] == -1:
            shape[axis], count = count, 1
    if count != 1:
        raise _misfit(spec.name)
    return tuple(shape)


def _misfit(name: str) -> InvalidArgument:
    return InvalidArgument(f"The schema can not convert input '{name}' to tensor with proper shape")
