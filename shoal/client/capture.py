"""The client's calls about captured data."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict, cast

from shoal.client.administration import Administration, quoted
from shoal.client.parquet import parquet_wanted, parquet_written


class CapturedFile(TypedDict):
    id: str
    replica: str
    size: int
    records: int
    dropped: int  # requests before these for which there was no room
    first_at: str
    last_at: str
    expires_at: str


class Capture(Administration):
    """A part of ``Client``. All of it is for deployers: values that clients sent are in it."""

    def list_captured(self, endpoint: str, deployment: str) -> Iterator[CapturedFile]:
        """The latest first."""
        for item in self._items(_path(endpoint, deployment, "captured")):
            yield cast(CapturedFile, item)

    def download_captured(
        self, endpoint: str, deployment: str, file: CapturedFile, folder: Path
    ) -> Path:
        """One file of JSON lines; one of this name that is as long is not fetched again."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_stem(file)}.jsonl"
        if path.is_file() and path.stat().st_size == file["size"]:
            return path
        unfinished = path.with_name(f"{path.name}.part")
        with unfinished.open("wb") as target:
            where = _path(endpoint, deployment, f"captured/{quoted(file['id'])}")
            for piece in self._transport.stream(where):
                target.write(piece)
        return unfinished.replace(path)

    def download_parquet(
        self, endpoint: str, deployment: str, file: CapturedFile, folder: Path
    ) -> Path:
        """The same as Parquet, which this machine makes of it; one of this name is not made again.
        Raises ParquetMissing, NoRecord."""
        parquet_wanted()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_stem(file)}.parquet"
        if not path.is_file():
            with TemporaryDirectory(dir=folder, prefix=".fetched-") as fetched:
                lines = self.download_captured(endpoint, deployment, file, Path(fetched))
                parquet_written(lines, path)
        return path

    def captured_request(
        self, endpoint: str, deployment: str, request_id: str, *, at: float
    ) -> dict[str, Any]:
        """What was sent with this x-request-id about then (Unix seconds): its inputs, and why
        some of them cannot be sent again. That it was read is an event."""
        path = _path(endpoint, deployment, f"captured-requests/{quoted(request_id)}")
        return cast(dict[str, Any], self._get(path, at=at))

    def data_statistics(
        self, endpoint: str, deployment: str, *, hours: int | None = None
    ) -> dict[str, Any]:
        """Of each input and output in the last ``hours``, and how far it is from the baseline.
        None: as many as are held against that."""
        path = _path(endpoint, deployment, "data")
        return cast(dict[str, Any], self._get(path, **_said(hours=hours)))

    def set_baseline(
        self,
        endpoint: str,
        deployment: str,
        *,
        begin: str,
        end: str | None = None,
        window_hours: int | None = None,
    ) -> dict[str, Any]:
        """Compare the last ``window_hours`` with what was captured then."""
        body = {"begin": begin, **_said(end=end, window_hours=window_hours)}
        path = _path(endpoint, deployment, "data/baseline")
        return cast(dict[str, Any], self._transport.json("PUT", path, json=body))

    def change_baseline(
        self, endpoint: str, deployment: str, *, window_hours: int
    ) -> dict[str, Any]:
        """Compare the last ``window_hours`` with the same baseline."""
        body = {"window_hours": window_hours}
        path = _path(endpoint, deployment, "data/baseline")
        return cast(dict[str, Any], self._transport.json("PATCH", path, json=body))

    def upload_baseline(
        self, endpoint: str, deployment: str, file: Path, *, window_hours: int | None = None
    ) -> dict[str, Any]:
        """Compare with the records of this file, JSON lines of 16 MiB at most."""
        found = self._transport.json(
            "PUT",
            _path(endpoint, deployment, "data/baseline/file"),
            content=file.read_bytes(),
            params=_said(window_hours=window_hours),
            headers={"Content-Type": "application/x-ndjson"},
        )
        return cast(dict[str, Any], found)

    def delete_baseline(self, endpoint: str, deployment: str) -> None:
        self._transport.json("DELETE", _path(endpoint, deployment, "data/baseline"))


def _said(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _stem(file: CapturedFile) -> str:
    moment = file["first_at"][:19].replace(":", "").replace("-", "")
    # why quoted: a server may name anything
    return f"{quoted(moment)}-{quoted(file['id'])[:32]}"


def _path(endpoint: str, deployment: str, rest: str) -> str:
    return f"/endpoints/{quoted(endpoint)}/deployments/{quoted(deployment)}/{rest}"
