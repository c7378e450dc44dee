"""The parameters of a load request: a configuration, and files in base64."""

import base64
import binascii
from typing import Any

import msgspec

from worker_runtime.errors import Internal, InvalidArgument
from worker_runtime.protocols.http.json_values import as_string, members, optional
from worker_runtime.types.repository import LoadOverride

_FILE = "file:"


def load_override(document: Any) -> LoadOverride:
    """What a load request brings with it. Raises BadJson, InvalidArgument, Internal."""
    parameters = optional(document, "parameters", msgspec.UNSET)
    if parameters is msgspec.UNSET:
        return LoadOverride()
    config: str | None = None
    files: dict[str, bytes] = {}
    for key, value in members(parameters).items():
        text = as_string(value)
        if key == "config":
            config = text
        elif key.startswith(_FILE):
            files[key.removeprefix(_FILE)] = decode_base64(text, key)
        else:
            raise Internal("unexpected error on creating Triton parameter")
    return LoadOverride(config, files)


def decode_base64(text: str, name: str) -> bytes:
    """Padding may be missing, and what is no base64 is passed over. Raises InvalidArgument."""
    raw = text.encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(raw + b"=" * (-len(raw) % 4))
    except binascii.Error as error:
        raise InvalidArgument(f"failed to decode base64 of '{name}': {error}") from error
