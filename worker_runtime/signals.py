"""SIGTERM and SIGINT as events of the loop."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def signals_set(stopped: asyncio.Event, hurry: asyncio.Event) -> Iterator[None]:
    """The first signal sets ``stopped``, every further one ``hurry``."""
    loop = asyncio.get_running_loop()

    def signalled() -> None:
        (hurry if stopped.is_set() else stopped).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
