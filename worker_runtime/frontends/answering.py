"""Answers of the core to a front end's requests: arrays again, and calls of sinks."""

import logging
from functools import partial
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

import numpy as np

from worker_runtime.errors import RuntimeFault
from worker_runtime.frontends.messages import (
    DELIVER,
    FAIL,
    LAST,
    REFUSE,
    RESPOND,
    Answer,
    Block,
    Layout,
    fault_of,
)
from worker_runtime.frontends.tensors import Reading, behind
from worker_runtime.protocols.slices import InTurn, Slices, Steps
from worker_runtime.protocols.strings import strings_in_slices
from worker_runtime.types.request import Arrays, InferRequest, Response
from worker_runtime.types.tensor import MANY_STRINGS, element_count, parse_strings

logger = logging.getLogger(__name__)
_MOST_LAYOUTS = 2048
_UNWRITTEN = "an answer with %s could not be written"
_Output = tuple[tuple[int, ...], "np.dtype[Any]", int]  # shape, numpy type, bytes


@runtime_checkable
class TellsApart(Protocol):
    """A sink that answers a request that was never accepted in other words than a failed one."""

    def turn_away(self, error: RuntimeFault) -> None: ...


class _Known:
    """A layout, made ready."""

    __slots__ = ("names", "outputs", "plain", "total")

    def __init__(self, layout: Layout) -> None:
        self.names = layout.names
        self.outputs: list[_Output] = []
        for shape, kind in zip(layout.shapes, layout.kinds, strict=True):
            dtype = np.dtype(kind)
            self.outputs.append((shape, dtype, element_count(shape) * dtype.itemsize))
        # where each one lies, when all are small
        ends = list(accumulate([size for _, _, size in self.outputs], initial=0))
        self.plain = [
            (shape, dtype, at) for (shape, dtype, _), at in zip(self.outputs, ends, strict=False)
        ]
        self.total = ends[-1]


