"""The SDK as commands use it: the installation found, progress on stderr. Imported on use."""

from collections.abc import Iterator
from contextlib import contextmanager

from shoal.display.terminal import Progress
from shoal.sdk import MLClient


@contextmanager
def ml_client() -> Iterator[MLClient]:
    from shoal.client import Client

    with Client() as client, Progress() as progress:
        yield MLClient(client=client, watcher=progress)
