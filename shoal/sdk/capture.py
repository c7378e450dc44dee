"""Captured data of deployments, their statistics and baselines."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from shoal.client.capture import CapturedFile
from shoal.client.client import Client


class CaptureOperations:
    """``ml_client.capture``; what is answered is as in REST."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self, endpoint_name: str, deployment_name: str) -> list[CapturedFile]:
        return [*self._client.list_captured(endpoint_name, deployment_name)]

    def download(
        self,
        endpoint_name: str,
        deployment_name: str,
        *,
        download_path: str | Path = ".",
        file_format: Literal["jsonl", "parquet"] = "jsonl",
    ) -> Sequence[Path]:
        """All files that are kept; those that are there already are not fetched again.

        ``parquet``: made of the JSON lines here, which needs pyarrow (``shoal[parquet]``). Raises
        ParquetMissing, NoRecord, ValueError.
        """
        if file_format not in ("jsonl", "parquet"):
            raise ValueError(f"file_format: {file_format!r:.40}, expected jsonl or parquet")
        parquet = file_format == "parquet"
        download = self._client.download_parquet if parquet else self._client.download_captured
        return [
            download(endpoint_name, deployment_name, file, Path(download_path))
            for file in self._client.list_captured(endpoint_name, deployment_name)
        ]

    def statistics(
        self, endpoint_name: str, deployment_name: str, *, hours: int | None = None
    ) -> dict[str, Any]:
        """Of the last ``hours``; None: as many as are held against the baseline."""
        return self._client.data_statistics(endpoint_name, deployment_name, hours=hours)

    def set_baseline(
        self,
        endpoint_name: str,
        deployment_name: str,
        *,
        begin: datetime | None = None,
        end: datetime | None = None,
        file: str | Path | None = None,
        window_hours: int | None = None,
    ) -> dict[str, Any]:
        """From what was captured in a window, or from a file of records. The last ``window_hours``
        (1 to 168; None: as before, 24 at first) are held against it. Raises ValueError."""
        if (begin is None) == (file is None):
            raise ValueError(f"begin: {begin}, file: {file}: expected one of the two")
        if begin is None:
            return self._client.upload_baseline(
                endpoint_name, deployment_name, Path(str(file)), window_hours=window_hours
            )
        return self._client.set_baseline(
            endpoint_name,
            deployment_name,
            begin=begin.isoformat(),
            end=None if end is None else end.isoformat(),
            window_hours=window_hours,
        )

    def change_baseline(
        self, endpoint_name: str, deployment_name: str, *, window_hours: int
    ) -> dict[str, Any]:
        """Hold the last ``window_hours`` against the same baseline."""
        return self._client.change_baseline(
            endpoint_name, deployment_name, window_hours=window_hours
        )

    def delete_baseline(self, endpoint_name: str, deployment_name: str) -> None:
        self._client.delete_baseline(endpoint_name, deployment_name)
