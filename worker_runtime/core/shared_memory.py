"""Memory that clients share with the server: regions by name, tensors read and written in place.

Everything runs in the event loop. System and CUDA regions share one namespace. A region that is
unregistered while a request still holds a view of it stays, name and all, until the last view is
gone; that is looked at whenever the registry is used, so nobody has to report the end of a request.
One that only processes of models have open still is listed until they have closed it, and its name
is free at once.
A client that shortens its file loses what is in it, not the server: ``shortened_files.py``.
"""

import mmap
import os
from collections.abc import Mapping
from typing import Any, Protocol

from worker_runtime.core.cuda_memory import CudaUnavailable, open_handle
from worker_runtime.core.shortened_files import Mapping as FileMapping
from worker_runtime.errors import AlreadyExists, Internal, InvalidArgument, NotFound, Unsupported
from worker_runtime.types.device_memory import DeviceBuffer

_FOLDER = "/dev/shm"  # noqa: S108 # where Linux keeps POSIX shared memory
_RESERVED_KEY = "triton_python_backend_shm_region_"
_LARGEST = 2**64 - 1
_MAX_KEY = 255


class Region(Protocol):
    """One registered region. ``close`` is False while somebody still holds a view."""

    kind: str  # "system" or "cuda"
    byte_size: int
    leaving: bool

    def status(self) -> dict[str, Any]: ...

    def view(
        self, offset: int, byte_size: int, *, on_device: bool
    ) -> "memoryview | DeviceBuffer": ...

    def window(self, offset: int, byte_size: int) -> "Window": ...

    def leave(self) -> None:
        """It was unregistered, and goes when nobody holds a view any more."""
        ...

    @property
    def is_only_lent(self) -> bool:
        """Nothing but processes of models has it open still."""
        ...

    def close(self) -> bool: ...


class Window(Protocol):
    """The part of a region that one output may fill; holding it keeps the region."""

    byte_size: int

    def write(self, data: Any) -> None:
        """Copy ``data``, any C-contiguous buffer of at most ``byte_size`` bytes, to the front."""
        ...


class SystemWindow:
    """A Window of a SystemRegion."""

    __slots__ = ("_hold", "_offset", "_region", "byte_size")

    def __init__(self, region: "SystemRegion", offset: int, byte_size: int) -> None:
        self._region = region
        self._offset = offset
        self.byte_size = byte_size
        self._hold = region.hold()

    def write(self, data: Any) -> None:
        self._region.write(self._offset, data)


class SystemRegion:
    """A mapped entry of /dev/shm."""

    kind = "system"
    is_only_lent = False

    def __init__(self, name: str, key: str, offset: int, byte_size: int) -> None:
        self._name = name
        self._key = key
        self._offset = offset
        self.byte_size = byte_size
        self.leaving = False
        self._mapping = _mapped(name, key, offset, byte_size)
        self._map = self._mapping.map

    def status(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "key": self._key,
            "offset": self._offset,
            "byte_size": self.byte_size,
        }

    def window(self, offset: int, byte_size: int) -> SystemWindow:
        return SystemWindow(self, offset, byte_size)

    def view(self, offset: int, byte_size: int, *, on_device: bool = False) -> memoryview:  # noqa: ARG002 # it is on none
        """Raises InvalidArgument once the client has shortened its file."""
        if self._mapping.lost:
            raise _lost(self._name, self._key)
        return memoryview(self._map)[offset : offset + byte_size]

    def write(self, offset: int, data: Any) -> None:
        """Raises InvalidArgument when the client's file has no room for it any more."""
        raw = memoryview(data).cast("B")
        self._map[offset : offset + len(raw)] = raw
        if self._mapping.lost:
            raise _lost(self._name, self._key)

    def hold(self) -> memoryview:
        return memoryview(self._map)

    def leave(self) -> None:
        self.leaving = True

    def close(self) -> bool:
        try:
            self._mapping.close()
        except BufferError:
            return False
        return True


