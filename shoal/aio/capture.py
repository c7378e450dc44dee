"""Captured data: the calls of ``shoal.sdk``, awaited."""

from collections.abc import AsyncIterator
from typing import Any

from shoal import sdk
from shoal.aio.bridge import run
from shoal.client.capture import CapturedFile


class CaptureOperations:
    """``ml_client.capture``."""

    def __init__(self, blocking: sdk.CaptureOperations) -> None:
        self._blocking = blocking

    async def list(self, endpoint_name: str, deployment_name: str) -> AsyncIterator[CapturedFile]:
        for file in await run(self._blocking.list, endpoint_name, deployment_name):
            yield file

    async def download(self, endpoint_name: str, deployment_name: str, **options: Any) -> Any:
        """``options``: download_path, file_format."""
        return await run(self._blocking.download, endpoint_name, deployment_name, **options)

    async def statistics(
        self, endpoint_name: str, deployment_name: str, *, hours: int | None = None
    ) -> dict[str, Any]:
        return await run(self._blocking.statistics, endpoint_name, deployment_name, hours=hours)

    async def set_baseline(
        self, endpoint_name: str, deployment_name: str, **options: Any
    ) -> dict[str, Any]:
        """``options``: begin and end, or file; window_hours."""
        return await run(self._blocking.set_baseline, endpoint_name, deployment_name, **options)

    async def change_baseline(
        self, endpoint_name: str, deployment_name: str, *, window_hours: int
    ) -> dict[str, Any]:
        return await run(
            self._blocking.change_baseline,
            endpoint_name,
            deployment_name,
            window_hours=window_hours,
        )

    async def delete_baseline(self, endpoint_name: str, deployment_name: str) -> None:
        await run(self._blocking.delete_baseline, endpoint_name, deployment_name)
