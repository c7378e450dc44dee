"""Where the time of one request went, as bars: from the gateway to what each model did. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

RECEIVE, INSIDE, SEND, MODEL, ANSWER = "receive", "inside", "send", "model", "answer"
PHASES: Final = ("accept", "queue", "input", "infer", "output")
WHAT: Final = (RECEIVE, INSIDE, SEND, MODEL, *PHASES, ANSWER)
SLOW_SHARE: Final = 0.3  # of the whole, from which on the longest stretch is called slow
# Why a request has no bars of a replica.
NO_REPLICA: Final = "The gateway answered by itself: no replica had it."
NOT_KEPT: Final = (
    "Its replica kept no times of it: replicas keep those of the slowest, of failed and of a few "
    "other requests, and none of requests that they refused before a model had them."
)
Span = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bar:
    """Times in µs from the gateway's first byte on, or from the replica's where there is none.

    ``span`` is the place of a model's span; a bar that is no ``leaf`` has others as its parts.
    """

    what: str
    depth: int
    start_us: float
    took_us: float
    span: int | None = None
    leaf: bool = True
    slow: bool = False


def bars_of(seen: Mapping[str, Any] | None, spans: Sequence[Span]) -> list[Bar]:
    """What is part of another stands below it. One is slow at most."""
    found = [*_gateway(seen, _offset(seen, spans), spans)]
    whole = max((bar.start_us + bar.took_us for bar in found), default=0.0)
    leaves = [bar for bar in found if bar.leaf]
    longest = max(leaves, key=lambda bar: bar.took_us, default=None)
    if longest is None or longest.took_us < SLOW_SHARE * whole:
        return found
    return [replace(bar, slow=True) if bar is longest else bar for bar in found]


def _offset(seen: Mapping[str, Any] | None, spans: Sequence[Span]) -> float:
    """When the replica began. Clocks differ, so what is between both sides is put around it."""
    if seen is None or seen["replica_us"] is None or not spans:
        return 0.0
    between = max(0.0, seen["replica_us"] - spans[0]["total_us"])
    return float(seen["receive_us"] + between / 2)


def _gateway(seen: Mapping[str, Any] | None, offset: float, spans: Sequence[Span]) -> Iterator[Bar]:
    inner = list(_span(spans, 0, 1, offset)) if spans else []
    if seen is None or seen["replica_us"] is None:
        yield from (replace(bar, depth=bar.depth - 1) for bar in inner)
        return
    receive, inside, send = seen["receive_us"], seen["replica_us"], seen["send_us"]
    yield Bar(RECEIVE, 0, 0.0, receive)
    yield Bar(INSIDE, 0, receive, inside, leaf=not inner)
    yield from inner
    yield Bar(SEND, 0, receive + inside, send)


def _span(spans: Sequence[Span], place: int, depth: int, offset: float) -> Iterator[Bar]:
    span = spans[place]
    # why larger ones only: a node may say what it likes, and rings have no end
    below = [at for at, one in enumerate(spans) if at > place and one["parent"] == place]
    start, executed = offset + span["start_us"], span["infer_us"] is not None
    leaf = not (below or executed)
    yield Bar(MODEL, depth, start, span["total_us"], place, leaf=leaf)
    if executed:
        at = start
        for phase in PHASES:
            took = span[f"{phase}_us"] or 0.0
            # why: what its calls take is part of its computing
            yield Bar(phase, depth + 1, at, took, place, leaf=not (below and phase == "infer"))
            at += took
            if phase == "infer":
                yield from _below(spans, below, depth + 2, offset)
        if not place:  # what others led to is over with its batch
            yield Bar(ANSWER, depth + 1, at, max(0.0, start + span["total_us"] - at), place)
    else:
        yield from _below(spans, below, depth + 1, offset)


def _below(
    spans: Sequence[Span], places: Sequence[int], depth: int, offset: float
) -> Iterator[Bar]:
    for place in places:
        yield from _span(spans, place, depth, offset)
