"""What is noted of one request of a client while it runs: which models worked for it, and when.

Times are monotonic nanoseconds. Everything runs in the event loop. Notes are plain tuples: most of
them are thrown away with their request, which nobody wants to know of.
"""

from collections.abc import Sequence
from time import monotonic_ns
from typing import Final, NamedTuple, Protocol

from worker_runtime.types.request import InferRequest, Response

MOST_NOTES: Final = 100  # models of one request; those beyond are counted
LONGEST_ID: Final = 64
VERSION_AT: Final = 14  # where a UUID has its version
RANDOM: Final = ord("4")  # UUIDs of this version are random all over, as gateways make them
ALL: Final = -1  # requests take longer than that
STEP, CALL = "step", "call"
X_REQUEST_ID: Final = "x-request-id"


class Note(NamedTuple):
    """What one model did. ``parent`` is the arrival of the request that led to it, ``arrived`` its
    own: no two requests of one event loop arrive at the same time."""

    parent: int
    via: str  # STEP or CALL; "" for the client's own request
    model: str
    version: int
    arrived: int
    queued: int
    timings: tuple[int, int, int, int] | None
    batch: int  # requests that were executed together
    ended: int
    error: str


class Notebook:
    """Notes of the steps and calls of one client's request."""

    __slots__ = ("left_out", "notes")

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.left_out = 0

    def add(self, note: Note) -> None:
        if len(self.notes) < MOST_NOTES:
            self.notes.append(note)
        else:
            self.left_out += 1


class Watch(Protocol):
    """What a request carries of which somebody may want to know. Nobody does of one that has not
    failed, took no longer than ``slower_than`` (ns), and has either a random id whose last byte is
    in ``skipped``, or another one whose ``crc32`` from ``salt`` on is at least ``ranked_below``."""

    slower_than: int
    skipped: bytes
    salt: int
    ranked_below: int

    def ended(self, request: InferRequest, error: str = "") -> None:
        """To be called once its last answer is written, or it was refused."""
        ...

    def notebooks(self, request: InferRequest) -> tuple[Notebook, ...]:
        """For what it leads to."""
        ...


class Below:
    """Of a step of an ensemble, or of a model's call. A call is made for all the requests that its
    model had then, as a model need not say for which of them it calls."""

    __slots__ = ("_notebooks", "_parents", "_via")
    slower_than, skipped, salt, ranked_below = ALL, b"", 0, 0

    def __init__(self, via: str, notebooks: tuple[Notebook, ...], parents: tuple[int, ...]) -> None:
        self._via = via
        self._notebooks = notebooks
        self._parents = parents  # the arrivals of the requests that led to it

    def ended(self, request: InferRequest, error: str = "") -> None:
        for notebook, parent in zip(self._notebooks, self._parents, strict=True):
            notebook.add(noted(request, self._via, parent, error))

    def notebooks(self, request: InferRequest) -> tuple[Notebook, ...]:  # noqa: ARG002 # Watch's
        return self._notebooks


def below(via: str, requests: Sequence[InferRequest]) -> Below | None:
    """For what these lead to together; None where nobody wants to know of any."""
    found = [
        (notebook, request.arrived_ns)
        for request in requests
        if request.watched is not None
        for notebook in request.watched.notebooks(request)
    ]
    if not found:
        return None
    notebooks, parents = zip(*found, strict=True)
    return Below(via, notebooks, parents)


def ended(request: InferRequest, error: Exception | None = None) -> None:
    """Its last answer is written, or it was refused."""
    if request.watched is not None:
        request.watched.ended(request, "" if error is None else type(error).__name__)


def answered(request: InferRequest, response: Response | None, *, final: bool) -> None:
    """An answer is written, maybe the last one."""
    if final and request.watched is not None:
        ended(request, None if response is None else response.error)


def noted(request: InferRequest, via: str, parent: int, error: str = "") -> Note:
    """Of a request that has just ended."""
    model = request.model
    timings = request.timings if model.executes else None
    # why so: an answer to a step may at once be the next step's request, and take as long
    now = timings[3] if via and timings is not None else monotonic_ns()
    return Note(
        parent,
        via,
        model.name,
        model.version,
        request.arrived_ns,
        request.queued_ns,
        timings,
        request.batch if timings is not None else 0,
        now,
        error,
    )


def id_of(headers: Sequence[tuple[str, str]]) -> bytes:
    """What ``id_in`` finds in the first ``x-request-id``, spelled as gateways do."""
    for name, value in headers:
        if name == X_REQUEST_ID:
            return id_in(value)
    return b""


def id_in(value: str) -> bytes:
    """The id, ``padded``. Nothing for one that nobody could look for, as gateways cut and replace
    what is longer or not printable."""
    known = 0 < len(value) <= LONGEST_ID and value.isascii() and value.isprintable()
    return padded(value.encode()) if known else b""


def padded(request_id: bytes) -> bytes:
    """With spaces, so that it has a byte at ``VERSION_AT``."""
    return request_id.ljust(VERSION_AT + 1)
