"""A long-running change that can be awaited, watched and cancelled."""

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from shoal.aio.bridge import run
from shoal.client.types import Stage
from shoal.sdk.poller import LROPoller, OnProgress

T = TypeVar("T")


class AsyncLROPoller(Generic[T]):
    """What ``begin_...`` gives: the change has been asked for and goes on by itself.

    ``await poller`` is ``await poller.result()``.
    """

    def __init__(self, poller: LROPoller[T]) -> None:
        self._poller = poller

    def __await__(self) -> Generator[Any, Any, T]:
        return self.result().__await__()

    async def result(self) -> T:
        """Raises OperationFailed with the reason. ``asyncio.timeout`` around it ends the wait, not
        the change."""
        return await run(self._poller.result)

    async def wait(self) -> None:
        await run(self._poller.wait)

    async def done(self) -> bool:
        return await run(self._poller.done)

    async def status(self) -> str:
        """InProgress, Succeeded, Failed or Canceled."""
        return await run(self._poller.status)

    async def cancel(self) -> None:
        """Asks the installation to stop it and to undo what it began."""
        await run(self._poller.cancel)

    @property
    def operation(self) -> str:
        """Id of the operation, empty where none was needed."""
        return self._poller.operation

    @property
    def stages(self) -> list[Stage]:
        """Of the operation as last seen: name, title, status, detail, times."""
        return self._poller.stages

    def on_progress(self, callback: OnProgress) -> None:
        """``callback`` hears of every change of the operation while somebody waits for it."""
        self._poller.on_progress = callback
