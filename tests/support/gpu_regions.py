"""Device memory of a client that a server may open: of a card, or of the driver of files."""

import base64
import ctypes
import functools
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tests.support.gpu_device import Device
from tests.support.gpu_models import Array

_HANDLE_BYTES = 64
_NUMBERS = itertools.count()


class Region(Protocol):
    """``handle`` is what tritonclient's register_cuda_shared_memory takes."""

    size: int
    handle: bytes

    def write(self, offset: int, data: bytes) -> None: ...

    def read(self, offset: int, size: int) -> bytes: ...

    def close(self) -> None: ...


Regions = Callable[[str, int], Region]  # makes one that is registered by that name


def region(device: Device, size: int) -> Region:
    return CardRegion(size) if device.is_gpu else FileRegion(size)


def floats(found: Region, offset: int, *shape: int) -> Array:
    count = int(np.prod(shape))
    return np.frombuffer(found.read(offset, 4 * count), np.float32).reshape(shape)


class FileRegion:
    """A file: what tests/support/libcuda.c takes for device memory."""

    def __init__(self, size: int) -> None:
        self.size = size
        # why here: pytest's folders have longer names than a handle has bytes
        self._path = Path("/tmp") / f"shoal-gpu-{os.getpid()}-{next(_NUMBERS)}"
        self._path.write_bytes(bytes(size))
        self.handle = base64.b64encode(str(self._path).encode().ljust(_HANDLE_BYTES, b"\0"))

    def write(self, offset: int, data: bytes) -> None:
        with self._path.open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def read(self, offset: int, size: int) -> bytes:
        return self._path.read_bytes()[offset : offset + size]

    def close(self) -> None:
        self._path.unlink()


class _Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * _HANDLE_BYTES)]


class CardRegion:
    """Memory of the first card, by the driver's own calls. Raises OSError where one fails."""

    def __init__(self, size: int) -> None:
        self.size = size
        address = ctypes.c_uint64()
        _checked("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self.address = address.value
        handle = _Handle()
        _checked("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(self.address))
        self.handle = base64.b64encode(bytes(handle))

    def write(self, offset: int, data: bytes) -> None:
        target = ctypes.c_uint64(self.address + offset)
        _checked("cuMemcpyHtoD_v2", target, data, ctypes.c_size_t(len(data)))

    def read(self, offset: int, size: int) -> bytes:
        host = ctypes.create_string_buffer(size)
        source = ctypes.c_uint64(self.address + offset)
        _checked("cuMemcpyDtoH_v2", host, source, ctypes.c_size_t(size))
        return host.raw

    def close(self) -> None:
        _checked("cuMemFree_v2", ctypes.c_uint64(self.address))


@functools.cache
def _driver() -> tuple[Any, ctypes.c_void_p]:
    """The library, and the first card's primary context, which PyTorch uses as well."""
    library = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _succeeded("cuInit", library.cuInit(0))
    _succeeded("cuDeviceGet", library.cuDeviceGet(ctypes.byref(device), 0))
    retain: Callable[..., int] = library.cuDevicePrimaryCtxRetain
    _succeeded("cuDevicePrimaryCtxRetain", retain(ctypes.byref(context), device))
    return library, context


def _checked(function: str, *arguments: Any) -> None:
    library, context = _driver()
    _succeeded("cuCtxSetCurrent", library.cuCtxSetCurrent(context))
    _succeeded(function, getattr(library, function)(*arguments))


def _succeeded(function: str, code: int) -> None:
    if code:
        raise OSError(f"{function} failed with the CUDA driver's code {code}")
