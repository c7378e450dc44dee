"""Where no installation was found: what needs none goes on."""

from typing import Any, NoReturn, Self

from shoal.client.concurrency import Concurrency, Threads
from shoal.client.errors import InstallationNotFound


class Absent:
    """Stands where a ``Client`` is meant; whoever asks it for anything is told what was missing.

    ``concurrency`` says how to wait, as a client's does.
    """

    def __init__(self, error: InstallationNotFound, concurrency: Concurrency | None = None) -> None:
        self._error = error
        self.concurrency = concurrency or Threads()

    def close(self) -> None:
        """There is nothing to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._error


def is_absent(client: Any) -> bool:
    return isinstance(client, Absent)
