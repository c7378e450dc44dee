"""One request of a plan as bytes, made once: the same is sent again and again."""

import base64
import json
import math
import random
import string
import struct
from array import array
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from wire.load import LoadInput, LoadPlan
from wire.own_requests import LOAD_SWEEP

SEED: Final = 1  # the same random data in each sweep, so that sweeps compare
LARGEST_BYTES: Final = 64 << 20
STRING_CHARS: Final = 16
# Whole numbers are 0 or 1: valid as masks, classes, tokens and indices.
WIDTHS: Final = {
    "BOOL": 1, "UINT8": 1, "INT8": 1, "UINT16": 2, "INT16": 2, "UINT32": 4, "INT32": 4,
    "UINT64": 8, "INT64": 8, "FP16": 2, "BF16": 2, "FP32": 4, "FP64": 8,
}  # fmt: skip
DATATYPES: Final = (*WIDTHS, "BYTES")


def model_path(model: str, version: str, what: str) -> str:
    pinned = f"/versions/{quote(version, safe='')}" if version else ""
    return f"/v2/models/{quote(model, safe='')}{pinned}/{what}"


def http_request(
    plan: LoadPlan,
    inputs: Sequence[LoadInput],
    *,
    host: str,
    prefix: str = "",
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Raises ValueError, which names the input."""
    tensors = [tensor_bytes(one) for one in inputs]
    head = json.dumps(
        {
            "id": LOAD_SWEEP,
            "inputs": [
                {
                    "name": one.name,
                    "shape": list(one.shape),
                    "datatype": one.datatype,
                    "parameters": {"binary_data_size": len(raw)},
                }
                for one, raw in zip(inputs, tensors, strict=True)
            ],
            "parameters": {"binary_data_output": True},
        },
        separators=(",", ":"),
    ).encode()
    body = b"".join([head, *tensors])
    fields = {
        "Host": host,
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(len(head)),
        "Content-Length": str(len(body)),
        **(headers or {}),
    }
    for name, value in fields.items():
        if not f"{name}{value}".isprintable():
            raise ValueError(f"{name}: expected printable characters")
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    path = f"{prefix}{model_path(plan.model, plan.version, 'infer')}"
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def tensor_bytes(one: LoadInput) -> bytes:
    """Raises ValueError."""
    if one.data is not None:
        try:
            return base64.b64decode(one.data, validate=True)
        except ValueError as error:
            raise ValueError(f"{one.name}: expected base64: {error}") from error
    if one.datatype not in DATATYPES:
        raise ValueError(f"{one.name}: unknown datatype {one.datatype!r:.80}")
    if any(axis < 0 for axis in one.shape):
        raise ValueError(f"{one.name}: shape {list(one.shape)}, expected sizes from 0")
    count = math.prod(one.shape)
    width = WIDTHS.get(one.datatype, 4 + STRING_CHARS)
    if count * width > LARGEST_BYTES:
        raise ValueError(
            f"{one.name}: {count * width} bytes, expected at most {LARGEST_BYTES}: "
            "give it a smaller shape"
        )
    return _random(one.datatype, count, random.Random(SEED))  # noqa: S311 - no secret


def _random(datatype: str, count: int, rng: random.Random) -> bytes:
    if datatype == "BYTES":
        words = ("".join(rng.choices(string.ascii_lowercase, k=STRING_CHARS)) for _ in range(count))
        return b"".join(struct.pack("<I", STRING_CHARS) + word.encode() for word in words)
    if datatype == "FP64":
        return array("d", (rng.random() for _ in range(count))).tobytes()
    if datatype in ("FP32", "BF16"):
        raw = array("f", (rng.random() for _ in range(count))).tobytes()
        if datatype == "FP32":
            return raw
        # a bfloat16 is the upper half of a float32
        return bytes(byte for at in range(0, len(raw), 4) for byte in raw[at + 2 : at + 4])
    if datatype == "FP16":
        return struct.pack(f"<{count}e", *(rng.random() for _ in range(count)))
    width = WIDTHS[datatype]
    return b"".join(rng.getrandbits(1).to_bytes(width, "little") for _ in range(count))
