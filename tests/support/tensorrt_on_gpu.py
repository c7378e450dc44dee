"""The stand-in for TensorRT with its tensors on a real GPU, where PyTorch's kernels do its work."""

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from tests.support.tensorrt_library import Context, Engine, Shape

_MEMORY_TYPE, _DEVICE = 2, 2  # CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_DEVICE
_KINDS = {"FLOAT": torch.float32, "INT32": torch.int32, "INT64": torch.int64}


class GpuEngine(Engine):
    def create_execution_context(self, strategy: str) -> "GpuContext":
        assert strategy == "managed"
        made = GpuContext(self)
        self.contexts.append(made)
        return made


class GpuContext(Context):
    """Its work is that of the stream that it is given, captured or not."""

    def execute_async_v3(self, stream: int) -> bool:
        make: Any = torch.cuda.ExternalStream
        with torch.cuda.stream(make(stream)):
            return super().execute_async_v3(stream)

    def _array(self, name: str, shape: Shape, addresses: Mapping[str, int]) -> Any:
        tensor = self.engine.tensors[name]
        if tensor.host:
            return super()._array(name, shape, addresses)
        kind = _KINDS[tensor.kind]
        memory = _Memory(addresses[name], int(np.prod(shape)) * kind.itemsize)
        return torch.as_tensor(memory, device="cuda").view(kind).reshape(shape)

    def _is_device(self, address: int, size: int) -> bool:
        kind = ctypes.c_uint(0)
        driver = ctypes.CDLL("libcuda.so.1")
        at = ctypes.c_uint64(address)
        code = driver.cuPointerGetAttribute(ctypes.byref(kind), _MEMORY_TYPE, at)
        return bool(code == 0 and kind.value == _DEVICE)


class _Memory:
    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3
        }  # fmt: skip
