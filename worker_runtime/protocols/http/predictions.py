"""Rows of one call as requests of the size that the model takes, and their outputs as one answer.

MLflow's callers send as many rows as they have; a model that batches takes so many at a time.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Any

import msgspec

from worker_runtime.errors import Internal, InvalidArgument, RuntimeFault
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.invocations import AZURES, Asked, fitted
from worker_runtime.protocols.http.nested_json import Array, concatenated
from worker_runtime.protocols.http.tensors import SLICE_ELEMENTS
from worker_runtime.protocols.slices import Slices, Steps, at_once
from worker_runtime.types.request import Arrays, InferRequest, Response
from worker_runtime.types.tensor import string_array

logger = logging.getLogger(__name__)

_UNDER_WAY = 8  # requests of one call: more would wait in the model's queue before those of others
_JOINED = 256  # answers that are made one: an array of a row takes many times its bytes, unless ...
_SMALL_SIZE = 64 * 1024  # they have more elements than this


class Predictions:
    """The sink of all requests of one call. The first error ends it.

    Raises InvalidArgument for tensors that are not this model's.
    """

    def __init__(
        self,
        connection: Connection,
        slices: Slices,
        engine: Engine,
        model: Model,
        asked: Asked,
        submit: Callable[[InferRequest], None],
    ) -> None:
        _can_be_told(model)
        self._connection, self._slices, self._engine = connection, slices, engine
        self._model, self._asked, self._submit = model, asked, submit
        self._arrived = monotonic_ns()
        self._parts: _Parts | None = _Parts(model, asked.tensors)
        self._next = 0
        self._filling = False
        # why not longer than they run: requests are not seen by the collector of cycles
        self._under_way: dict[int, tuple[int, InferRequest]] = {}
        self._answers = _Answers()

    def begin(self) -> None:
        self._connection.call = self
        self._fill()

    def give_up(self) -> None:
        requests = [request for _, request in self._under_way.values()]
        self._under_way.clear()
        self._parts = None
        for request in requests:
            request.cancelled = True
            self._engine.cancel(request)

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self.respond(request, Response(request.plan.outputs, outputs), final=True)

    def fail(self, request: InferRequest, error: Exception) -> None:
        if id(request) in self._under_way:  # else the client has gone, or another part has failed
            self._end(error)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if id(request) not in self._under_way or not (final or response):
            return
        if response is None or response.error is not None:
            error = response.error if response is not None else None
            self._end(error or Internal("expected a single response, got 0"))
            return
        place, _ = self._under_way.pop(id(request))
        self._answers.add(place, dict(zip(response.names, response.arrays, strict=True)))
        self._fill()

    def _fill(self) -> None:
        """Ask for what may be asked for now. Small models answer at once, within that."""
        if self._filling:
            return
        self._filling = True
        try:
            for _ in range(_UNDER_WAY):
                parts = self._parts  # none once one has failed
                if parts and self._next < parts.count and len(self._under_way) < _UNDER_WAY:
                    self._go_on(parts)
        except Exception as error:
            if not isinstance(error, RuntimeFault):
                logger.exception("a part of a call failed")
            self._end(error)
            return
        finally:
            self._filling = False
        if self._under_way or self._parts is None:
            return
        if self._next < self._parts.count:
            asyncio.get_running_loop().call_soon(self._fill)  # others have their turn
            return
        self._answer()

    def _end(self, error: Exception) -> None:
        self.give_up()
        self._connection.call = self._connection.request = None
        self._connection.fail_with(error)

    def _go_on(self, parts: "_Parts") -> None:
        place, self._next = self._next, self._next + 1
        tensors = parts.part(place)
        forms = tuple(
            (spec.name, spec.datatype.name, tensors[spec.name].shape)
            for spec in self._model.signature.inputs
            if spec.name in tensors
        )
        plan = self._engine.plan(self._model, "", forms, None)
        inputs = [_wire(tensors[item.name]) for item in plan.inputs]
        request = InferRequest(plan, inputs, self, "", self._arrived)
        self._under_way[id(request)] = (place, request)
        self._submit(request)

    def _answer(self) -> None:
        connection = self._connection

        def done(body: bytes) -> None:
            connection.call = connection.request = None
            connection.reply(200, body)

        if self._answers.size > SLICE_ELEMENTS:
            self._slices.run(
                self._told(),
                wanted=lambda: not connection.closed,
                done=done,
                failed=self._end,
            )
            return
        try:
            body = at_once(self._told())
        except RuntimeFault as error:
            self._end(error)
            return
        done(body)

    def _told(self) -> Steps[bytes]:
        try:
            outputs = _unshaped(self._model, (yield from self._answers.joined()))
        except ValueError as error:
            raise _uneven(self._model, error) from error
        return (yield from written(self._asked, outputs))


def _can_be_told(model: Model) -> None:
    """Raises InvalidArgument for a model whose answers are no predictions in JSON."""
    if model.decoupled:
        raise InvalidArgument(
            f"model '{model.name}' streams its answers: POST to v2/models/{model.name}/"
            "generate_stream instead of score"
        )
    for spec in model.signature.outputs:
        if spec.datatype.name == "BF16":
            raise InvalidArgument(
                f"output '{spec.name}' is BF16, which JSON does not carry: ask for it with "
                f"v2/models/{model.name}/infer as binary data"
            )


class _Parts:
    """The rows in as many parts as the model's batches need. Raises InvalidArgument.

    why one after the other: a call may have millions of rows.
    """

    def __init__(self, model: Model, tensors: dict[str, Array]) -> None:
        self._most = model.signature.max_batch_size
        specs = {spec.name: spec for spec in model.signature.inputs}
        self._tensors = {
            name: fitted(array, specs[name], self._most) for name, array in tensors.items()
        }
        self.count = 1
        if self._most <= 0:
            return
        counts = {name: len(array) if array.ndim else 0 for name, array in self._tensors.items()}
        rows = max(counts.values(), default=0)
        if set(counts.values()) != {rows} or not rows:
            told = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise InvalidArgument(f"expected as many rows of each input, and one at least: {told}")
        self.count = -(-rows // self._most)

    def part(self, place: int) -> dict[str, Array]:
        if self._most <= 0:
            return self._tensors
        first = place * self._most
        return {name: array[first : first + self._most] for name, array in self._tensors.items()}


class _Answers:
    """The outputs of all parts, in the order of their rows, whichever comes first.

    ``size``: elements of all of them.
    """

    def __init__(self) -> None:
        self.size = 0
        self._early: dict[int, dict[str, Array]] = {}
        self._count = 0
        self._last: list[dict[str, Array]] = []
        self._last_size = 0
        self._blocks: list[dict[str, Array]] = []

    def add(self, place: int, outputs: dict[str, Array]) -> None:
        self._early[place] = outputs
        while (found := self._early.pop(self._count, None)) is not None:
            self._last.append(found)
            size = sum(array.size for array in found.values())
            self.size += size
            self._last_size += size
            self._count += 1
        if len(self._last) >= _JOINED:
            self._keep()

    def _keep(self) -> None:
        """The last ones, as one where they are small and go together."""
        if self._last_size <= _SMALL_SIZE:
            with contextlib.suppress(ValueError):  # which is told at the end
                self._last = [at_once(_joined(self._last))]
        self._blocks += self._last
        self._last, self._last_size = [], 0

    def joined(self) -> Steps[dict[str, Array]]:
        """Raises ValueError where they do not go together."""
        return (yield from _joined([*self._blocks, *self._last]))


def _uneven(model: Model, error: ValueError) -> RuntimeFault:
    return InvalidArgument(
        f"the outputs of model '{model.name}' do not go together ({error}): ask for "
        f"{max(1, model.signature.max_batch_size)} rows at a time"
    )


def _wire(array: Array) -> Any:
    return string_array(list(array.reshape(-1))) if array.dtype == object else array.tobytes()


def _joined(found: Sequence[dict[str, Array]]) -> Steps[dict[str, Array]]:
    if any(part.keys() != found[0].keys() for part in found):
        raise ValueError("some outputs are missing")
    joined = {}
    for name in found[0]:
        joined[name] = yield from concatenated([part[name] for part in found])
    return joined


def _unshaped(model: Model, outputs: dict[str, Array]) -> dict[str, Array]:
    """In the shapes that the model's file gives, whatever the configuration makes of them."""
    batches = model.signature.max_batch_size > 0
    for spec in model.signature.outputs:
        array = outputs.get(spec.name)
        if array is None or spec.reshape is None or -1 in spec.reshape:
            continue
        outputs[spec.name] = array.reshape((*array.shape[: int(batches)], *spec.reshape))
    return outputs


