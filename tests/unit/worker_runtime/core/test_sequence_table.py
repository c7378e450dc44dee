"""Seats, backlog, idle sequences and timeouts, with a clock of our own."""

import pytest

from tests.unit.worker_runtime.core.runtime_requests import request
from worker_runtime.core.scheduling.sequence.table import Seat, SequenceTable
from worker_runtime.errors import InvalidArgument, QueueFull, Unavailable
from worker_runtime.types.request import InferRequest, SequencePart

MS = 1_000_000


def part(
    sequence: int | str, flags: str = "", *, at: int = 0, timeout: int = 0, name: str = ""
) -> InferRequest:
    made = request(at=at, name=name or f"{sequence}{flags}")
    made.sequence = SequencePart(sequence, start="s" in flags, end="e" in flags)
    made.timeout_ns = timeout
    return made


def table(
    instances: int = 1, slots: int = 2, idle: int = 1000 * MS, limit: int = 0, longest: int = 0
) -> SequenceTable:
    return SequenceTable("m", instances, slots, idle, limit, longest)


def names(requests: object) -> list[str]:
    return [item.id for item in requests]  # type: ignore[attr-defined]


def test_seats_go_lowest_slot_first_over_all_instances() -> None:
    seats = table(instances=2)
    taken = [seats.admit(part(i, "s"), 0).seat for i in range(1, 5)]
    assert taken == [Seat(0, 0), Seat(0, 1), Seat(1, 0), Seat(1, 1)]
    assert seats.admit(part(5, "s"), 0).seat is None
    assert seats.waiting == 1


def test_of_two_equal_slots_the_one_that_was_freed_first_is_taken() -> None:
    seats = table(instances=2, slots=1)
    first = seats.admit(part(1, "se"), 0).seat
    assert first is not None
    seats.release(first, 1)
    assert seats.admit(part(2, "s"), 2).seat == Seat(0, 1)
    assert seats.admit(part(3, "s"), 2).seat == first


def test_a_sequence_keeps_its_seat_until_its_end() -> None:
    seats = table()
    seat = seats.admit(part(7, "s"), 0).seat
    assert seats.admit(part(7), 1).seat == seat
    assert seats.admit(part(7, "e"), 2).seat == seat
    assert seats.live == 0
    with pytest.raises(InvalidArgument):
        seats.admit(part(7), 3)


