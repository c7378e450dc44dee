"""Tensors as PyTorch models take and give them: which argument each is, and its values.

Inputs are the names of ``forward``'s arguments, or ``<anything>__<index>``, or else stand in the
order of the configuration. Outputs are ``<anything>__<index>``, or keys of a dict, or in order.
``ARGS[<index>]``, ``KWARGS[<name>]`` and ``RESULT[<index>]`` are what Triton calls those of
AOTInductor packages.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from worker_runtime.backends.base import Array
from worker_runtime.backends.device.copies import as_array
from worker_runtime.errors import BackendFailed, ConfigInvalid, InvalidArgument, Problem

_INDEXED = re.compile(r"(?:.+__(\d+)|(?:ARGS|RESULT)\[(\d+)\])\Z", re.DOTALL)
_KEYWORD = re.compile(r"KWARGS\[(.+)\]\Z", re.DOTALL)


def keywords(names: Sequence[str]) -> dict[str, str]:
    """The inputs that go to keyword arguments, with the names of those."""
    found = ((name, _KEYWORD.match(name)) for name in names)
    return {name: match[1] for name, match in found if match is not None}


def input_order(names: Sequence[str], arguments: Sequence[str], model: str) -> list[str]:
    """The configured inputs in the order of ``forward``'s arguments. Raises ConfigInvalid.

    ``arguments`` is empty where the model does not tell their names.
    """
    if arguments and set(names) <= set(arguments):
        return [name for name in arguments if name in names]
    positions = _positions(names)
    if positions is None:
        return list(names)
    return _by_position(names, positions, "input", model)


def output_positions(names: Sequence[str], model: str) -> dict[str, int]:
    """Where each configured output stands among those that the model gives."""
    positions = _positions(names)
    if positions is None:
        return {name: position for position, name in enumerate(names)}
    _by_position(names, positions, "output", model)
    return dict(zip(names, positions, strict=True))


def _positions(names: Sequence[str]) -> list[int] | None:
    """The indices that all names end with; None when one has none."""
    found = [_INDEXED.match(name) for name in names]
    if not found or any(match is None for match in found):
        return None
    return [int(match[1] or match[2]) for match in found if match is not None]


def _by_position(
    names: Sequence[str], positions: Sequence[int], kind: str, model: str
) -> list[str]:
    if len(set(positions)) != len(positions):
        message = (
            f"model '{model}': two {kind}s have the same index: {', '.join(names)}; expected "
            f"<name>__0, <name>__1 and so on"
        )
        raise ConfigInvalid(message, (Problem("ConfigInvalid", message, field=kind),))
    return [name for _, name in sorted(zip(positions, names, strict=True))]


def to_torch(name: str, array: Array, datatype: str) -> Any:
    """A tensor on the CPU; a list of str for BYTES. Raises InvalidArgument."""
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
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def dense(name: str, value: Any) -> Any:
    """A contiguous tensor where the output is, an array for what is none. Raises BackendFailed."""
    if not isinstance(value, torch.Tensor):
        return to_numpy(name, value)
    value = value.detach()
    return (value if value.layout == torch.strided else value.to_dense()).contiguous()


def to_numpy(name: str, value: Any) -> Array:
    """An output as an array. Raises BackendFailed for what is no tensor."""
    if isinstance(value, torch.Tensor):
        return as_array(dense(name, value).cpu())
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        texts = np.empty(len(value), dtype=object)
        texts[:] = [item.encode() for item in value]
        return texts
    if isinstance(value, bool | int | float):
        return np.asarray(value)
    raise BackendFailed(
        f"output '{name}' is a {type(value).__name__}, expected a tensor or a list of strings"
    )
