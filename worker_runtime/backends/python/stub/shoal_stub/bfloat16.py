"""BF16, which numpy does not have: its bytes through torch, where a model has that."""

import sys
from typing import Any, Optional

import numpy as np


def bfloat16_bytes(tensor: Any) -> "Optional[np.ndarray[Any, Any]]":
    """The bytes of a torch tensor of bfloat16; None for everything else."""
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