@pytest.mark.parametrize(
    ("sequence", "text"),
    [
        (5, "inference request for sequence 5 to model 'm' must specify the START flag on the "
            "first request of the sequence"),
        ("five", "inference request for sequence five to model 'm' must specify the START flag on "
            "the first request of the sequence"),
    ],
)  # fmt: skip
def test_the_first_request_must_say_start(sequence: int | str, text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        table().admit(part(sequence), 0)
    assert str(caught.value) == text


def test_a_request_must_belong_to_a_sequence() -> None:
    with pytest.raises(InvalidArgument) as caught:
        table().admit(request(), 0)
    assert str(caught.value) == (
        "inference request to model 'm' must specify a non-zero or non-empty correlation ID"
    )


def test_numbers_and_texts_are_different_sequences() -> None:
    seats = table()
    seats.admit(part(5, "s"), 0)
    with pytest.raises(InvalidArgument):
        seats.admit(part("5"), 0)


def test_a_second_start_continues_in_the_same_seat() -> None:
    seats = table()
    first = seats.admit(part(1, "s"), 0)
    again = seats.admit(part(1, "s"), 1)
    assert (first.conflict, again.conflict) == (False, True)
    assert again.seat == first.seat


def test_the_backlog_gives_whole_sequences_in_order() -> None:
    seats = table(slots=1)
    seat = seats.admit(part(1, "s"), 0).seat
    assert seat is not None
    for item in (part(2, "s"), part(3, "s"), part(2), part(3, "e"), part(2, "e")):
        assert seats.admit(item, 1).seat is None
    assert seats.waiting == 5
    assert names(seats.release(seat, 2)) == ["2s", "2", "2e"]
    assert names(seats.release(seat, 3)) == ["3s", "3e"]
    assert not seats.release(seat, 4)
    assert seats.waiting == 0
    assert seats.admit(part(4, "s"), 5).seat == seat


def test_an_id_that_ended_in_the_backlog_may_start_there_again() -> None:
    seats = table(slots=1)
    seat = seats.admit(part(1, "s"), 0).seat
    assert seat is not None
    for item in (part(2, "se", name="a"), part(2, "s", name="b"), part(2, "e", name="c")):
        seats.admit(item, 1)
    assert names(seats.release(seat, 2)) == ["a"]
    assert names(seats.release(seat, 3)) == ["b", "c"]


def test_an_open_sequence_from_the_backlog_goes_on_in_its_seat() -> None:
    seats = table(slots=1)
    seat = seats.admit(part(1, "s"), 0).seat
    assert seat is not None
    seats.admit(part(2, "s"), 1)
    seats.release(seat, 2)
    assert seats.admit(part(2), 3).seat == seat


def test_idle_sequences_lose_their_seat_silently() -> None:
    seats = table(idle=10 * MS)
    seat = seats.admit(part(1, "s"), 0).seat
    seats.admit(part(2, "s"), 5 * MS)
    assert seats.next_check() == 10 * MS
    assert seats.idle(9 * MS) == []
    assert seats.idle(10 * MS) == [seat]
    with pytest.raises(InvalidArgument):
        seats.admit(part(1), 11 * MS)
    assert seats.next_check() == 15 * MS


def test_every_request_starts_the_idle_time_anew() -> None:
    seats = table(idle=10 * MS)
    seat = seats.admit(part(1, "s"), 0).seat
    seats.admit(part(1), 8 * MS)
    assert seats.idle(10 * MS) == []
    assert seats.next_check() == 18 * MS
    assert seats.idle(18 * MS) == [seat]
    assert seats.next_check() == 0


def test_an_ended_sequence_is_never_idle() -> None:
    seats = table(idle=10 * MS)
    seats.admit(part(1, "se"), 0)
    assert seats.idle(100 * MS) == []


def test_waiting_in_the_backlog_is_not_idleness_but_a_grace_follows() -> None:
    seats = table(slots=1, idle=10 * MS)
    seat = seats.admit(part(1, "se"), 0).seat
    assert seat is not None
    seats.admit(part(2, "s"), 0)
    assert seats.idle(1000 * MS) == []
    seats.release(seat, 1000 * MS)
    assert seats.idle(1049 * MS) == []
    assert seats.idle(1050 * MS) == [seat]


def test_a_timeout_in_the_backlog_takes_the_whole_sequence() -> None:
    seats = table(slots=1)
    seat = seats.admit(part(1, "s"), 0).seat
    assert seat is not None
    seats.admit(part(2, "s"), 0)
    seats.admit(part(2, timeout=5 * MS), 1 * MS)
    seats.admit(part(3, "s", timeout=50 * MS), 1 * MS)
    assert seats.next_check() == 6 * MS
    assert seats.expired(5 * MS) == []
    assert names(seats.expired(6 * MS)) == ["2s", "2"]
    with pytest.raises(InvalidArgument):
        seats.admit(part(2), 7 * MS)
    assert names(seats.release(seat, 8 * MS)) == ["3s"]


@pytest.mark.parametrize(("timeout", "expires"), [(0, 20), (5, 5), (20, 20), (500, 20)])
def test_no_sequence_waits_for_a_seat_beyond_the_cap(timeout: int, expires: int) -> None:
    seats = table(slots=1, longest=20 * MS)
    seats.admit(part(1, "s"), 0)
    seats.admit(part(2, "s", timeout=timeout * MS), 0)
    seats.admit(part(2), 1 * MS)
    assert seats.next_check() == expires * MS
    assert seats.expired(expires * MS - 1) == []
    assert names(seats.expired(expires * MS)) == ["2s", "2"]
    seats.admit(part(1), 500 * MS)  # with a seat it goes on for as long as it likes
    assert seats.expired(600 * MS) == []


def test_a_timeout_means_nothing_with_a_seat() -> None:
    seats = table()
    seats.admit(part(1, "s", timeout=1), 0)
    assert seats.expired(1000 * MS) == []


def test_withdrawing_takes_the_sequence_out_of_the_backlog() -> None:
    seats = table(slots=1)
    seat = seats.admit(part(1, "s"), 0).seat
    assert seat is not None
    seats.admit(part(2, "s"), 0)
    second = part(2)
    seats.admit(second, 0)
    assert names(seats.withdraw(second)) == ["2s", "2"]
    assert seats.withdraw(second) == []
    assert seats.waiting == 0
    assert not seats.release(seat, 1)


def test_the_backlog_may_be_bounded() -> None:
    seats = table(slots=1, limit=1)
    seats.admit(part(1, "s"), 0)
    seats.admit(part(2, "s"), 0)
    with pytest.raises(QueueFull, match="Exceeds maximum queue size"):
        seats.admit(part(3, "s"), 0)
    seats.admit(part(2), 0)
    assert not seats.knows(3)


def test_once_closed_only_running_sequences_go_on() -> None:
    seats = table()
    seats.admit(part(1, "s"), 0)
    seats.closed = True
    with pytest.raises(Unavailable) as caught:
        seats.admit(part(2, "s"), 1)
    assert str(caught.value) == (
        "Server is stopping, scheduler for model has stopped accepting new inference requests"
    )
    assert seats.admit(part(1, "e"), 2).seat == Seat(0, 0)
