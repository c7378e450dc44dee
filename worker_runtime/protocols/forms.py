"""Checked request heads, and how their answers are written: what HTTP and gRPC keep of a request.

A form holds no data: what it says is good for every request with the same head. Each protocol adds
where the tensors lie in its own messages, and keeps forms by the bytes of their heads.
"""

from typing import Any, NamedTuple, TypeVar

import msgspec

from worker_runtime.core.parameters import NOTHING, RequestParameters
from worker_runtime.core.shared_memory import Window
from worker_runtime.errors import Internal
from worker_runtime.types.device_memory import DeviceWindow
from worker_runtime.types.request import Plan

MAX_FORMS = 512
MAX_FORM_BYTES = 4096
MAX_ANSWER_HEADS = 64

Key = TypeVar("Key")
Value = TypeVar("Value")


class Region(NamedTuple):
    """A part of a shared-memory region that a client has registered, in bytes."""

    name: str
    offset: int
    byte_size: int


class OutputForm(msgspec.Struct, frozen=True):
    """How to write one output: raw or (in JSON) not, as its best ``classes``, or into a region."""

    binary: bool = True
    classes: int = 0
    region: Region | None = None


def device_windows(windows: dict[str, Window] | None) -> dict[str, DeviceWindow] | None:
    """Those of them that are on a device."""
    if not windows:
        return None
    found = {name: item for name, item in windows.items() if isinstance(item, DeviceWindow)}
    return found or None


class Form(msgspec.Struct):
    """``outputs`` says how to write those that are not written as the protocol always does.

    ``heads`` caches heads of answers by the shapes of their outputs; None when answers have more
    than raw tensors behind a head. ``windows`` is per request: where outputs in shared memory go.
    """

    plan: Plan
    outputs: dict[str, OutputForm]
    parameters: RequestParameters = NOTHING
    heads: dict[Any, Any] | None = None
    windows: dict[str, Window] | None = None


def remember(known: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Keep ``value``; a cache that is full starts afresh."""
    if len(known) >= most:
        known.clear()
    known[key] = value


def fill(window: Window, name: str, raw: Any, size: int) -> None:
    """Put an output where the client wants it. Raises Internal when it is too large."""
    if size > window.byte_size:
        raise Internal(
            f"shared memory size specified with the request for output '{name}' "
            f"({window.byte_size} bytes) should be at least {size} bytes to hold the results"
        )
    if size:
        window.write(raw)
