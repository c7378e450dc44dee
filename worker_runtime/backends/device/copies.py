"""Tensors to a device and back, through pinned memory, on the stream that is entered."""

import ctypes
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from worker_runtime.backends.base import Array, BatchInput, DeviceTarget
from worker_runtime.errors import BackendFailed, InvalidArgument
from worker_runtime.types.device_memory import DeviceBuffer

# An input is staged in pinned pieces of this size: while the device reads one, the next is filled.
_CHUNK = 8 << 20
# Larger outputs pass through pageable memory: what is pinned is lost to the rest of the machine.
_MOST_PINNED = 1 << 28
_BF16 = np.dtype("<u2")
TORCH_TYPES: dict[str, torch.dtype] = {
    "BOOL": torch.bool,
    "UINT8": torch.uint8,
    "UINT16": torch.uint16,
    "UINT32": torch.uint32,
    "UINT64": torch.uint64,
    "INT8": torch.int8,
    "INT16": torch.int16,
    "INT32": torch.int32,
    "INT64": torch.int64,
    "FP16": torch.float16,
    "FP32": torch.float32,
    "FP64": torch.float64,
    "BF16": torch.bfloat16,
}


@functools.cache
def _driver() -> Any:
    """CUDA's driver. why not PyTorch for these copies: a tensor over foreign memory costs 20 us."""
    driver = ctypes.CDLL("libcuda.so.1")
    pointer = ctypes.c_uint64
    driver.cuMemcpyAsync.argtypes = [pointer, pointer, ctypes.c_size_t, ctypes.c_void_p]
    return driver


def copy_memory(target: int, source: int, size: int, stream: int) -> None:
    """Start to copy between two addresses of devices, on a stream. Raises BackendFailed.

    Either may be the host's. Without a stream both are: that is the CPU, and the copy is done.
    """
    if not stream:
        ctypes.memmove(target, source, size)
        return
    code = _driver().cuMemcpyAsync(target, source, size, stream)
    if code:
        raise BackendFailed(f"CUDA error {code}: {size} bytes of shared memory were not copied")


def bring(item: BatchInput, tensor: Any, stream: int) -> None:
    """Start to copy all parts of an input into a contiguous ``tensor`` of its size.

    ``stream`` is the address of the one that is entered. Without parts the tensor has its values
    already. Raises InvalidArgument.
    """
    if not item.parts:
        return
    target = tensor.view(-1).view(torch.uint8)
    size = sum([part.nbytes if hasattr(part, "nbytes") else len(part) for part in item.parts])
    if size != target.nbytes:  # why here too: beyond it lies the memory of others
        raise InvalidArgument(
            f"input '{item.name}' has {size} bytes, and its shape {list(item.shape)} takes "
            f"{target.nbytes}"
        )
    start, waiting = 0, list[Any]()
    staged_from = 0
    for part in item.parts:
        if isinstance(part, DeviceBuffer):
            _bring_host(waiting, target, staged_from)
            stop = start + part.nbytes
            copy_memory(target.data_ptr() + start, part.pointer, part.nbytes, stream)
            waiting, staged_from = [], stop
        else:
            raw = _flat(part)
            waiting.append(raw)
            stop = start + raw.nbytes
        start = stop
    _bring_host(waiting, target, staged_from)


def _flat(part: Any) -> Array:
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part).reshape(-1).view(np.uint8)
    return np.frombuffer(part, np.uint8)


def _bring_host(parts: Sequence[Array], target: Any, start: int) -> None:
    """Copy parts that follow one another to ``target`` from byte ``start`` on."""
    if target.device.type == "cpu":
        _join(parts, target.numpy()[start:])
        return
    for chunk in _chunks(parts, _CHUNK):
        size = sum([part.nbytes for part in chunk])
        staged = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        _join(chunk, staged.numpy())
        # The allocator gives the pinned memory to nobody before the stream has read it.
        target[start : start + size].copy_(staged, non_blocking=True)
        start += size


def _join(parts: Sequence[Array], into: Array) -> None:
    """One after the other; numpy lets other threads run meanwhile, as ``bytes.join`` does not."""
    at = 0
    for part in parts:
        into[at : at + part.nbytes] = part
        at += part.nbytes


def _chunks(parts: Sequence[Array], most: int) -> Iterator[list[Array]]:
    """The same bytes in pieces of at most ``most`` together, none of them empty."""
    chunk, free = list[Array](), most
    for part in parts:
        at = 0
        while at < part.nbytes:
            piece = part[at : at + free]
            chunk.append(piece)
            at += piece.nbytes
            free -= piece.nbytes
            if not free:
                yield chunk
                chunk, free = [], most
    if chunk:
        yield chunk


def fetch(tensor: Any) -> Any:
    """Start to copy a contiguous tensor to the host; what comes back is its tensor there."""
    if tensor.device.type == "cpu":
        return tensor.clone()  # the next batch may write to its memory
    pinned = tensor.nbytes <= _MOST_PINNED
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=pinned)
    return host.copy_(tensor, non_blocking=pinned)


def as_array(host: Any) -> Array:
    """A tensor on the host as numpy has it; BF16 as its bits. It keeps the tensor's memory."""
    if host.dtype == torch.bfloat16:
        bits: Array = host.view(torch.int16).numpy().view(_BF16)
        return bits
    array: Array = host.numpy()
    return array


@functools.cache
def numpy_type(kind: torch.dtype) -> "np.dtype[Any]":
    """Of arrays that ``as_array`` makes of such tensors."""
    return _BF16 if kind == torch.bfloat16 else torch.empty(0, dtype=kind).numpy().dtype


def hand_over(tensor: Any, target: DeviceTarget, stream: int) -> bool:
    """Start to copy an output's rows to where a client wants them.

    False, and nothing is copied, where there is no room or the model gave too few rows.
    """
    begin, size = 0, tensor.nbytes
    if target.stop:
        if not tensor.dim() or target.stop > len(tensor):
            return False
        row = size // len(tensor)
        begin, size = row * target.start, row * (target.stop - target.start)
    if size > target.window.byte_size:
        return False
    if size:
        copy_memory(target.window.pointer, tensor.data_ptr() + begin, size, stream)
    return True


def empty_like(item: BatchInput, device: torch.device) -> Any:
    return torch.empty(item.shape, dtype=TORCH_TYPES[item.datatype.name], device=device)
