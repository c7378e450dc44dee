"""A front end as the core sees it: what it says of models that it runs itself, and is told."""

from types import SimpleNamespace
from typing import Any

from worker_runtime.core.statistics import Statistics
from worker_runtime.frontends.counts import taken
from worker_runtime.frontends.messages import Bundle, Copied, CopyForm, State, encoded
from worker_runtime.frontends.process import FrontEnd
from worker_runtime.observability.logging import LogOptions

FORM = CopyForm(1, "m", 1, b"", "/m", None, {})


def front_end(models: Any, spared: tuple[CopyForm, ...] = ()) -> FrontEnd:
    mirror: Any = SimpleNamespace(models=models, leave=lambda _viewer: None)
    nothing: Any = None
    return FrontEnd(nothing, nothing, mirror, lambda *_: None, spared)


def hear(front_end: FrontEnd, said: Copied) -> None:
    message = encoded(Bundle([], [], {}, [], [], [said]))
    front_end._taken(memoryview(message), b"", 0)


def state(*copies: CopyForm, epoch: int = 1) -> State:
    return State(epoch, [], [], [], {}, [], False, False, LogOptions(), list(copies), [1])


async def test_what_it_counted_stays_when_it_is_lost_and_what_waits_there_does_not() -> None:
    there = Statistics()
    there.executed_alone(2, 1, 2, (3, 4, 5, 6), 7)
    counts = taken(1, there)
    assert counts is not None
    kept, unloaded = SimpleNamespace(statistics=Statistics()), taken(9, _worked())
    assert unloaded is not None
    one = front_end({1: kept})
    hear(one, Copied({1: 3}, [counts, unloaded]))
    assert (kept.statistics.copies, kept.statistics.elsewhere) == (2, {one.pid: 3})
    assert (kept.statistics.success_count, kept.statistics.row_count) == (1, 2)
    one._lost()
    assert kept.statistics.copies == 1
    assert kept.statistics.success_count == 1


def _worked() -> Statistics:
    found = Statistics()
    found.executed_alone(1, 1, 2, (3, 4, 5, 6), 7)
    return found


async def test_one_that_ended_while_it_loaded_is_followed_by_one_that_is_spared() -> None:
    one = front_end({})
    one.tell(state(FORM))
    assert one.loads
    hear(one, Copied({}, [], loading=True))
    assert one.loads
    one._lost()
    assert one.loads, "so that the next one is spared"
    other = front_end({}, (FORM,))
    assert other.spared == (FORM,)
    other.tell(state())
    assert not other.loads
    other.tell(state(FORM, epoch=2))
    hear(other, Copied({1: 0}, []))
    assert not other.loads, "it has tried them"
