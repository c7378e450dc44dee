"""Answers of the core on their way to a front end: layouts told once, blocks of what is ready."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from worker_runtime.core.shared_memory import Window
from worker_runtime.errors import RuntimeFault
from worker_runtime.frontends.messages import (
    DELIVER,
    FAIL,
    LAST,
    RESPOND,
    Answer,
    Block,
    Layout,
    More,
    fault_text,
)
from worker_runtime.frontends.tensors import (
    LARGE,
    Tail,
    has_many_strings,
    raw_input,
    raw_output,
    strings_written,
)
from worker_runtime.protocols.slices import InTurn, Slices
from worker_runtime.types.request import Arrays, InferRequest, Response

MOST_LAYOUTS = 1024  # that are remembered; the other side keeps twice as many


class _Layout(NamedTuple):
    """Of an answer that is nothing but small tensors, of ``total`` bytes."""

    number: int
    outputs: tuple[tuple[tuple[int, ...], Any], ...]  # shapes and numpy types
    total: int


class Replies:
    """The sink of all requests of one front end; a request's form is the number that it has there.

    ``wake`` is called when there is something to send where there was nothing.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._open: dict[int, InferRequest] = {}
        self._windows: dict[int, dict[str, Window]] = {}
        self._known: dict[Any, int] = {}
        self._number = 0  # of the last layout
        self._closed = False
        self._last: _Layout | None = None
        self._slices = Slices()
        self._writing: dict[int, InTurn] = {}  # of requests with an answer written in slices
        self._begin()

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        if self._closed:
            return
        number = request.form
        windows = self._windows.pop(number, None) if self._windows else None
        self._open.pop(number, None)
        if windows is None and self._deliver_plain(number, outputs):
            return
        if has_many_strings(outputs):
            deliver = partial(self._deliver, request, outputs, windows)
            self._write_later(number, outputs, deliver)
        else:
            self._deliver(request, outputs, windows, outputs)

    def _deliver(
        self,
        request: InferRequest,
        outputs: Arrays,
        windows: Mapping[str, Window] | None,
        written: list[Any],
    ) -> None:
        """``written``: the outputs, or their wire form."""
        number = request.form
        if windows is None:
            layout, sizes = self._write((), outputs, written)
            self._add(Answer(number, DELIVER, layout, sizes))
        else:
            response = Response((), outputs)
            self._placed(number, DELIVER, request.plan.outputs, response, windows, written)

    def _deliver_plain(self, number: int, outputs: Arrays) -> bool:
        """Whether they are small, look as those of the last answer did, and overtake no other."""
        last = self._last
        if last is None or self.answers or len(last.outputs) != len(outputs):
            return False
        for array, (shape, dtype) in zip(outputs, last.outputs, strict=True):
            if array.shape != shape or array.dtype is not dtype:
                return False
        small = self._small
        small.parts += [array.tobytes() for array in outputs]
        small.size += last.total
        if not self._plain and not self.answers:
            self._wake()
        self._plain += (number, last.number)
        return True

    def fail(self, request: InferRequest, error: Exception) -> None:
        if self._closed:
            return
        if (turn := self._writing.get(request.form)) is not None:
            turn.wait(partial(self._fail, request.form, error))
        else:
            self._fail(request.form, error)

    def _fail(self, number: int, error: Exception) -> None:
        self._end(number)
        self._add(Answer(number, FAIL, more=More(fault_text(error))))

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if self._closed:
            return
        if (turn := self._writing.get(request.form)) is not None:
            turn.wait(partial(self._respond, request, response, final=final))
        else:
            self._respond(request, response, final=final)

    def _respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        arrays: Arrays = response.arrays if response is not None else []
        if has_many_strings(arrays):
            give = partial(self._give, request, response, final=final)
            self._write_later(request.form, arrays, give)
        else:
            self._give(request, response, arrays, final=final)

    def _write_later(self, number: int, arrays: Arrays, done: Callable[[list[Any]], None]) -> None:
        """Call ``done`` with many BYTES in their wire form; other answers of the request wait."""
        turn = self._writing.get(number)
        if turn is None:
            turn = InTurn(self._slices, partial(self._writing.pop, number, None))
            self._writing[number] = turn
        turn.run(
            strings_written(arrays),
            wanted=lambda: not self._closed,
            done=done,
            failed=partial(self._fail, number),
        )

    def _give(
        self, request: InferRequest, response: Response | None, written: list[Any], *, final: bool
    ) -> None:
        number, kind = request.form, LAST if final else RESPOND
        windows = self._windows.get(number)
        if final:
            self._end(number)
        if response is None:
            self._add(Answer(number, kind))
        elif response.error is not None:
            self._add(Answer(number, kind, more=More(fault_text(response.error))))
        elif windows is not None:
            self._placed(number, kind, response.names, response, windows, written)
        else:
            layout, sizes = self._write(response.names, response.arrays, written)
            more = More(parameters=response.parameters) if response.parameters else None
            self._add(Answer(number, kind, layout, sizes, more))

    def _placed(
        self,
        number: int,
        kind: int,
        names: Sequence[str],
        response: Response,
        windows: Mapping[str, Window],
        written: list[Any],
    ) -> None:
        """An answer of which the client wants a part in memory that it shares: put it there.

        BYTES are written by the front end, which knows what they are on the wire.
        """
        placed = []
        try:
            for i, (name, array) in enumerate(zip(names, response.arrays, strict=True)):
                window = windows.get(name)
                if window is not None and not array.dtype.hasobject:
                    placed.append(i)
                    # why no error here for what is too large: the front end has the words for it.
                    if 0 < array.nbytes <= window.byte_size:
                        window.write(raw_output(array))
        except RuntimeFault as error:
            failed = FAIL if kind == DELIVER else kind
            self._add(Answer(number, failed, more=More(fault_text(error))))
            return
        layout, sizes = self._write(response.names, response.arrays, written, frozenset(placed))
        more = More(parameters=response.parameters, placed=tuple(placed))
        self._add(Answer(number, kind, layout, sizes, more))

    def _end(self, number: int) -> None:
        self._open.pop(number, None)
        self._windows.pop(number, None)

    def _write(
        self,
        names: tuple[str, ...],
        arrays: Arrays,
        written: list[Any],
        placed: frozenset[int] = frozenset(),
    ) -> tuple[int, tuple[int, ...] | None]:
        """The number of their layout, and their sizes where it does not tell."""
        kinds = "".join([array.dtype.char for array in arrays])
        key = (names, tuple([array.shape for array in arrays]), kinds)
        layout = self._known.get(key)
        if layout is None:
            if len(self._known) >= MOST_LAYOUTS:
                self._known.clear()
                self._last = None  # why: the other side forgets what is older than its newest
            self._number = layout = self._known[key] = self._number + 1
            self.layouts.append(Layout(layout, *key))
        tail = self.tail
        if "O" not in kinds and not placed:
            if not names and all(0 < array.nbytes < LARGE for array in arrays):
                forms = tuple([(array.shape, array.dtype) for array in arrays])
                self._last = _Layout(layout, forms, sum([array.nbytes for array in arrays]))
            for array in arrays:
                tail.add(raw_output(array), array.nbytes)
            return layout, None
        sizes = []
        for i, given in enumerate(written):
            raw: Any = b"" if i in placed else raw_input(given)
            tail.add(raw, len(raw))
            sizes.append(len(raw))
        return layout, tuple(sizes)

    def _add(self, answer: Answer) -> None:
        answers = self.answers
        if not answers and not self._plain:
            self._wake()
        answers.append(answer)

    @property
    def pending(self) -> bool:
        """There are answers to be sent."""
        return bool(self._plain or self.answers)

    def block(self, said: list[Any]) -> tuple[Block, Tail]:
        """What is to be sent with ``said``, which is then forgotten here."""
        block = Block(said, self.layouts, self._plain, self.answers)
        small = self._small
        small.join(self.tail)
        self._begin()
        return block, small

    def _begin(self) -> None:
        """The next block."""
        self.answers: list[Answer] = []
        self.layouts: list[Layout] = []
        self.tail = Tail()
        self._plain: list[int] = []
        self._small = Tail()
