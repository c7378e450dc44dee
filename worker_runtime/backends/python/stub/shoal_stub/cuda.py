"""CUDA's driver as a model's process needs it: clients' memory by its handle, copies on the device.

Loaded when a model first touches such memory: a model that never does has no context of CUDA.
"""

import contextlib
import ctypes
import functools
from typing import Any, Iterator

_HANDLE_BYTES = 64
_LAZY_PEER_ACCESS = 1


class _Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * _HANDLE_BYTES)]


@functools.lru_cache(maxsize=None)
def _driver() -> Any:
    """Raises RuntimeError."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise RuntimeError(f"CUDA's driver cannot be loaded: {error}") from error
    pointer, size, host = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
    driver.cuIpcOpenMemHandle_v2.argtypes = [ctypes.POINTER(pointer), _Handle, ctypes.c_uint]
    driver.cuIpcCloseMemHandle.argtypes = [pointer]
    driver.cuMemcpyDtoD_v2.argtypes = [pointer, pointer, size]
    driver.cuMemcpyDtoH_v2.argtypes = [host, pointer, size]
    driver.cuStreamSynchronize.argtypes = [host]
    driver.cuCtxPushCurrent_v2.argtypes = [host]
    driver.cuCtxPopCurrent_v2.argtypes = [ctypes.POINTER(host)]
    _succeeded("cuInit", driver.cuInit(0))
    return driver


def _succeeded(function: str, code: int) -> None:
    """Raises RuntimeError."""
    if code:
        raise RuntimeError(f"{function} failed in the model's process: CUDA error {code}")


@functools.lru_cache(maxsize=None)
def _context(device: int) -> Any:
    """A device's primary context, which libraries use, too. Raises RuntimeError."""
    driver, number, context = _driver(), ctypes.c_int(), ctypes.c_void_p()
    _succeeded("cuDeviceGet", driver.cuDeviceGet(ctypes.byref(number), device))
    retained = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), number)
    _succeeded("cuDevicePrimaryCtxRetain", retained)
    return context


@contextlib.contextmanager
def _on(device: int) -> Iterator[Any]:
    """The driver, with a device's context; libraries find their own again afterwards."""
    driver = _driver()
    _succeeded("cuCtxPushCurrent", driver.cuCtxPushCurrent_v2(_context(device)))
    try:
        yield driver
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def open_memory(device: int, raw: bytes) -> int:
    """The address of another process's memory here. Raises RuntimeError."""
    handle, address = _Handle(), ctypes.c_uint64()
    ctypes.memmove(ctypes.byref(handle), raw, _HANDLE_BYTES)
    with _on(device) as driver:
        code = driver.cuIpcOpenMemHandle_v2(ctypes.byref(address), handle, _LAZY_PEER_ACCESS)
        _succeeded("cuIpcOpenMemHandle", code)
    return address.value


def close_memory(device: int, address: int) -> None:
    """Raises RuntimeError."""
    with _on(device) as driver:
        # why: a kernel that the model started may read there, though nothing of Python's does
        _succeeded("cuCtxSynchronize", driver.cuCtxSynchronize())
        _succeeded("cuIpcCloseMemHandle", driver.cuIpcCloseMemHandle(address))


def copy_on_device(
    device: int, target: int, source: int, size: int, *, after_all: bool = False
) -> None:
    """Copy on CUDA's default stream, and wait for it. Raises RuntimeError.

    ``after_all``: when all that the device was given by this process is done.
    """
    with _on(device) as driver:
        if after_all:
            _succeeded("cuCtxSynchronize", driver.cuCtxSynchronize())
        _succeeded("cuMemcpyDtoD", driver.cuMemcpyDtoD_v2(target, source, size))
        # why: copies on a device return before they are done
        _succeeded("cuStreamSynchronize", driver.cuStreamSynchronize(None))


def copy_to_host(device: int, target: int, source: int, size: int) -> None:
    """Copy when all that the device was given is done. Raises RuntimeError."""
    with _on(device) as driver:
        _succeeded("cuCtxSynchronize", driver.cuCtxSynchronize())
        _succeeded("cuMemcpyDtoH", driver.cuMemcpyDtoH_v2(target, source, size))
