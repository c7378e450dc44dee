"""Parts of a load that run side by side."""

import threading

import pytest

from worker_runtime.backends.attempt import side_by_side


def test_all_run_at_once_and_give_what_they_found_in_their_order() -> None:
    together = threading.Barrier(3, timeout=30)

    def work(number: int) -> int:
        together.wait()
        return number

    assert side_by_side([lambda n=n: work(n) for n in range(3)]) == [0, 1, 2]


def test_the_first_failure_ends_the_others_and_is_told() -> None:
    given_up = threading.Event()

    def waits() -> None:
        assert given_up.wait(30)
        raise RuntimeError("ended")

    def fails() -> None:
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        side_by_side([waits, fails, waits], given_up.set)
    assert given_up.is_set()


@pytest.mark.parametrize("at_once", [1, 2])
def test_after_a_failure_none_begins(at_once: int) -> None:
    begun: list[int] = []
    failed = threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise ValueError("boom")
        assert failed.wait(30)

    works = [lambda n=n: work(n) for n in range(5)]
    with pytest.raises(ValueError, match="boom"):
        side_by_side(works, failed.set, at_once=at_once)
    # why not exactly: the second thread may have taken one up before the failure was seen
    assert len(begun) <= at_once + 1


def test_one_stays_in_its_thread() -> None:
    assert side_by_side([threading.get_ident]) == [threading.get_ident()]
    assert side_by_side([]) == []
    here = [threading.get_ident()] * 3
    assert side_by_side([threading.get_ident] * 3, at_once=1) == here
