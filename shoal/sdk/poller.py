"""A long-running change that can be waited for, watched and cancelled."""

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from shoal.client.client import Client
from shoal.client.errors import OperationFailed
from shoal.client.operations import FINISHED
from shoal.client.types import Operation, Stage

T = TypeVar("T")
# Yields operations to wait for, gets them back finished, returns the result.
Work = Generator[Operation, Operation, T]
OnProgress = Callable[[Operation], None]
LONGEST_S = 3600.0
_OWN = frozenset({"on_progress"})


def finished(value: T) -> Work[T]:
    """The work of what was done at once."""
    yield from ()
    return value


class LROPoller(Generic[T]):
    """What ``begin_...`` returns: the change has been asked for and goes on by itself.

    Attributes that it does not have are those of its result, which it waits for: a poller can stand
    where its entity is meant, as in the documents that leave ``.result()`` out.
    """

    def __init__(
        self, work: Work[T], client: Client, on_progress: OnProgress | None = None
    ) -> None:
        self.on_progress = on_progress
        self._work, self._client = work, client
        self._operation: Operation | None = None
        self._pending: Operation | None = None
        self._error: OperationFailed | None = None
        self._result: T | None = None
        self._pump(None)

    def result(self, timeout: float | None = None) -> T:
        """Raises OperationFailed with the reason, or WaitTimeout (the change goes on then)."""
        self.wait(timeout)
        return self._result  # type: ignore[return-value]  # set once nothing is pending

    def wait(self, timeout: float | None = None) -> None:
        if self._error is not None:
            raise self._error
        while self._pending is not None:
            try:
                done = self._client.wait_operation(
                    self._pending, timeout_s=timeout or LONGEST_S, on_change=self._changed
                )
            except OperationFailed as error:
                self._error, self._pending = error, None
                raise
            self._pump(done)

    def done(self) -> bool:
        """Asks once, without waiting."""
        if self._pending is not None:
            seen = self._client.get_operation(self._pending["id"])
            self._changed(seen)
            if seen["state"] in FINISHED:
                try:
                    self.wait()
                except OperationFailed:
                    return True
        return self._pending is None

    def status(self) -> str:
        """InProgress, Succeeded, Failed or Canceled."""
        if not self.done():
            return "InProgress"
        if self._error is None:
            return "Succeeded"
        return self._operation["state"] if self._operation else "Failed"

    def cancel(self) -> None:
        """Asks the installation to stop it and to undo what it began."""
        if self._pending is not None:
            self._client.cancel_operation(self._pending["id"])

    @property
    def operation(self) -> str:
        """Id of the operation, empty where none was needed."""
        return self._operation["id"] if self._operation else ""

    @property
    def stages(self) -> list[Stage]:
        """Of the operation as last seen: name, title, status, detail, times."""
        return list(self._operation["stages"]) if self._operation else []

    def _pump(self, done: Operation | None) -> None:
        try:
            # the first step of a generator takes no value
            self._pending = next(self._work) if done is None else self._work.send(done)
        except StopIteration as end:
            self._pending, self._result = None, end.value
        else:
            self._operation = self._pending

    def _changed(self, operation: Operation) -> None:
        self._operation = operation
        if self.on_progress:
            self.on_progress(operation)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.result(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self.result(), name, value)
