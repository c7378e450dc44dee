"""The SDK as commands use it: the installation found, progress on stderr. Imported on use."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from shoal.client.absent import Absent
from shoal.client.errors import InstallationNotFound
from shoal.display.terminal import Progress
from shoal.sdk import MLClient


@contextmanager
def ml_client(*, local: bool = False) -> Iterator[MLClient]:
    """Raises InstallationNotFound; with ``local`` only what needs an installation does."""
    from shoal.client import Client

    try:
        found = Client()
    except InstallationNotFound as error:
        if not local:
            raise
        found = cast(Client, Absent(error))
    with found as client, Progress() as progress:
        yield MLClient(client=client, watcher=progress)
