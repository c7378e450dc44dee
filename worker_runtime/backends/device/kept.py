"""Outputs that stay on a device: the steps of an ensemble take them from there."""

import threading
import weakref
from typing import Any

import torch

from worker_runtime.backends.device.copies import numpy_type
from worker_runtime.backends.device.streams import memory_of
from worker_runtime.types.device_memory import DeviceTensor

_MOST = 0.05  # of the device's memory, for what one lane has kept and nobody has taken yet


class KeptTensors:
    """Of one lane. Copied, since a model may write to its outputs' memory again."""

    def __init__(self, device: torch.device, most: int | None = None) -> None:
        self._device = device
        self._free = int(memory_of(device) * _MOST) if most is None else most
        self._lock = threading.Lock()

    def copied(self, value: Any) -> DeviceTensor | None:
        """Start to copy an output on the stream that is entered.

        None for one that lies elsewhere or has no bytes, and where there is no room for it.
        """
        if not isinstance(value, torch.Tensor) or value.device != self._device:
            return None
        size = value.nbytes
        with self._lock:
            if not 0 < size <= self._free:
                return None
            self._free -= size
        try:
            copy = value.clone()
        except torch.cuda.OutOfMemoryError:
            self._give_back(size)
            return None
        region = _TensorRegion(copy)
        weakref.finalize(region, self._give_back, size)
        return DeviceTensor(region, 0, numpy_type(copy.dtype), tuple(copy.shape))

    def _give_back(self, size: int) -> None:
        with self._lock:
            self._free += size


class _TensorRegion:
    """Memory of PyTorch's as a DeviceRegion: there while anybody holds this."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.device_id = tensor.device.index or 0

    def pointer(self, offset: int) -> int:
        return int(self._tensor.data_ptr()) + offset

    def read(self, offset: int, byte_size: int) -> memoryview:
        raw = self._tensor.view(-1).view(torch.uint8)[offset : offset + byte_size]
        return memoryview(raw.cpu().numpy())

    def hold(self) -> "_TensorRegion":
        return self