class Answering:
    """``open`` are the requests that wait, by number."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._reading: dict[int, InTurn] = {}  # of requests with an answer that is read in slices
        self.open: dict[int, InferRequest] = {}
        self._layouts: dict[int, _Known] = {}

    def block(self, block: Block, frame: bytes | memoryview, start: int) -> None:
        for layout in block.layouts:
            self._layouts[layout.number] = _Known(layout)
        if len(self._layouts) > _MOST_LAYOUTS:
            newest = max(self._layouts)
            held = self._layouts.items()
            self._layouts = {n: k for n, k in held if n > newest - _MOST_LAYOUTS // 2}
        at, plain, waiting = start, block.plain, self.open
        for i in range(0, len(plain), 2):
            known = self._layouts[plain[i + 1]]
            request = waiting.pop(plain[i], None)
            if request is not None:
                arrays: Arrays = [
                    np.ndarray(shape, dtype, frame, at + offset)
                    for shape, dtype, offset in known.plain
                ]
                try:
                    request.sink.deliver(request, arrays)
                except Exception:  # why: as below
                    logger.exception(_UNWRITTEN, request.plan.outputs)
            at += known.total
        if block.answers:
            self._others(block.answers, Reading(frame, behind(start, at - start)))

    def _others(self, answers: list[Answer], reading: Reading) -> None:
        for answer in answers:
            # why first: what is behind it is found only when it is read.
            known = self._layouts[answer.layout] if answer.layout else None
            arrays = _arrays(known, answer, reading) if known is not None else []
            kind = answer.kind
            number = answer.number
            request = self.open.get(number) if kind == RESPOND else self.open.pop(number, None)
            if request is None:
                continue
            if (turn := self._reading.get(number)) is not None:
                turn.wait(partial(self._read, request, known, arrays, answer))
            else:
                self._read(request, known, arrays, answer)

    def _read(
        self, request: InferRequest, known: _Known | None, arrays: list[Any], answer: Answer
    ) -> None:
        """Tell it, at once but for BYTES of many elements: those are in their wire form still."""
        if not any(type(array) is not np.ndarray for array in arrays):
            self._tell_safely(request, known, arrays, answer)
            return
        assert known is not None  # noqa: S101 # where there are arrays
        number = answer.number
        turn = self._reading.get(number)
        if turn is None:
            turn = InTurn(self._slices, partial(self._reading.pop, number, None))
            self._reading[number] = turn
        turn.run(
            _strings_read(known, arrays),
            wanted=lambda: True,
            done=lambda read: self._tell_safely(request, known, read, answer),
            failed=partial(_fail_safely, request),
        )

    def _tell_safely(
        self, request: InferRequest, known: _Known | None, arrays: Arrays, answer: Answer
    ) -> None:
        try:
            self._tell(request, answer.kind, known, arrays, answer)
        except Exception:  # why: one broken connection must not cost the others their answers
            logger.exception(_UNWRITTEN, request.plan.outputs)

    def _tell(
        self, request: InferRequest, kind: int, known: _Known | None, arrays: Arrays, answer: Answer
    ) -> None:
        more = answer.more
        if more is not None and more.placed:
            self._place(request, known, answer)
        if kind == DELIVER:
            request.sink.deliver(request, arrays)
            return
        fault = fault_of(more.fault) if more is not None and more.fault is not None else None
        if fault is not None and kind == FAIL:
            request.sink.fail(request, fault)
        elif fault is not None and kind == REFUSE:
            _turn_away(request, fault)
        else:
            response = None
            if fault is not None:
                response = Response(error=fault)
            elif known is not None:
                parameters = more.parameters if more is not None else None
                response = Response(known.names, arrays, parameters)
            request.sink.respond(request, response, final=kind == LAST)

    def _place(self, request: InferRequest, known: _Known | None, answer: Answer) -> None:
        """Say which windows have their outputs already."""
        names = (known.names if known is not None else ()) or request.plan.outputs
        placed = {names[i] for i in answer.more.placed} if answer.more is not None else set()
        for name, window in (request.form.windows or {}).items():
            window.filled = name in placed

    def fail(self, number: int, error: Exception) -> None:
        """One that was not sent to the core."""
        request = self.open.pop(number, None)
        if request is not None:
            request.sink.fail(request, error)

    def fail_all(self, error: RuntimeFault) -> None:
        waiting, self.open = self.open, {}
        for number, request in waiting.items():
            # why behind: of an answer that is still read the sink shall hear before the end
            if (turn := self._reading.get(number)) is not None:
                turn.wait(partial(_fail_safely, request, error))
            else:
                _fail_safely(request, error)


def _fail_safely(request: InferRequest, error: Exception) -> None:
    try:
        request.sink.fail(request, error)
    except Exception:
        logger.exception("an error could not be written")


def _turn_away(request: InferRequest, fault: RuntimeFault) -> None:
    """As if ``submit`` had raised: streams tell the two apart."""
    if isinstance(request.sink, TellsApart):
        request.sink.turn_away(fault)
    else:
        request.sink.fail(request, fault)


def _strings_read(known: _Known, arrays: list[Any]) -> Steps[Arrays]:
    found: Arrays = []
    for array, (shape, _, _) in zip(arrays, known.outputs, strict=True):
        if type(array) is not np.ndarray:
            array = yield from strings_in_slices(array, element_count(shape), "", "")
            array = array.reshape(shape)
        found.append(array)
    return found


def _arrays(known: _Known, answer: Answer, reading: Reading) -> list[Any]:
    """BYTES of many elements are in their wire form still."""
    sizes, arrays = answer.sizes, list[Any]()
    placed = answer.more.placed if answer.more is not None else ()
    for i, (shape, dtype, nbytes) in enumerate(known.outputs):
        if i in placed:
            arrays.append(np.empty(shape, dtype))  # only its form is looked at
        elif dtype.hasobject:
            size = sizes[i] if sizes is not None else 0
            raw = reading.take(size)
            count = element_count(shape)
            many = count > MANY_STRINGS
            arrays.append(raw if many else parse_strings(raw, count, "", "").reshape(shape))
        else:
            arrays.append(np.frombuffer(reading.take(nbytes), dtype).reshape(shape))
    return arrays
