"""Tensors of saved cases as arrays, and calls with them in Triton's binary extension of KServe v2.

Shapes are as on the wire. ``BYTES`` become arrays of ``bytes``, ``BF16`` of float32.
"""

import base64
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
NUMPY: Final = {
    "BOOL": "?", "UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8", "INT8": "i1",
    "INT16": "<i2", "INT32": "<i4", "INT64": "<i8", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8",
}  # fmt: skip


def raw(tensor: Mapping[str, Any]) -> bytes:
    """The bytes that a tensor of a case has on the wire. Raises ValueError, which names it."""
    try:
        return _raw(tensor["datatype"], tensor["data"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        name = tensor.get("name")
        raise ValueError(f"{name}: no data of {tensor.get('datatype')}: {error!r:.200}") from error


def _raw(datatype: str, data: Any) -> bytes:
    if isinstance(data, dict):
        return base64.b64decode(data["b64"])
    if datatype == "BYTES":
        return b"".join(struct.pack("<I", len(item)) + item for item in map(_utf8, data))
    if datatype == "BF16":
        return (np.asarray(_numbers(data), "<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return np.asarray(_numbers(data), NUMPY[datatype]).tobytes()


def array(datatype: str, shape: Sequence[int], content: bytes) -> Array:
    """Raises ValueError: these bytes are not such a tensor."""
    if datatype == "BYTES":
        items = np.empty(len(found := _items(content)), dtype=object)
        items[:] = found  # why not np.array: it guesses at a dtype
        return items.reshape(shape)
    if datatype == "BF16":
        wide = np.frombuffer(content, "<u2").astype("<u4") << 16
        return wide.view("<f4").reshape(shape)
    if datatype not in NUMPY:
        raise ValueError(f"no datatype {datatype!r:.80}")
    return np.frombuffer(content, NUMPY[datatype]).reshape(shape)


def arrays(tensors: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, Array]]:
    """Name -> datatype and array, of the tensors of a case."""
    return {
        tensor["name"]: (
            tensor["datatype"],
            array(tensor["datatype"], tensor["shape"], raw(tensor)),
        )
        for tensor in tensors
    }


def request(
    inputs: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]
) -> tuple[bytes, dict[str, str]]:
    """Body and headers of an inference that asks for all outputs in binary."""
    contents = [raw(tensor) for tensor in inputs]
    head = json.dumps(
        {
            "inputs": [
                {
                    **{key: tensor[key] for key in ("name", "datatype", "shape")},
                    "parameters": {"binary_data_size": len(content)},
                }
                for tensor, content in zip(inputs, contents, strict=True)
            ],
            "parameters": {**parameters, "binary_data_output": True},
        }
    ).encode()
    headers = {
        "Content-Type": "application/octet-stream",
        "Inference-Header-Content-Length": str(len(head)),
    }
    return b"".join((head, *contents)), headers


def answer(content: bytes, headers: Mapping[str, str]) -> list[dict[str, Any]]:
    """The outputs as tensors of a case. Raises ValueError: no answer of KServe v2."""
    length = int(headers.get("inference-header-content-length", len(content)))
    outputs, at, found = json.loads(content[:length]).get("outputs", []), length, []
    for output in outputs:
        size = output.get("parameters", {}).get("binary_data_size")
        data: Any = output.get("data")
        if size is not None:
            data = {"b64": base64.b64encode(content[at : at + size]).decode()}
            at += size
        found.append({**{key: output[key] for key in ("name", "datatype", "shape")}, "data": data})
    return found


def _utf8(item: object) -> bytes:
    return str(item).encode()


def _numbers(data: Sequence[Any]) -> list[Any]:
    """Numbers that JSON cannot have, and large ones, are texts in cases."""
    return [_number(value) if isinstance(value, str) else value for value in data]


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _items(content: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(content):
        length = int.from_bytes(content[at : at + 4], "little")
        found.append(content[at + 4 : at + 4 + length])
        at += 4 + length
    if at != len(content):
        raise ValueError("the last string is cut short")
    return found
