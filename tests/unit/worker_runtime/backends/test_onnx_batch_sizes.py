"""When a session is taken for slow, and which sizes its batches have from then on."""

import pytest

from worker_runtime.backends.graph_sizes import usual_sizes
from worker_runtime.backends.onnxruntime.batch_sizes import BatchSizes

SLOW, FAST = 0.25, 0.001


def test_a_size_is_kept_while_it_may_be_needed_again() -> None:
    sizes = BatchSizes(usual_sizes(64), hold_s=5)
    sizes.slow = True
    story = [
        # rows, seconds: what it is padded to
        (3, 0.0, 4),
        (4, 1.0, 4),
        (9, 2.0, 16),  # grows at once
        (1, 3.0, 16),
        (5, 6.9, 16),
        (2, 7.1, 8),  # what was needed in the last five seconds, not what is needed now
        (2, 12.0, 8),
        (1, 12.2, 2),
        (1, 18.0, 1),
        (64, 18.1, 64),
        (33, 30.0, 64),  # needs it itself
    ]
    for rows, now, expected in story:
        assert sizes.rows(rows, now) == expected, (rows, now)


@pytest.mark.parametrize(
    ("runs", "slow"),
    [
        # a first batch takes long, and so do shapes that come for the first time
        ([("a", SLOW), ("b", SLOW), ("c", SLOW), ("a", FAST)], False),
        ([("a", SLOW), ("a", SLOW), ("a", SLOW)], False),
        ([("a", SLOW), ("b", SLOW), ("a", SLOW)], True),
        ([("a", FAST), ("b", FAST), ("a", FAST)], False),
    ],
)
def test_a_session_is_slow_when_known_shapes_cost_it_time_again(
    runs: list[tuple[str, float]], slow: bool
) -> None:
    sizes = BatchSizes(usual_sizes(8))
    said = [sizes.ran(shapes, took) for shapes, took in runs]
    assert sizes.slow is slow
    assert sum(said) == slow
    assert sizes.rows(3, 0.0) == (4 if slow else 3)


def test_without_batches_there_is_nothing_to_pad() -> None:
    sizes = BatchSizes(())
    for shapes in "abab":
        sizes.ran(shapes, SLOW)
    assert not sizes.slow
    assert sizes.changes("a")
    assert not sizes.changes("b")
