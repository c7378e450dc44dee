"""Shared memory as a front end sees it: which regions there are; their bytes stay where they are.

Tensors in regions do not pass through a front end: the core reads and writes them in place. Only
BYTES, whose wire form is checked and made here, are read and written by the front end itself.
"""

import os
from collections.abc import Iterable
from typing import Any

from worker_runtime.core.shared_memory import SharedMemory, Window
from worker_runtime.errors import Internal, InvalidArgument, Unsupported
from worker_runtime.frontends.messages import Place, RegionForm

_FOLDER = "/dev/shm"  # noqa: S108 # as core/shared_memory.py


class RegionPart:
    """An input that lies in a region. ``bytes()`` of it reads it."""

    __slots__ = ("_region", "nbytes", "place")

    def __init__(self, region: "RemoteRegion", offset: int, byte_size: int) -> None:
        self._region = region
        self.nbytes = byte_size
        self.place: Place = (region.name, offset, byte_size)

    def __len__(self) -> int:
        return self.nbytes

    def __bytes__(self) -> bytes:
        return self._region.read(self.place[1], self.nbytes)


class RemoteWindow:
    """Where an output goes; the core says whether it has put it there (``filled``)."""

    __slots__ = ("_region", "byte_size", "filled", "place")

    def __init__(self, region: "RemoteRegion", offset: int, byte_size: int) -> None:
        self._region = region
        self.byte_size = byte_size
        self.filled = False
        self.place: Place = (region.name, offset, byte_size)

    def write(self, data: Any) -> None:
        if not self.filled:
            self._region.write(self.place[1], data)


def places_of(windows: dict[str, Any] | None) -> dict[str, Place] | None:
    """Where outputs go, by name; None where none goes to a region."""
    return {name: window.place for name, window in windows.items()} if windows else None


class RemoteRegion:
    """A region that the core has registered, and its file as long as it is."""

    leaving = False

    def __init__(self, form: RegionForm) -> None:
        self.form = form
        self.name = form.name
        self.kind = form.kind
        self.byte_size = form.byte_size
        self._file = -1
        if form.kind == "system":
            flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                self._file = os.open(f"{_FOLDER}/{form.key.lstrip('/')}", flags)
            except OSError:
                self._file = -1  # why no error: most regions never hold BYTES; ``read`` tells

    def status(self) -> dict[str, Any]:
        raise AssertionError(f"the core tells of region '{self.name}'")

    def view(self, offset: int, byte_size: int, *, on_device: bool = False) -> Any:  # noqa: ARG002
        return RegionPart(self, offset, byte_size)

    def window(self, offset: int, byte_size: int) -> Window:
        return RemoteWindow(self, offset, byte_size)

    def read(self, offset: int, byte_size: int) -> bytes:
        """Raises InvalidArgument once the client has shortened its file."""
        data = os.pread(self._open(), byte_size, self.form.offset + offset)
        if len(data) != byte_size:
            raise _lost(self.form)
        return data

    def write(self, offset: int, data: Any) -> None:
        """Raises InvalidArgument likewise: it must not grow again."""
        file, raw = self._open(), memoryview(data).cast("B")
        start = self.form.offset + offset
        if os.fstat(file).st_size < start + len(raw):
            raise _lost(self.form)
        while raw:
            written = os.pwrite(file, raw, start)
            raw, start = raw[written:], start + written

    def _open(self) -> int:
        if self.kind != "system":
            raise Unsupported(
                f"region '{self.name}': BYTES in {self.kind} shared memory cannot be served with "
                "--frontends; send them in the request"
            )
        if self._file < 0:
            raise Internal(f"Unable to open shared memory region: '{self.form.key}'")
        return self._file

    def close(self) -> bool:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        return True


class RemoteMemory(SharedMemory):
    """The registry: as the core says. Only the core changes it."""

    def follow(self, forms: Iterable[RegionForm]) -> None:
        wanted = {form.name: form for form in forms}
        held: dict[str, Any] = self._regions
        for name, region in list(held.items()):
            if wanted.get(name) != region.form:
                region.close()
                del held[name]
        for name, form in wanted.items():
            if name not in held:
                held[name] = RemoteRegion(form)


def _lost(form: RegionForm) -> InvalidArgument:
    return InvalidArgument(
        f"shared memory region '{form.name}': '{form.key}' has become shorter than it was "
        "registered, or there is no memory for it; register it anew"
    )
