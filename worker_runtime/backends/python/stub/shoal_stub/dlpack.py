"""What DLPack's capsules say, read and written: numpy makes capsules for host memory only.

A capsule is made by numpy, over an array that nobody reads, and is then told where its memory is:
so its life is that of a capsule made in C, whoever ends it in whatever thread.
"""

import ctypes
import functools
from typing import Any

import numpy as np

from . import cuda

HOST_KINDS = (1, 3)  # kDLCPU, kDLCUDAHost
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_TYPES = {
    "BOOL": (_BOOL, 8), "UINT8": (_UINT, 8), "UINT16": (_UINT, 16), "UINT32": (_UINT, 32),
    "UINT64": (_UINT, 64), "INT8": (_INT, 8), "INT16": (_INT, 16), "INT32": (_INT, 32),
    "INT64": (_INT, 64), "FP16": (_FLOAT, 16), "FP32": (_FLOAT, 32), "FP64": (_FLOAT, 64),
    "BF16": (_BFLOAT, 16),
}  # fmt: skip
_NAMES = {kind: name for name, kind in _TYPES.items()}
_NAME = b"dltensor"


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Memory:
    """For numpy: bytes at an address, which ``owner`` keeps."""

    def __init__(self, address: int, shape: "tuple[int, ...]", bits: int, owner: Any) -> None:
        self._owner = owner
        self.__array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "typestr": f"{'|' if bits == 8 else '<'}u{bits // 8}",
            "version": 3,
        }


def capsule_of(
    address: int, datatype: str, shape: "list[int]", device: "tuple[int, int]", owner: Any
) -> Any:
    """A capsule of memory on a device, which keeps ``owner`` until its reader lets go."""
    code, bits = _TYPES[datatype]
    array = np.asarray(_Memory(address, tuple(shape), bits, owner))
    capsule = array.__dlpack__()
    header = _header(capsule)
    header.device_type, header.device_id = device
    header.code, header.bits = code, bits
    return capsule


class CapsuleTensor:
    """A bare capsule as a tensor: where it is, its type and shape. It keeps the memory.

    Raises ValueError for a capsule that somebody has read, and for types that Triton has not.
    """

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule
        header = _header(capsule)
        kind = (header.code, header.bits)
        if kind not in _NAMES or header.lanes != 1:
            raise ValueError(f"DLPack type {kind} with {header.lanes} lanes is not supported")
        self.dtype = _NAMES[kind]
        self.shape = [header.shape[i] for i in range(header.ndim)]
        self.device = (header.device_type, header.device_id)
        self.contiguous = _is_contiguous(header, self.shape)
        self.address = (header.data or 0) + header.byte_offset
        self.nbytes = header.bits // 8
        for length in self.shape:
            self.nbytes *= length

    def is_contiguous(self) -> bool:
        return self.contiguous

    def get(self) -> "np.ndarray[Any, Any]":
        """A copy of its bytes on the host. Raises RuntimeError."""
        return host_bytes(self.device[1], self.address, self.nbytes)

    def __dlpack__(self, **_options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> "tuple[int, int]":
        return self.device


def host_bytes(device: int, address: int, size: int) -> "np.ndarray[Any, Any]":
    """A copy of memory on a device. Raises RuntimeError."""
    host = np.empty(size, np.uint8)
    if size:
        cuda.copy_to_host(device, host.ctypes.data, address, size)
    return host


def _is_contiguous(header: Any, shape: "list[int]") -> bool:
    """In C order; lengths of 1 may have any stride."""
    if not header.strides or 0 in shape:
        return True
    expected = 1
    for i in reversed(range(header.ndim)):
        if shape[i] != 1 and header.strides[i] != expected:
            return False
        expected *= shape[i]
    return True


@functools.lru_cache(maxsize=None)
def _pointer() -> Any:
    function = ctypes.pythonapi.PyCapsule_GetPointer
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return function


def _header(capsule: Any) -> Any:
    return _DLTensor.from_address(_pointer()(capsule, _NAME))
