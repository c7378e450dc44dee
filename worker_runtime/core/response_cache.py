"""The response cache: answers by what was asked, the least recently used go first. Server-wide.

The key is a cryptographic hash over everything that an answer depends on, so that two requests
never share one by chance: which load of which model, names, types, shapes and bytes of the inputs,
the requested outputs, and the parameters.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from time import monotonic_ns, sleep
from typing import Any

import numpy as np
from msgspec import Struct

from worker_runtime.errors import Internal, InvalidArgument
from worker_runtime.types.request import Buffer, InferRequest, ParameterValue

_ENTRY_BYTES = 256  # key, links and the entry itself
_TENSOR_BYTES = 64  # name, type and shape
_OBJECT_BYTES = 8  # a pointer in an array of strings
_DIGEST_BYTES = 32
# More of a request's inputs, or of an answer, is for a thread: hashing takes 1 to 1.5 ms per MB.
_LONG_BYTES = 256 * 1024
_STRINGS_AT_ONCE = 1024  # of an array, between two chances for other threads: 0.5 ms to hash
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
        answer = copied(names, tuple(arrays), self.byte_size)
        if answer is None:
            return False
        self.put(key, answer, before)
        return True

    def put(self, key: bytes, answer: CachedAnswer, since_ns: int) -> None:
        """Keep what ``copied`` gave, which was asked ``since_ns``."""
        old = self._entries.pop(key, None)
        if old is not None:
            self.used_bytes -= old.byte_size
        while self.used_bytes + answer.byte_size > self.byte_size:
            _, dropped = self._entries.popitem(last=False)
            self.used_bytes -= dropped.byte_size
            self.evictions += 1
        self._entries[key] = answer
        self.used_bytes += answer.byte_size
        self.insertion_ns += monotonic_ns() - since_ns


def copied(
    names: Sequence[str], arrays: Sequence["np.ndarray[Any, Any]"], limit: int
) -> CachedAnswer | None:
    """An answer of our own; None when it takes more than ``limit`` bytes. Any thread may call."""
    size = _ENTRY_BYTES + sum(
        len(name) + _array_bytes(array) for name, array in zip(names, arrays, strict=True)
    )
    if size > limit:
        return None
    return CachedAnswer(tuple(names), tuple(map(_frozen, arrays)), size)


def takes_long(buffers: Iterable[Buffer]) -> bool:
    """Whether to hash or to copy them would hold the event loop up."""
    size = 0
    for buffer in buffers:
        if not isinstance(buffer, np.ndarray):
            size += buffer.nbytes if isinstance(buffer, memoryview) else len(buffer)
        elif not buffer.dtype.hasobject:
            size += buffer.nbytes
        elif buffer.size > _STRINGS_AT_ONCE:
            return True
        else:
            size += sum([len(item) for item in buffer.reshape(-1).tolist()])
    return size > _LONG_BYTES


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
    """``load`` is the model's name, its version, and a number that no other load has.

    Any thread may call; it lets go of the interpreter again and again.
    """
    plan = request.plan
    form = [(item.name, item.datatype.name, item.wire_shape) for item in plan.inputs]
    digest = blake2b(digest_size=_DIGEST_BYTES)
    digest.update(repr((load, form, plan.outputs, _sorted(request.parameters))).encode())
    for buffer in request.inputs:
        if isinstance(buffer, np.ndarray) and buffer.dtype.hasobject:
            for strings in _parts(buffer):
                _add_strings(digest, strings)
        elif isinstance(buffer, np.ndarray):
            flat = np.ascontiguousarray(buffer)
            digest.update(flat.nbytes.to_bytes(8, "little"))
            digest.update(flat.reshape(-1).view(np.uint8).data)
        else:
            view = memoryview(buffer)
            digest.update(view.nbytes.to_bytes(8, "little"))
            digest.update(view)
    return digest.digest()


def _add_strings(digest: blake2b, strings: "np.ndarray[Any, Any]") -> None:
    """Each behind its length."""
    parts: list[bytes] = []
    for item in strings.tolist():
        data = item if isinstance(item, bytes) else str(item).encode()
        parts.append(len(data).to_bytes(8, "little"))
        if len(data) < _LONG_BYTES:
            parts.append(data)
        else:  # why apart: to join it would copy it
            digest.update(b"".join(parts))
            digest.update(data)
            parts.clear()
    digest.update(b"".join(parts))


def _parts(array: "np.ndarray[Any, Any]") -> Iterator["np.ndarray[Any, Any]"]:
    """An array of strings, some at a time; between them another thread may have the interpreter."""
    flat = array.reshape(-1)
    for start in range(0, flat.size, _STRINGS_AT_ONCE):
        if start:
            sleep(0)
        yield flat[start : start + _STRINGS_AT_ONCE]


def _sorted(parameters: dict[str, ParameterValue] | None) -> list[tuple[str, str, str]]:
    return sorted(
        (name, type(value).__name__, repr(value)) for name, value in (parameters or {}).items()
    )


def _array_bytes(array: "np.ndarray[Any, Any]") -> int:
    if array.dtype.hasobject:
        strings = sum(sum([len(item) for item in part.tolist()]) for part in _parts(array))
        return _TENSOR_BYTES + _OBJECT_BYTES * array.size + strings
    return _TENSOR_BYTES + array.nbytes


def _frozen(array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    own = np.empty(array.shape, array.dtype)
    if array.dtype.hasobject:
        at, flat = 0, own.reshape(-1)
        for part in _parts(array):
            flat[at : at + part.size] = part
            at += part.size
    else:
        own[...] = array
    own.flags.writeable = False
    return own
