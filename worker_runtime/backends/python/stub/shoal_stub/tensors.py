"""Tensors as models see them: names, data types, numpy, DLPack."""

import struct
import sys
from typing import Any, Optional

import numpy as np

from .dlpack import HOST_KINDS, CapsuleTensor
from .memory import Arena, Block, Window

# Triton's numbers for data types are those of inference.DataType.
NAMES = {
    1: "BOOL", 2: "UINT8", 3: "UINT16", 4: "UINT32", 5: "UINT64", 6: "INT8", 7: "INT16",
    8: "INT32", 9: "INT64", 10: "FP16", 11: "FP32", 12: "FP64", 13: "BYTES", 14: "BF16",
}  # fmt: skip
NUMBERS = {name: number for number, name in NAMES.items()}
DTYPES: "dict[str, Any]" = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32,
    "UINT64": np.uint64, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32,
    "INT64": np.int64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
    "BYTES": np.object_,
}  # fmt: skip
_BY_DTYPE = {np.dtype(kind): name for name, kind in DTYPES.items()}
_LENGTH = struct.Struct("<I")
_DEFAULT_STREAM = 1

Described = "list[Any]"  # [name, data type, shape, block]


class TritonModelException(Exception):
    """What a model raises to fail the requests that it executes, and what misuse raises."""


def incompatible(text: str) -> TypeError:
    """What Triton's compiled classes raise for an argument of a wrong type."""
    return TypeError(f"__init__(): incompatible constructor arguments: {text}")


def serialize_bytes(array: "np.ndarray[Any, Any]") -> bytes:
    """Elements of an object or string array in row-major order, each behind its length."""
    parts = []
    for item in array.reshape(-1):
        data = item if isinstance(item, bytes) else str(item).encode()
        parts.append(_LENGTH.pack(len(data)))
        parts.append(data)
    return b"".join(parts)


def deserialize_bytes(data: bytes) -> "list[bytes]":
    found, at = [], 0
    while at < len(data):
        (size,) = _LENGTH.unpack_from(data, at)
        at += 4 + size
        found.append(data[at - size : at])
    return found


class Tensor:
    """A named tensor: ``Tensor(name, numpy_array)``."""

    def __init__(self, name: Any, numpy_array: Any) -> None:
        if not isinstance(name, str) or not isinstance(numpy_array, np.ndarray):
            raise incompatible(
                "expected a name and a numpy array, got "
                f"{type(name).__name__} and {type(numpy_array).__name__}"
            )
        _check_name(name)
        if numpy_array.dtype.kind in "US":
            numpy_array = numpy_array.astype(np.object_)
        datatype = _BY_DTYPE.get(numpy_array.dtype)
        if datatype is None:
            raise TritonModelException("NumPy dtype is not supported.")
        self._name = name
        self._datatype = datatype
        self._shape = list(numpy_array.shape)
        if not numpy_array.flags.c_contiguous:
            numpy_array = np.ascontiguousarray(numpy_array)
        self._array: Optional[np.ndarray[Any, Any]] = numpy_array
        self._raw: Optional[np.ndarray[Any, Any]] = None
        self._foreign: Any = None  # a device tensor, as the object that has it

    def name(self) -> str:
        return self._name

    def shape(self) -> "list[int]":
        return list(self._shape)

    def triton_dtype(self) -> int:
        return NUMBERS[self._datatype]

    def is_cpu(self) -> bool:
        return self._foreign is None or _on_cpu(self._foreign)

    def as_numpy(self) -> "np.ndarray[Any, Any]":
        if not self.is_cpu():
            raise TritonModelException("Tensor is stored in GPU and cannot be converted to NumPy.")
        if self._datatype == "BF16":
            raise TritonModelException(
                "BF16 tensors have no numpy type: use to_dlpack() with a library that has one"
            )
        if self._array is None:
            self._array = self._read()
        return self._array

    def _read(self) -> "np.ndarray[Any, Any]":
        if self._raw is None:
            found: np.ndarray[Any, Any] = np.from_dlpack(self._foreign)
            return found
        if self._datatype == "BYTES":
            items = deserialize_bytes(self._raw.tobytes())
            array = np.empty(len(items), np.object_)
            array[:] = items
            return array.reshape(self._shape)
        array = self._raw.view(DTYPES[self._datatype])
        return array.reshape(self._shape)

    # --- DLPack ------------------------------------------------------------------------------

    def to_dlpack(self) -> Any:
        """A DLPack capsule of the tensor's memory, without a copy."""
        return self.__dlpack__()

    def __dlpack__(self, **options: Any) -> Any:
        if self._foreign is not None:
            return self._foreign.__dlpack__(**options)
        if self._datatype == "BYTES":
            raise TritonModelException("DLPack does not have support for string tensors.")
        if self._datatype == "BF16":
            return capsule_source(self._raw, self._shape).__dlpack__(**options)
        return self._writable().__dlpack__(**options)

    def _writable(self) -> "np.ndarray[Any, Any]":
        """numpy hands out no read-only memory: such an array is copied."""
        array = self.as_numpy()
        return array if array.flags.writeable else array.copy()

    def __dlpack_device__(self) -> Any:
        if self._foreign is not None:
            return self._foreign.__dlpack_device__()
        return (1, 0)

    @staticmethod
    def from_dlpack(name: str, tensor: Any) -> "Tensor":
        """From a DLPack capsule, or from an object that gives one."""
        _check_name(name)
        if type(tensor).__name__ == "PyCapsule":
            tensor = _of_capsule(tensor)
        elif isinstance(tensor, Tensor) and tensor._foreign is not None:
            return Tensor.on_device(name, tensor._foreign)
        elif not (hasattr(tensor, "__dlpack__") and hasattr(tensor, "__dlpack_device__")):
            raise TritonModelException(
                "Provided tensor is not supported. Tensor must be a DLPack capsule         or "
                "have `__dlpack__` and `__dlpack_device__` attributes"
            )
        strides_known = getattr(tensor, "is_contiguous", None)
        if callable(strides_known) and not strides_known():
            raise TritonModelException(
                "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are "
                "stored in C-Order are supported."
            )
        if not _on_cpu(tensor):
            # why: it may still be made on a stream of the model's own, and is copied on CUDA's
            # default one, which is 1 to DLPack: the maker has that wait for its own.
            tensor.__dlpack__(stream=_DEFAULT_STREAM)
            return Tensor.on_device(name, tensor)
        raw = bfloat16_bytes(tensor)
        if raw is not None:
            return Tensor.from_memory(name, "BF16", list(tensor.shape), raw)
        array = np.from_dlpack(tensor)
        if not array.flags.c_contiguous:
            raise TritonModelException(
                "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are "
                "stored in C-Order are supported."
            )
        return Tensor(name, array)

    @staticmethod
    def on_device(name: str, tensor: Any) -> "Tensor":
        """A tensor that lies on a device, as the object that has it."""
        made = Tensor.__new__(Tensor)
        made._name, made._shape = name, list(tensor.shape)
        made._datatype = str(tensor.dtype).rpartition(".")[2].upper()
        made._datatype = _DEVICE_TYPES.get(made._datatype, made._datatype)
        made._array = made._raw = None
        made._foreign = tensor
        return made

    # --- between the processes ---------------------------------------------------------------

    @staticmethod
    def from_memory(
        name: str, datatype: str, shape: "list[int]", raw: "np.ndarray[Any, Any]"
    ) -> "Tensor":
        """A tensor on memory that is there already; ``raw`` are its bytes."""
        made = Tensor.__new__(Tensor)
        made._name, made._datatype, made._shape = name, datatype, list(shape)
        made._array, made._raw, made._foreign = None, raw, None
        return made

    @staticmethod
    def read(described: "list[Any]", window: Window) -> "Tensor":
        name, datatype, shape, block = described
        return Tensor.from_memory(name, datatype, shape, window.look(block))

    def write(self, arena: Arena) -> "list[Any]":
        """Put the data into ``arena`` and describe it."""
        block = self._placed(arena)
        return [self._name, self._datatype, self._shape, block]

    def _placed(self, arena: Arena) -> Block:
        if self._datatype == "BYTES":
            data = serialize_bytes(self.as_numpy())
            return arena.put(data, len(data))
        if self._raw is not None:
            return arena.put(self._raw, self._raw.nbytes)
        array = self._array if self._array is not None else _host_copy(self._foreign)
        return arena.put(array, array.nbytes)