# --- as JSON -------------------------------------------------------------------------------------


def written(asked: Asked, outputs: dict[str, Array]) -> Steps[bytes]:
    """Rows of objects for a table, else arrays by name. Of Azure's key without more around it."""
    text = (yield from _rows(outputs)) if asked.table else (yield from _arrays(outputs))
    return text if asked.word == AZURES else b'{"predictions":%b}' % text


def _rows(outputs: dict[str, Array]) -> Steps[bytes]:
    """An object for each row; where the outputs have not the same number of rows, one for all."""
    columns = {name: _cells(array) for name, array in outputs.items() if array.ndim}
    counts = {len(array) for array in columns.values()}
    if len(columns) < len(outputs) or len(counts) != 1:
        one = yield from _arrays(outputs)
        return b"[%b]" % one
    (count,) = counts
    width = sum(array.size for array in columns.values()) // max(count, 1)
    step = max(1, SLICE_ELEMENTS // max(width, 1))
    pieces = []
    for first in range(0, count, step):
        lists = [_plain(array[first : first + step]) for array in columns.values()]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
        pieces.append(msgspec.json.encode(rows)[1:-1])
        yield None
    return b"[%b]" % b",".join(pieces)


def _cells(array: Array) -> Array:
    """One element a row is told as itself, as MLflow does."""
    return array.reshape(-1) if array.size == len(array) else array


def _arrays(outputs: dict[str, Array]) -> Steps[bytes]:
    pieces = []
    for name, array in outputs.items():
        text = yield from _array(array)
        pieces.append(msgspec.json.encode(name) + b":" + text)
    return b"{%b}" % b",".join(pieces)


def _array(array: Array) -> Steps[bytes]:
    """Nested lists; a part of at most so many elements at a time."""
    if array.size <= SLICE_ELEMENTS or array.ndim == 0:
        yield None
        return msgspec.json.encode(_plain(array))
    pieces = []
    width = array.size // len(array)
    if width > SLICE_ELEMENTS:
        for row in array:
            pieces.append((yield from _array(row)))
        return b"[%b]" % b",".join(pieces)
    step = max(1, SLICE_ELEMENTS // width)
    for first in range(0, len(array), step):
        pieces.append(msgspec.json.encode(_plain(array[first : first + step]))[1:-1])
        yield None
    return b"[%b]" % b",".join(pieces)


def _plain(array: Array) -> Any:
    """Lists; texts of bytes, and null for numbers that are not finite: JSON has none."""
    if array.dtype == object:
        return _texts(array.tolist())
    return array.tolist()


def _texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_texts(item) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
