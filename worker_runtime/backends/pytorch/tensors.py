"""numpy arrays to torch tensors and back, without copies where that is safe."""

from typing import Any

import numpy as np
import torch

from worker_runtime.backends.base import Array
from worker_runtime.errors import BackendFailed, InvalidArgument

_BFLOAT16 = np.dtype("<u2")


def to_torch(name: str, array: Array, datatype: str, device: torch.device) -> Any:
    """A tensor on ``device``; a list of str for BYTES. Raises InvalidArgument."""
    if datatype == "BYTES":
        if array.ndim != 1:
            raise InvalidArgument(
                f"input '{name}': TorchScript takes lists of strings, so a BYTES tensor must have "
                f"one dimension, got {array.ndim}"
            )
        return [item.decode() if isinstance(item, bytes) else str(item) for item in array]
    if not array.flags.writeable:
        array = array.copy()  # why: a model may change its inputs in place
    if datatype == "BF16":
        tensor = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.to(device, non_blocking=True)


def to_numpy(name: str, value: Any) -> Array:
    """An output as an array. Raises BackendFailed for what is no tensor."""
    if isinstance(value, torch.Tensor):
        host = value.detach()
        if host.layout != torch.strided:
            host = host.to_dense()
        host = host.cpu().contiguous()
        if host.dtype == torch.bfloat16:
            bits: Array = host.view(torch.int16).numpy().view(_BFLOAT16)
            return bits
        array: Array = host.numpy()
        return array
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        texts = np.empty(len(value), dtype=object)
        texts[:] = [item.encode() for item in value]
        return texts
    if isinstance(value, bool | int | float):
        return np.asarray(value)
    raise BackendFailed(
        f"output '{name}' is a {type(value).__name__}, expected a tensor or a list of strings"
    )