_DEVICE_TYPES = {
    "FLOAT32": "FP32", "FLOAT16": "FP16", "FLOAT64": "FP64", "BFLOAT16": "BF16",
}  # fmt: skip


def _check_name(name: str) -> None:
    if not name:
        raise TritonModelException("Tensor name cannot be an empty string.")


class _Capsule:
    """A bare DLPack capsule with the methods that readers ask for."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> Any:
        return (1, 0)


def _of_capsule(capsule: Any) -> Any:
    """A capsule's tensor; numpy says what is wrong with one that cannot be read here."""
    try:
        found = CapsuleTensor(capsule)
    except ValueError:
        return _Capsule(capsule)
    return _Capsule(capsule) if found.device[0] in HOST_KINDS else found


def _on_cpu(tensor: Any) -> bool:
    return bool(tensor.__dlpack_device__()[0] in HOST_KINDS)


def _host_copy(tensor: Any) -> "np.ndarray[Any, Any]":
    """A device tensor's data in host memory, by the library that the tensor is of."""
    raw = bfloat16_bytes(tensor)
    if raw is not None:
        return raw
    copy = tensor.cpu() if hasattr(tensor, "cpu") else tensor.get()
    return np.ascontiguousarray(copy.numpy() if hasattr(copy, "numpy") else copy)


def bfloat16_bytes(tensor: Any) -> "Optional[np.ndarray[Any, Any]]":
    """The bytes of a torch tensor of bfloat16, which numpy does not have; None for all else."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, torch.Tensor) or tensor.dtype != torch.bfloat16:
        return None
    raw: np.ndarray[Any, Any] = tensor.detach().cpu().contiguous().view(torch.int16).numpy()
    return raw.reshape(-1).view(np.uint8)


def capsule_source(raw: "Optional[np.ndarray[Any, Any]]", shape: "list[int]") -> Any:
    """An object whose DLPack capsule says bfloat16. Raises ImportError without torch."""
    import torch

    data = np.empty(0, np.uint8) if raw is None else raw
    bits = torch.from_numpy(data.view(np.int16).copy())
    return bits.view(torch.bfloat16).reshape(shape)
