"""The response cache: answers by what was asked, the least recently used go first. Server-wide.

The key is a cryptographic hash over everything that an answer depends on, so that two requests
never share one by chance: which load of which model, names, types, shapes and bytes of the inputs,
the requested outputs, and the parameters.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from time import monotonic_ns
from typing import Any

import numpy as np
from msgspec import Struct

from worker_runtime.errors import Internal, InvalidArgument
from worker_runtime.types.request import InferRequest, ParameterValue

_ENTRY_BYTES = 256  # key, links and the entry itself
_TENSOR_BYTES = 64  # name, type and shape
_OBJECT_BYTES = 8  # a pointer in an array of strings
_DIGEST_BYTES = 32
_SMALLEST_BYTES = 136  # Triton's cannot even describe itself in less


class CachedAnswer(Struct, frozen=True):
    """Arrays are copies of our own, and read-only: they are handed out again and again."""

    names: tuple[str, ...]
    arrays: tuple["np.ndarray[Any, Any]", ...]
    byte_size: int


class ResponseCache:
    """``byte_size`` bounds tensors and their descriptions together. Lives in the event loop."""

    def __init__(self, byte_size: int) -> None:
        self.byte_size = byte_size
        self.used_bytes = 0
        self.evictions = 0
        self.hits = self.misses = 0
        self.lookup_ns = self.insertion_ns = 0
        self._entries: OrderedDict[bytes, CachedAnswer] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def lookup(self, key: bytes) -> CachedAnswer | None:
        before = monotonic_ns()
        found = self._entries.get(key)
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
            self._entries.move_to_end(key)
        self.lookup_ns += monotonic_ns() - before
        return found

    def insert(
        self, key: bytes, names: Sequence[str], arrays: Iterable["np.ndarray[Any, Any]"]
    ) -> bool:
        """Keep a copy; False when it can never fit."""
        before = monotonic_ns()
        given = tuple(arrays)
        size = _ENTRY_BYTES + sum(
            len(name) + _array_bytes(array) for name, array in zip(names, given, strict=True)
        )
        if size > self.byte_size:
            return False
        old = self._entries.pop(key, None)
        if old is not None:
            self.used_bytes -= old.byte_size
        while self.used_bytes + size > self.byte_size:
            _, dropped = self._entries.popitem(last=False)
            self.used_bytes -= dropped.byte_size
            self.evictions += 1
        self._entries[key] = CachedAnswer(tuple(names), tuple(map(_frozen, given)), size)
        self.used_bytes += size
        self.insertion_ns += monotonic_ns() - before
        return True


def cache_from(config: Mapping[str, Mapping[str, str]]) -> ResponseCache | None:
    """The cache that ``--cache-config`` describes, by implementation and setting; None without.

    Raises InvalidArgument and Internal with Triton's text.
    """
    if len(config) > 1:
        raise InvalidArgument(
            "found multiple cache configurations, but only a single cache is currently supported"
        )
    for name, settings in config.items():
        if name != "local":
            raise InvalidArgument(
                f"unable to find 'libtritoncache_{name}.so' for cache. Searched: the cache 'local' "
                "is part of this server, there are no others"
            )
        return ResponseCache(_local_size(settings))
    return None


def _local_size(settings: Mapping[str, str]) -> int:
    failed = "Failed to initialize LocalCache:"
    if "size" not in settings:
        raise InvalidArgument(f"{failed} config didn't contain a valid 'size' field.")
    try:
        size = int(settings["size"])
    except ValueError:
        raise Internal(f"{failed} stoull") from None
    if size < 0:
        raise Internal(f"{failed} failed to allocate buffer")
    if size < _SMALLEST_BYTES:
        raise Internal(
            f"{failed} Could not initialize buffer in basic_managed_external_buffer constructor"
        )
    return size


def request_key(load: tuple[str, int, int], request: InferRequest) -> bytes:
    """``load`` is the model's name, its version, and a number that no other load has."""
    plan = request.plan
    form = [(item.name, item.datatype.name, item.wire_shape) for item in plan.inputs]
    digest = blake2b(digest_size=_DIGEST_BYTES)
    digest.update(repr((load, form, plan.outputs, _sorted(request.parameters))).encode())
    for buffer in request.inputs:
        if isinstance(buffer, np.ndarray) and buffer.dtype.hasobject:
            for item in buffer.reshape(-1):
                data = item if isinstance(item, bytes) else str(item).encode()
                digest.update(len(data).to_bytes(8, "little"))
                digest.update(data)
        elif isinstance(buffer, np.ndarray):
            flat = np.ascontiguousarray(buffer)
            digest.update(flat.nbytes.to_bytes(8, "little"))
            digest.update(flat.reshape(-1).view(np.uint8).data)
        else:
            view = memoryview(buffer)
            digest.update(view.nbytes.to_bytes(8, "little"))
            digest.update(view)
    return digest.digest()


def _sorted(parameters: dict[str, ParameterValue] | None) -> list[tuple[str, str, str]]:
    return sorted(
        (name, type(value).__name__, repr(value)) for name, value in (parameters or {}).items()
    )


def _array_bytes(array: "np.ndarray[Any, Any]") -> int:
    if array.dtype.hasobject:
        strings = sum(len(item) for item in array.reshape(-1))
        return _TENSOR_BYTES + _OBJECT_BYTES * array.size + strings
    return _TENSOR_BYTES + array.nbytes


def _frozen(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    copied = np.array(array, order="C")
    copied.flags.writeable = False
    return copied
