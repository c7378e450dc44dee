"""Memory that the load's clients share with the server: on the host, and on a GPU.

The GPU's is made through the CUDA driver, as clients in any language do: no toolkit is needed.
"""

import ctypes
import functools
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from worker_runtime.types.triton_messages import service_pb2 as pb

_HANDLE_BYTES = 64
_BLOCK = 2 << 20  # bytes: what the driver maps into another process, whole
Register = Callable[[str, Any], object]  # a method of the protocol, and its message


class Region(Protocol):
    """Registered with the server by its ``name``."""

    name: str

    def write(self, data: bytes) -> None:
        """From the beginning."""

    def read(self, byte_size: int) -> bytes:
        """The first bytes."""

    def close(self) -> None:
        """Of this process; who registered it has unregistered it."""


class HostRegion:
    def __init__(self, name: str, byte_size: int) -> None:
        self.name = name
        self.byte_size = byte_size
        self._path = Path("/dev/shm") / name
        descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600)
        try:
            os.ftruncate(descriptor, byte_size)
            self._memory = mmap.mmap(descriptor, byte_size)
        finally:
            os.close(descriptor)

    def register(self, call: Register) -> None:
        message = pb.SystemSharedMemoryRegisterRequest(
            name=self.name, key=f"/{self.name}", byte_size=self.byte_size
        )
        call("SystemSharedMemoryRegister", message)

    def unregister(self, call: Register) -> None:
        message = pb.SystemSharedMemoryUnregisterRequest(name=self.name)
        call("SystemSharedMemoryUnregister", message)

    def write(self, data: bytes) -> None:
        self._memory[: len(data)] = data

    def read(self, byte_size: int) -> bytes:
        return self._memory[:byte_size]

    def close(self) -> None:
        self._memory.close()
        self._path.unlink()


class NoCuda(RuntimeError):
    """There is no CUDA driver, or it refused something."""


class _Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_byte * _HANDLE_BYTES)]


class DeviceRegion:
    """Memory on the first GPU that this process sees."""

    def __init__(self, name: str, byte_size: int) -> None:
        self.name = name
        self.byte_size = byte_size
        self._address = ctypes.c_uint64()
        blocks = -(-byte_size // _BLOCK)
        _driver("cuMemAlloc_v2", ctypes.byref(self._address), ctypes.c_size_t(blocks * _BLOCK))

    def register(self, call: Register) -> None:
        handle = _Handle()
        _driver("cuIpcGetMemHandle", ctypes.byref(handle), self._address)
        message = pb.CudaSharedMemoryRegisterRequest(
            name=self.name, raw_handle=bytes(handle), device_id=0, byte_size=self.byte_size
        )
        call("CudaSharedMemoryRegister", message)

    def unregister(self, call: Register) -> None:
        message = pb.CudaSharedMemoryUnregisterRequest(name=self.name)
        call("CudaSharedMemoryUnregister", message)

    def write(self, data: bytes) -> None:
        _driver("cuMemcpyHtoD_v2", self._address, data, ctypes.c_size_t(len(data)))

    def read(self, byte_size: int) -> bytes:
        host = ctypes.create_string_buffer(byte_size)
        _driver("cuMemcpyDtoH_v2", host, self._address, ctypes.c_size_t(byte_size))
        return host.raw

    def close(self) -> None:
        _driver("cuMemFree_v2", self._address)


REGIONS: dict[str, type[HostRegion] | type[DeviceRegion]] = {
    "system": HostRegion,
    "cuda": DeviceRegion,
}


def _driver(function: str, *arguments: Any) -> None:
    """Call the driver in the device's primary context. Raises NoCuda."""
    library, context = _opened()
    library.cuCtxSetCurrent(ctypes.c_void_p(context))  # which each thread has of its own
    code = getattr(library, function)(*arguments)
    if code:
        raise NoCuda(f"{function} failed with code {code}")


@functools.cache
def _opened() -> tuple[Any, int]:
    """The driver, and the primary context of the first device. Raises NoCuda."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NoCuda(str(error)) from error
    device, context = ctypes.c_int(), ctypes.c_void_p()
    for function, arguments in (
        ("cuInit", (0,)),
        ("cuDeviceGet", (ctypes.byref(device), 0)),
        ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), device)),
    ):
        code = getattr(library, function)(*arguments)
        if code:
            raise NoCuda(f"{function} failed with code {code}")
    return library, int(context.value or 0)
