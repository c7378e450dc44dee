"""Records of captured requests: copied in the event loop, written as JSON elsewhere.

A record is in the words of the KServe protocol, so that its ``inputs`` are those of a request which
could be sent again. What is missing of a tensor is said in ``omitted``.
"""

import hmac
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from worker_runtime.observability.capture.settings import CaptureConfig
from worker_runtime.types.request import InferRequest
from worker_runtime.types.tensor import BY_DTYPE, BY_NAME

TOO_LARGE = "larger than max_request_bytes"
ON_DEVICE = "on a device"
MOST_HASHED = 1024  # elements of one tensor; each takes some microseconds
HEX_CHARS = 32  # 128 bits of a digest
OVERHEAD_BYTES = 512  # of a record without its tensors, as it waits


class Copied(Struct, frozen=True, gc=False):
    """A tensor as it was: raw bytes, a flat array of texts, or nothing and why."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: Any = None
    omitted: str = ""


class Record(Struct, gc=False):
    """One request. ``left`` bytes may still be copied."""

    time_ns: int
    id: str
    model: str
    version: int
    left: int
    inputs: list[Copied] = msgspec.field(default_factory=list)
    outputs: list[Copied] = msgspec.field(default_factory=list)
    error: str = ""
    x_request_id: bytes = b""
    copied: int = OVERHEAD_BYTES

    def copy(self, name: str, datatype: str, shape: tuple[int, ...], data: Any) -> Copied:
        """Its bytes now: where they lie may soon hold others."""
        if not isinstance(data, bytes | bytearray | memoryview | np.ndarray):
            return Copied(name, datatype, shape, omitted=ON_DEVICE)
        texts = data if isinstance(data, np.ndarray) and data.dtype.hasobject else None
        if texts is not None:
            size = _texts_size(texts, self.left)
        else:
            size = len(data) if isinstance(data, bytes | bytearray) else data.nbytes
        if size > self.left:
            return Copied(name, datatype, shape, omitted=TOO_LARGE)
        self.left -= size
        self.copied += size
        kept = bytes(data) if texts is None else texts.reshape(-1).copy()
        return Copied(name, datatype, shape, kept)


def _texts_size(data: "np.ndarray[Any, Any]", most: int) -> int:
    """Of an array of texts, which is not walked to its end where that is too much anyway."""
    if data.size > most:
        return most + 1
    return sum(len(item) for item in data.reshape(-1))


class Recorder:
    """Copies what the settings say, and makes lines of it."""

    def __init__(self, config: CaptureConfig) -> None:
        settings = config.settings
        self._settings = settings
        self._fields = frozenset(settings.fields)
        self._dropped = frozenset(settings.drop)
        self._hashed = frozenset(settings.hash)
        self._hash_key = config.hash_key

    def begin(self, request: InferRequest, time_ns: int) -> Record:
        model = request.model
        settings = self._settings
        record = Record(
            *(time_ns, request.id, model.name, model.version),
            left=settings.max_request_bytes,
            x_request_id=request.x_request_id,
        )
        if settings.model_inputs:
            for item, data in zip(request.plan.inputs, request.inputs, strict=True):
                if self._wants(item.name):
                    record.inputs.append(
                        record.copy(item.name, item.datatype.name, item.wire_shape, data)
                    )
        return record

    def answered(
        self,
        record: Record,
        request: InferRequest,
        names: Sequence[str],
        arrays: Sequence[Any],
        types: Sequence[str] | None = None,
    ) -> None:
        if not self._settings.model_outputs:
            return
        told = {spec.name: spec.datatype.name for spec in request.model.signature.outputs}
        for at, (name, array) in enumerate(zip(names, arrays, strict=True)):
            if not self._wants(name):
                continue
            datatype = types[at] if types is not None else told.get(name, "")
            if not datatype:
                datatype = "BYTES" if array.dtype.hasobject else BY_DTYPE[array.dtype].name
            record.outputs.append(record.copy(name, datatype, tuple(array.shape), array))

    def _wants(self, name: str) -> bool:
        return name not in self._dropped and (not self._fields or name in self._fields)

    def line(self, record: Record) -> bytes:
        """One JSON object, with the end of its line."""
        found: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.time_ns / 1e9, UTC).isoformat(),
            "id": record.id,
            "model": record.model,
            "version": record.version,
            "inputs": self._tensors(record.inputs),
            "outputs": self._tensors(record.outputs),
        }
        if record.error:
            found["error"] = record.error
        if record.x_request_id:
            found["x_request_id"] = record.x_request_id.decode().rstrip()  # of ``padded``
        return msgspec.json.encode(found) + b"\n"

    def _tensors(self, copies: Iterable[Copied]) -> list[dict[str, Any]]:
        return [self._tensor(copied) for copied in copies]

    def _tensor(self, copied: Copied) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "name": copied.name,
            "datatype": copied.datatype,
            "shape": copied.shape,
        }
        if copied.omitted:
            return {**shown, "omitted": copied.omitted}
        if copied.name not in self._hashed:
            return {**shown, "data": _plain(copied)}
        shown["hashed"] = True
        pieces = _pieces(copied)
        if len(pieces) > MOST_HASHED:
            return {**shown, "omitted": f"more than {MOST_HASHED} elements to hash"}
        return {**shown, "datatype": "BYTES", "data": [self._digest(piece) for piece in pieces]}

    def _digest(self, piece: bytes) -> str:
        return hmac.digest(self._hash_key, piece, "sha256").hex()[:HEX_CHARS]


def _plain(copied: Copied) -> list[Any]:
    """Elements as JSON has them: what is no finite number becomes null, what is no UTF-8 is
    escaped."""
    if isinstance(copied.data, np.ndarray):
        return [_text(item) for item in copied.data]
    numbers = np.frombuffer(copied.data, BY_NAME[copied.datatype].dtype)
    if copied.datatype == "BF16":
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    found: list[Any] = numbers.tolist()
    return found


def _text(item: Any) -> str:
    return item if isinstance(item, str) else bytes(item).decode(errors="backslashreplace")


def _pieces(copied: Copied) -> list[bytes]:
    """The bytes of each element."""
    if isinstance(copied.data, np.ndarray):
        return [item.encode() if isinstance(item, str) else bytes(item) for item in copied.data]
    size = BY_NAME[copied.datatype].item_size
    return [copied.data[at : at + size] for at in range(0, len(copied.data), size)]
