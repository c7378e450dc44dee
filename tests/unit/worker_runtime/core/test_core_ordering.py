"""preserve_ordering: whoever left the queue first is answered first."""

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink, request
from worker_runtime.core.scheduling.ordering import Ordering
from worker_runtime.errors import Internal
from worker_runtime.types.request import Arrays, InferRequest, Response


def test_an_early_answer_waits_for_those_before_it() -> None:
    sink, order = RecordingSink(), Ordering()
    first, second, third = (request(name=name, sink=sink) for name in "abc")
    for item in (first, second, third):
        order.admit(item)
    third.sink.deliver(third, [])
    second.sink.fail(second, Internal("x"))
    assert not sink.delivered
    assert not sink.failed
    first.sink.deliver(first, [])
    assert [name for name, _ in sink.delivered] == ["a", "c"]
    assert [name for name, _ in sink.failed] == ["b"]
    assert len(order) == 0
    assert first.sink is sink


def test_of_many_answers_the_front_one_streams_and_the_others_wait() -> None:
    sink, order = RecordingSink(), Ordering()
    first, second = request(name="a", sink=sink), request(name="b", sink=sink)
    order.admit(first)
    order.admit(second)
    second.sink.respond(second, Response(), final=False)
    first.sink.respond(first, Response(), final=False)
    assert [name for name, _, _ in sink.responded] == ["a"]
    second.sink.respond(second, None, final=True)
    first.sink.respond(first, None, final=True)
    assert [(name, final) for name, _, final in sink.responded] == [
        ("a", False),
        ("a", True),
        ("b", False),
        ("b", True),
    ]


class Broken(RecordingSink):
    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        super().deliver(request, outputs)
        raise ConnectionError("gone")


def test_a_broken_sink_does_not_keep_those_behind_it_waiting() -> None:
    broken, sink, order = Broken(), RecordingSink(), Ordering()
    first, second = request(name="a", sink=broken), request(name="b", sink=sink)
    order.admit(first)
    order.admit(second)
    second.sink.deliver(second, [])
    first.sink.deliver(first, [])
    assert [name for name, _ in broken.delivered] == ["a"]
    assert [name for name, _ in sink.delivered] == ["b"]
    assert len(order) == 0
