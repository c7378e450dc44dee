"""What wants to be told how far things are: a terminal, a notebook, nobody."""

import logging
from typing import Protocol

from shoal.client.types import Operation, Upload

log = logging.getLogger("shoal")


class Watcher(Protocol):
    """Methods are called as often as there is news; ``done`` and ``total`` are bytes."""

    def note(self, text: str) -> None: ...
    def hashing(self, done: int, total: int) -> None: ...
    def sending(self, done: int, total: int) -> None: ...
    def receiving(self, done: int, total: int) -> None: ...
    def upload(self, upload: Upload) -> None: ...
    def operation(self, operation: Operation) -> None: ...


class Quiet:
    """Notes go to the log ``shoal``, progress nowhere."""

    def note(self, text: str) -> None:
        log.info(text)

    def hashing(self, done: int, total: int) -> None:
        pass

    def sending(self, done: int, total: int) -> None:
        pass

    def receiving(self, done: int, total: int) -> None:
        pass

    def upload(self, upload: Upload) -> None:
        pass

    def operation(self, operation: Operation) -> None:
        pass
