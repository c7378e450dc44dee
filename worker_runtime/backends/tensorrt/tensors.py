"""Tensors of TensorRT on their way between requests, the host's memory and the device's."""

from collections.abc import Sequence

import numpy as np
import torch

from worker_runtime.backends.base import Array

_BITS = np.dtype("<u2")


class DeviceMemory:
    """Memory of one device. Used within the stream of an instance, whose order guards it."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def reserve(self, shape: Sequence[int], kind: torch.dtype) -> torch.Tensor:
        """What is in it is left as it was."""
        return torch.empty(tuple(shape), dtype=kind, device=self._device)

    def copied(self, tensor: torch.Tensor) -> torch.Tensor:
        """``tensor`` must live until the stream is done with the copy."""
        made = self.reserve(tensor.shape, tensor.dtype)
        return made.copy_(tensor, non_blocking=True)


def on_host(array: Array, kind: torch.dtype) -> torch.Tensor:
    """In the host's memory, in that of ``array`` itself where it may be written."""
    if not array.flags.writeable:
        array = array.copy()
    if kind == torch.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_numpy(tensor: torch.Tensor) -> Array:
    """Of a tensor in the host's memory, which the array goes on using."""
    if tensor.dtype == torch.bfloat16:
        bits: Array = tensor.view(torch.int16).numpy().view(_BITS)
        return bits
    array: Array = tensor.numpy()
    return array
