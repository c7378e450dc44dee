"""The client's calls that send files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from shoal.client import file_uploads, uploads
from shoal.client.administration import Administration
from shoal.client.concurrency import Concurrency
from shoal.client.packing import Package
from shoal.client.types import Upload
from shoal.client.uploads import OnBytes

UPLOAD_TIMEOUT_S = 900.0
IMPORT_TIMEOUT_S = 3600.0


class Packages(Administration):
    """A part of ``Client``. ``project``: which the model will belong to; the client's, else."""

    @property
    def concurrency(self) -> Concurrency:
        return self._transport.concurrency

    def upload(
        self,
        path: Path,
        *,
        filename: str | None = None,
        timeout_s: float = UPLOAD_TIMEOUT_S,
        on_bytes: OnBytes | None = None,
        on_change: Callable[[Upload], None] | None = None,
        project: str = "",
    ) -> Upload:
        """Sends one file and waits until the server has inspected it (``timeout_s``: that wait)."""
        upload = uploads.send(
            self._transport,
            path,
            filename or path.name,
            project=project or self.project,
            on_bytes=on_bytes,
        )
        return uploads.wait_ready(self._transport, upload, timeout_s=timeout_s, on_change=on_change)

    def import_model(
        self,
        address: str,
        *,
        timeout_s: float = IMPORT_TIMEOUT_S,
        on_change: Callable[[Upload], None] | None = None,
        project: str = "",
    ) -> Upload:
        """Has the server fetch a model, and waits until it has inspected it: ``https://…``,
        ``hf://owner/name``, ``s3://bucket/path``, ``runs:/RUN_ID/path``.

        Whoever interrupts the wait ends the import. Raises Problem, OperationFailed with the
        cause, WaitTimeout.
        """
        body = {"address": address, **uploads.in_project(project or self.project)}
        upload = cast(Upload, self._transport.json("POST", "/imports", json=body))
        try:
            return uploads.wait_ready(
                self._transport, upload, timeout_s=timeout_s, on_change=on_change
            )
        except KeyboardInterrupt:
            self._transport.json("DELETE", f"/uploads/{upload['id']}")
            raise

    def upload_package(
        self,
        package: Package,
        files: Sequence[file_uploads.Listed] | None = None,
        *,
        timeout_s: float = UPLOAD_TIMEOUT_S,
        on_hashed: OnBytes | None = None,
        on_bytes: OnBytes | None = None,
        on_change: Callable[[Upload], None] | None = None,
        project: str = "",
    ) -> Upload:
        """As ``upload``; of a folder only what the server does not have, several files at a time.

        ``files``: the package's, if they have been hashed already.
        """
        if package.single is not None:
            return self.upload(
                package.single,
                filename=package.filename,
                timeout_s=timeout_s,
                on_bytes=on_bytes,
                on_change=on_change,
                project=project,
            )
        if files is None:
            files = file_uploads.listed(package, self.concurrency, on_hashed)
        upload = file_uploads.send(
            self._transport,
            package.filename,
            files,
            project=project or self.project,
            on_bytes=on_bytes,
        )
        return uploads.wait_ready(self._transport, upload, timeout_s=timeout_s, on_change=on_change)
