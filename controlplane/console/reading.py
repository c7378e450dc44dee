"""A browser's call as values: JSON, and the binary frames behind it. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from controlplane.console import frames
from controlplane.console.inference import Parameter
from controlplane.console.tensors import Tensor, TensorError, read_input

MAX_FRAME_CHARS = 16 << 20
MAX_BINARY_BYTES = 64 << 20  # of one call, over all its binary frames
MAX_FRAMES = 1024
PARAMETERS = ("sequence_id", "sequence_start", "sequence_end", "priority", "timeout")
LIMITS = {"request_chars": MAX_FRAME_CHARS, "binary_bytes": MAX_BINARY_BYTES}


def parse(text: str) -> dict[str, Any]:
    """Raises BadRequest."""
    request = frames.json_object(text, MAX_FRAME_CHARS)
    if "\\u" in text:
        told = {name: value for name, value in request.items() if name != "inputs"}
        try:
            json.dumps(told, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:  # half a character, which only a value may be
            raise frames.BadRequest("BadRequest", f"Not UTF-8: {error}") from error
    return request


def call_id(request: dict[str, Any]) -> str:
    """Raises BadRequest."""
    value = request.get("id")
    if not isinstance(value, str) or not 0 < len(value) <= 100:
        raise frames.BadRequest("BadRequest", "id: expected a text of 1 to 100 characters.")
    return value


def names(request: dict[str, Any]) -> list[str]:
    """The outputs that are wanted. Raises BadRequest."""
    outputs = request.get("outputs") or []
    if not isinstance(outputs, list) or not all(isinstance(name, str) for name in outputs):
        raise frames.BadRequest("BadRequest", "outputs: expected a list of names.")
    return outputs


def parameters(request: dict[str, Any]) -> dict[str, Parameter]:
    """What the model is told beside its tensors. Raises BadRequest."""
    given = request.get("parameters") or {}
    if not isinstance(given, dict):
        raise frames.BadRequest("BadRequest", "parameters: expected an object.")
    for name, value in given.items():
        if name not in PARAMETERS:
            known = ", ".join(PARAMETERS)
            raise frames.BadRequest("BadRequest", f"parameters.{name}: not one of {known}.")
        if not isinstance(value, str | int):
            raise frames.BadRequest(
                "BadRequest", f"parameters.{name}: expected a number, a text, true or false."
            )
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise frames.BadRequest(
                "BadRequest", f"parameters.{name}: expected a number of 64 bits, got {value}."
            )
    return given


@dataclass
class Arriving:
    """A call whose tensors come as binary frames behind its text, in the order of its inputs."""

    request: dict[str, Any]
    missing: int
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0

    @classmethod
    def of(cls, request: dict[str, Any]) -> "Arriving":
        """Raises BadRequest."""
        inputs = request.get("inputs")
        counts = [_frames(item) for item in inputs] if isinstance(inputs, list) else []
        if sum(counts) > MAX_FRAMES:
            raise frames.BadRequest("TooLarge", f"A call has at most {MAX_FRAMES} binary frames.")
        return cls(request, missing=sum(counts))

    def add(self, piece: bytes) -> None:
        """One more frame. Raises BadRequest when the call is too large."""
        self.missing -= 1
        self.size += len(piece)
        if self.size > MAX_BINARY_BYTES:
            self.pieces.clear()
            raise frames.BadRequest(
                "TooLarge", f"A call has at most {MAX_BINARY_BYTES >> 20} MiB of tensors."
            )
        self.pieces.append(piece)

    def inputs(self) -> list[Tensor]:
        """Raises TensorError."""
        return read_inputs(self.request.get("inputs"), self.pieces)


def read_inputs(inputs: Any, pieces: Sequence[bytes] = ()) -> list[Tensor]:
    """Raises TensorError."""
    if not isinstance(inputs, list):
        raise TensorError("inputs: expected a list.")
    found: list[Tensor] = []
    at = 0
    for item in inputs:
        count = _frames(item)
        raw = b"".join(pieces[at : at + count]) if count else None
        found.append(read_input(item, raw))
        at += count
    return found


def _frames(item: Any) -> int:
    data = item.get("data") if isinstance(item, dict) else None
    count = data.get("frames", 0) if isinstance(data, dict) else 0
    return count if type(count) is int and count > 0 else 0