class SharedMemory:
    """The registry. ``enabled`` is what ``--allow-client-shm`` says."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self._regions: dict[str, Region] = {}
        self._departing: list[Region] = []  # without a name
        self._some_leave = False

    @property
    def regions(self) -> Mapping[str, Region]:
        """Those that are registered, and those that are still held though they are not."""
        self._sweep()
        return self._regions

    # --- registering -----------------------------------------------------------------------

    def register_system(self, name: str, key: str, offset: int, byte_size: int) -> None:
        """Map a POSIX object. Raises InvalidArgument, AlreadyExists, Internal, Unsupported."""
        self.check_enabled()
        if key.startswith(_RESERVED_KEY):
            raise InvalidArgument(
                f"cannot register shared memory region '{name}' with key '{key}' as the key "
                f"contains the reserved prefix '{_RESERVED_KEY}'"
            )
        self._check_free(name)
        self._regions[name] = SystemRegion(name, key, offset, byte_size)

    def register_cuda(self, name: str, raw_handle: bytes, device_id: int, byte_size: int) -> None:
        """Open another process's device memory by its 64-byte handle."""
        self.check_enabled()
        self._check_free(name)
        try:
            self._regions[name] = open_handle(name, raw_handle, device_id, byte_size)
        except CudaUnavailable as error:
            raise InvalidArgument(
                f"failed to register CUDA shared memory region: '{name}', GPUs not supported"
            ) from error

    def unregister_system(self, name: str = "") -> None:
        """Let go of one region, or of every system region. Unknown names are no error."""
        self._unregister(name, "system")

    def unregister_cuda(self, name: str = "") -> None:
        self._unregister(name, "cuda")

    def system_status(self, name: str = "") -> list[dict[str, Any]]:
        """``name, key, offset, byte_size`` of one or all. Raises NotFound."""
        return self._status(name, "system")

    def cuda_status(self, name: str = "") -> list[dict[str, Any]]:
        """``name, device_id, byte_size`` of one or all. Raises NotFound."""
        return self._status(name, "cuda")

    # --- using -----------------------------------------------------------------------------

    def view(
        self, name: str, offset: int, byte_size: int, *, on_device: bool = False
    ) -> memoryview | DeviceBuffer:
        """The bytes to read. Raises NotFound, InvalidArgument.

        Those on a device are left there when they are wanted ``on_device``, else copied here. The
        region stays mapped for as long as the view, or anything made of it, is held.
        """
        return self._found(name, offset, byte_size).view(offset, byte_size, on_device=on_device)

    def check(self, name: str, offset: int, byte_size: int) -> None:
        """Raises NotFound or InvalidArgument unless there are such bytes."""
        self._found(name, offset, byte_size)

    def window(self, name: str, offset: int, byte_size: int) -> Window:
        """Where an output goes. Raises NotFound and InvalidArgument."""
        return self._found(name, offset, byte_size).window(offset, byte_size)

    def _found(self, name: str, offset: int, byte_size: int) -> Region:
        self.check_enabled()
        self._sweep()
        region = self._regions.get(name)
        if region is None:
            raise NotFound(f"Unable to find shared memory region: '{name}'")
        if offset >= region.byte_size:
            raise InvalidArgument(f"Invalid offset for shared memory region: '{name}'")
        if byte_size > _LARGEST - offset:
            raise InvalidArgument(
                f"Integer overflow detected: byte_size ({byte_size}) + offset ({offset}) exceeds "
                f"maximum value ({_LARGEST}) for region '{name}'"
            )
        # why the last: nothing at offset 0 ends before the region begins; Triton says so, too.
        if offset + byte_size > region.byte_size or not offset + byte_size:
            raise InvalidArgument(f"Invalid offset + byte size for shared memory region: '{name}'")
        return region

    # --- keeping ---------------------------------------------------------------------------

    def check_enabled(self) -> None:
        """Raises Unsupported unless clients may share memory."""
        if not self.enabled:
            raise Unsupported(
                "client-provided shared memory is disabled: start the server with "
                "--allow-client-shm=true"
            )

    def _check_free(self, name: str) -> None:
        self._sweep()
        if name in self._regions:
            raise AlreadyExists(f"shared memory region '{name}' already in manager")

    def _status(self, name: str, kind: str) -> list[dict[str, Any]]:
        self._sweep()
        departing = [row for row in self._departing if row.kind == kind]
        if not name:
            named = [region for _, region in sorted(self._regions.items()) if region.kind == kind]
            return [region.status() for region in (*named, *departing)]
        region = self._regions.get(name)
        if region is None:
            region = next((row for row in departing if row.status()["name"] == name), None)
        if region is None:
            raise NotFound(f"Unable to find {kind} shared memory region: '{name}'")
        if region.kind != kind:
            shown = {"cuda": "CUDA", "system": "system"}
            raise NotFound(
                f"The region named '{name}' is registered as {shown[region.kind]} shared memory, "
                f"not {shown[kind]} shared memory"
            )
        return [region.status()]

    def _unregister(self, name: str, kind: str) -> None:
        self.check_enabled()
        for key, region in self._regions.items():
            if region.kind == kind and (not name or key == name):
                region.leave()
                self._some_leave = True
        self._sweep()

    def _sweep(self) -> None:
        """Drop what was unregistered and is no longer in use."""
        if not self._some_leave:
            return
        self._departing = [region for region in self._departing if not region.close()]
        for name, region in list(self._regions.items()):
            if region.leaving:
                if region.close():
                    del self._regions[name]
                elif region.is_only_lent:
                    del self._regions[name]
                    self._departing.append(region)
        self._some_leave = bool(self._departing) or any(
            region.leaving for region in self._regions.values()
        )


def _lost(name: str, key: str) -> InvalidArgument:
    return InvalidArgument(
        f"shared memory region '{name}': '{key}' has become shorter than it was registered, or "
        "there is no memory for it; register it anew"
    )


def _mapped(name: str, key: str, offset: int, byte_size: int) -> FileMapping:
    """The bytes of a POSIX shared-memory object. Raises Internal and InvalidArgument."""
    entry = key.lstrip("/")
    if not entry or "/" in entry or "\0" in entry or len(os.fsencode(entry)) > _MAX_KEY:
        raise Internal(f"Unable to open shared memory region: '{key}'")
    try:
        file = os.open(f"{_FOLDER}/{entry}", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Internal(f"Unable to open shared memory region: '{key}'") from error
    try:
        if offset + byte_size > os.fstat(file).st_size:
            raise InvalidArgument(f"failed to register shared memory region '{name}': invalid args")
        # why first: to mmap in Python, a length of 0 means the whole object.
        if not byte_size or offset % mmap.ALLOCATIONGRANULARITY:
            raise InvalidArgument(
                f"failed to register shared memory region '{name}': unable to process address "
                "spaceInvalid argument"
            )
        return FileMapping(file, byte_size, offset)
    except (OSError, ValueError, OverflowError) as error:
        raise InvalidArgument(
            f"failed to register shared memory region '{name}': unable to process address "
            f"space{getattr(error, 'strerror', None) or error}"
        ) from error
    finally:
        os.close(file)
