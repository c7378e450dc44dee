"""``batched``: a ``run`` that takes what came in one moment as one list."""

from typing import Any, Callable

_BATCHED = "_shoal_batched"


def batched(
    function: Any = None, max_batch_size: int = 8, max_queue_delay_ms: float = 5.0
) -> "Callable[..., Any]":
    """Marks a ``run`` that takes a list of what it would take, and gives a list of answers.

    ``@batched``, or ``@batched(max_batch_size=16, max_queue_delay_ms=10)``. The numbers are read
    when the script is registered (``wire/scoring.py``): they are the model's configuration.
    """
    del max_batch_size, max_queue_delay_ms
    if callable(function):
        setattr(function, _BATCHED, True)
        return function  # type: ignore[no-any-return]  # what callable() has told
    return batched


def is_batched(function: Any) -> bool:
    return bool(getattr(function, _BATCHED, False))
