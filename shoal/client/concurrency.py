"""How a client waits, keeps long work aside and does several things at a time.

The client's code is written once, as if everything blocked. A program without an event loop blocks
(``Threads``); ``shoal.aio`` brings another way, in which the loop goes on meanwhile.
"""

import ssl
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

import httpx

T = TypeVar("T")


class Concurrency(Protocol):
    def pause(self, seconds: float) -> None: ...

    def aside(self, work: Callable[[], T]) -> T:
        """The result of ``work``, which keeps a processor or a disk busy."""

    def together(self, work: Callable[[T], None], items: Iterable[T], *, at_once: int) -> None:
        """``work`` on each item. The first error is raised once what had begun has ended."""

    def http_transport(self, url: str, trust: ssl.SSLContext | None) -> httpx.BaseTransport | None:
        """What carries requests to ``url``; None: httpx's own."""


class Threads:
    """``sleep`` replaces waiting in tests."""

    def __init__(self, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep

    def pause(self, seconds: float) -> None:
        self._sleep(seconds)

    def aside(self, work: Callable[[], T]) -> T:
        return work()

    def together(self, work: Callable[[T], None], items: Iterable[T], *, at_once: int) -> None:
        with ThreadPoolExecutor(at_once, thread_name_prefix="shoal") as pool:
            begun = [pool.submit(work, item) for item in items]
            _, waiting = wait(begun, return_when=FIRST_EXCEPTION)
            for item in waiting:
                item.cancel()
        for item in begun:
            if not item.cancelled():
                item.result()

    def http_transport(self, url: str, trust: ssl.SSLContext | None) -> httpx.BaseTransport | None:
        del url, trust
        return None
