"""What is captured, as ``--capture-config`` says it."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

LEAST_HASH_KEY = 16  # bytes


class CaptureSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """``fields`` names the inputs and outputs that are captured, empty: all of them. Of those,
    ``drop`` are left out, and of ``hash`` only keyed digests are written."""

    sampling_rate: Annotated[float, Meta(gt=0, le=1)] = 0.01
    model_inputs: bool = True
    model_outputs: bool = True
    fields: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    hash: tuple[str, ...] = ()
    max_request_bytes: Annotated[int, Meta(ge=1, le=2**24)] = 65_536
    roll_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 60


class CaptureConfig(Struct, frozen=True):
    """``hash_key`` is empty where nothing is to be hashed."""

    settings: CaptureSettings
    directory: Path
    hash_key: bytes = b""


def read_config(text: str, directory: str, hash_key: str) -> CaptureConfig:
    """Raises ValueError, which names the flag, the value and what was expected."""
    try:
        settings = msgspec.json.decode(text.encode(), type=CaptureSettings)
    except msgspec.DecodeError as error:
        raise ValueError(f"--capture-config={text!r:.200}: {error}") from error
    if not directory:
        raise ValueError("--capture-config needs --capture-directory: expected a folder")
    key = hash_key.encode()
    if settings.hash and len(key) < LEAST_HASH_KEY:
        raise ValueError(
            f"--capture-config: hash={list(settings.hash)}: SHOAL_CAPTURE_HASH_KEY has {len(key)} "
            f"bytes, expected {LEAST_HASH_KEY} at least"
        )
    return CaptureConfig(settings, Path(directory), key if settings.hash else b"")
