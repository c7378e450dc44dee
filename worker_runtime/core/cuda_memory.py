"""Device memory that another process shares, through the CUDA driver: no toolkit is needed.

Models on a GPU copy from it and to it on the device, Python models may open it themselves; for all
others tensors pass through the host.
"""

import ctypes
import functools
import logging
import threading
import weakref
from typing import Any

import numpy as np

from worker_runtime.errors import Internal, InvalidArgument
from worker_runtime.types.device_memory import DeviceBuffer, DeviceWindow, Lender

logger = logging.getLogger(__name__)
_HANDLE_BYTES = 64
_LAZY_PEER_ACCESS = 1


class CudaUnavailable(Exception):
    """There is no CUDA driver here, or no GPU."""


class _Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * _HANDLE_BYTES)]  # ctypes' own form


@functools.cache
def _driver() -> Any:
    """The initialised driver library. Raises CudaUnavailable."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CudaUnavailable(str(error)) from error
    if driver.cuInit(0):
        raise CudaUnavailable("cuInit failed")
    driver.cuIpcOpenMemHandle_v2.argtypes = [
        ctypes.POINTER(ctypes.c_uint64),
        _Handle,
        ctypes.c_uint,
    ]
    driver.cuMemGetAddressRange_v2.argtypes = [
        ctypes.POINTER(ctypes.c_uint64),
        ctypes.POINTER(ctypes.c_size_t),
        ctypes.c_uint64,
    ]
    driver.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]
    driver.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
    driver.cuIpcCloseMemHandle.argtypes = [ctypes.c_uint64]
    driver.cuCtxSetCurrent.argtypes = [ctypes.c_void_p]
    return driver


@functools.cache
def _context(device_id: int) -> int:
    """The primary context of a device. Raises CudaUnavailable and InvalidArgument."""
    driver = _driver()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuDeviceGet(ctypes.byref(device), device_id) or driver.cuDevicePrimaryCtxRetain(
        ctypes.byref(context), device
    ):
        raise _refused("no such device", device_id)
    return int(context.value or 0)


def _refused(what: str, code: int) -> InvalidArgument:
    logger.error("failed to open CUDA IPC handle: %s (%d)", what, code)
    return InvalidArgument("failed to register shared memory region: invalid args")


class _Hold:
    """Kept by an answer that is still to be written into a region."""


class CudaRegion:
    """Another process's device memory, open here by its ``handle``.

    ``address`` is a device pointer.
    """

    kind = "cuda"

    def __init__(
        self, name: str, address: int, device_id: int, byte_size: int, handle: bytes = b""
    ) -> None:
        self._name = name
        self._address = address
        self.device_id = device_id
        self.byte_size = byte_size
        self.handle = handle
        self.leaving = False
        self._holds: weakref.WeakSet[_Hold] = weakref.WeakSet()
        self._loans: weakref.WeakSet[_Hold] = weakref.WeakSet()
        self._lenders: weakref.WeakSet[Lender] = weakref.WeakSet()
        self._lending = threading.Lock()  # lenders come from instances' threads

    def status(self) -> dict[str, Any]:
        return {"name": self._name, "device_id": self.device_id, "byte_size": self.byte_size}

    def pointer(self, offset: int) -> int:
        return self._address + offset

    def window(self, offset: int, byte_size: int) -> DeviceWindow:
        return DeviceWindow(self, offset, byte_size)

    def view(self, offset: int, byte_size: int, *, on_device: bool) -> DeviceBuffer | memoryview:
        """The bytes where they are, or a host copy. Raises Internal."""
        if on_device and byte_size:
            return DeviceBuffer(self, offset, byte_size)
        return self.read(offset, byte_size)

    def read(self, offset: int, byte_size: int) -> memoryview:
        """A host copy. Raises Internal."""
        # why not a bytearray: to make one of 100 MB holds the interpreter for tens of milliseconds
        host = np.empty(byte_size, np.uint8)
        if byte_size:
            self._checked("cuMemcpyDtoH_v2", host.ctypes.data, self._address + offset, byte_size)
        return host.data

    def write(self, offset: int, data: Any) -> None:
        """Copy a buffer to the device. Raises Internal."""
        if memoryview(data).nbytes:
            raw = np.frombuffer(data, np.uint8)  # no copy
            self._checked("cuMemcpyHtoD_v2", self._address + offset, raw.ctypes.data, raw.nbytes)

    def hold(self) -> _Hold:
        made = _Hold()
        self._holds.add(made)
        return made

    def lend(self) -> _Hold:
        """A hold for a process that has it open: no request is about, and its name may go."""
        made = _Hold()
        self._loans.add(made)
        return made

    @property
    def is_only_lent(self) -> bool:
        return bool(self._loans) and not self._holds

    def lend_to(self, lender: Lender) -> bool:
        with self._lending:
            self._lenders.add(lender)
            return self.leaving

    def leave(self) -> None:
        """It was unregistered: nobody gets it any more."""
        with self._lending:
            first, self.leaving = not self.leaving, True
            lenders = list(self._lenders)
        if first:
            for lender in lenders:
                lender.region_leaves(self)

    def close(self) -> bool:
        if self._holds or self._loans:
            return False
        try:
            self._checked("cuIpcCloseMemHandle", self._address)
        except Internal as error:
            # why no error: it would be that of whoever uses the registry next, again and again
            logger.error("%s: the region is forgotten", error)
        return True

    def _checked(self, function: str, *arguments: Any) -> None:
        driver = _driver()
        driver.cuCtxSetCurrent(_context(self.device_id))
        code = getattr(driver, function)(*arguments)
        if code:
            raise Internal(f"{function} failed for shared memory region '{self._name}': {code}")


def open_handle(name: str, raw_handle: bytes, device_id: int, byte_size: int) -> CudaRegion:
    """Open an IPC handle. Raises CudaUnavailable and InvalidArgument."""
    driver = _driver()
    if len(raw_handle) != _HANDLE_BYTES:
        raise _refused("the handle is not 64 bytes", len(raw_handle))
    driver.cuCtxSetCurrent(_context(device_id))
    handle = _Handle()
    ctypes.memmove(ctypes.byref(handle), raw_handle, _HANDLE_BYTES)
    address, size = ctypes.c_uint64(), ctypes.c_size_t()
    code = driver.cuIpcOpenMemHandle_v2(ctypes.byref(address), handle, _LAZY_PEER_ACCESS)
    if code:
        raise _refused("cuIpcOpenMemHandle", code)
    code = driver.cuMemGetAddressRange_v2(None, ctypes.byref(size), address)
    if code or byte_size > size.value:
        driver.cuIpcCloseMemHandle(address)
        raise InvalidArgument(f"failed to register shared memory region '{name}': invalid args")
    return CudaRegion(name, address.value, device_id, byte_size, raw_handle)
