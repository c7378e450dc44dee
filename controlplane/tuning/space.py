"""Pure: the configurations among which one is sought, and how many of them differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

MOST_INSTANCES: Final = 64
MOST_BATCH: Final = 4096
LONGEST_DELAY_US: Final = 1_000_000
MOST_VALUES: Final = 16  # of one setting
LARGEST_USUAL_BATCH: Final = 64
MOST_USUAL_INSTANCES: Final = 8
USUAL_DELAYS_US: Final = (0, 100, 500, 2000, 5000)


class BadSpace(ValueError):
    """Names the field, the value, and what was expected."""

    def __init__(self, field: str, value: Any, expected: str) -> None:
        super().__init__(f"{field}: {value!r:.80}, expected {expected}.")
        self.field = field


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """``batch``: max_batch_size, 0 of a model without batches; ``delay_us``: how long a batch that
    is not full waits for more requests."""

    instances: int
    batch: int
    delay_us: int

    def __str__(self) -> str:
        words = f"{self.instances} instance{'s' if self.instances != 1 else ''}"
        if self.batch:
            words += f", batches of up to {self.batch}"
        if self.batch > 1:
            words += f", waiting {self.delay_us} µs"
        return words


@dataclass(frozen=True, slots=True)
class Space:
    instances: tuple[int, ...]
    batches: tuple[int, ...]
    delays_us: tuple[int, ...]

    def settings(self) -> list[Setting]:
        """Those that differ: where nothing is batched, nothing waits."""
        return [
            Setting(instances, batch, delay)
            for instances in self.instances
            for batch in self.batches
            for delay in (self.delays_us if batch > 1 else (0,))
        ]

    def position(self, setting: Setting) -> tuple[float, float, float]:
        """Each from 0 to 1 by its place among the values: they are asked in steps that matter."""
        delay = setting.delay_us if setting.batch > 1 else 0
        return (
            _place(self.instances, setting.instances),
            _place(self.batches, setting.batch),
            _place(self.delays_us, delay),
        )


def _place(values: Sequence[int], value: int) -> float:
    """Between two of them, and beyond the ends too: what runs today need not be among them."""
    if len(values) < 2:
        return 0.0
    last = len(values) - 1
    for number in range(last):
        low, high = values[number], values[number + 1]
        if value <= high or number == last - 1:
            share = (value - low) / (high - low)
            return min(1.5, max(-0.5, (number + share) / last))
    raise AssertionError("there is a last pair")


def usual_space(*, processors: int, batch: int) -> Space:
    """Where nobody says it. ``batch``: max_batch_size now; none is smaller, as clients may send
    requests of that size."""
    most = max(2, min(MOST_USUAL_INSTANCES, processors))
    return Space(
        instances=tuple(_doubled(1, most)),
        batches=tuple(_doubled(batch, max(batch, LARGEST_USUAL_BATCH))) if batch else (0,),
        delays_us=USUAL_DELAYS_US if batch else (0,),
    )


def _doubled(first: int, last: int) -> list[int]:
    found = [first]
    while found[-1] * 2 < last:
        found.append(found[-1] * 2)
    return found if found[-1] >= last else [*found, last]


def space_check(space: Space, *, batch: int) -> None:
    """``batch``: max_batch_size now. Raises BadSpace."""
    _check_values("instances", space.instances, 1, MOST_INSTANCES)
    if batch == 0:
        if space.batches != (0,):
            raise BadSpace(
                "batch_sizes", list(space.batches), "none: the model takes no batches now"
            )
    else:
        _check_values("batch_sizes", space.batches, 1, MOST_BATCH)
    _check_values("delays_us", space.delays_us, 0, LONGEST_DELAY_US)
    if len(space.settings()) < 2:
        raise BadSpace("instances", list(space.instances), "two values of one setting, or more")


def _check_values(field: str, values: Sequence[int], least: int, most: int) -> None:
    if not 1 <= len(values) <= MOST_VALUES:
        raise BadSpace(field, list(values), f"1 to {MOST_VALUES} of them")
    if list(values) != sorted(set(values)):
        raise BadSpace(field, list(values), "rising ones")
    if values[0] < least or values[-1] > most:
        raise BadSpace(field, list(values), f"whole numbers from {least} to {most}")
