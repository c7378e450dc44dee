"""The signature that MLflow wrote into a model's MLmodel, as tensors of a configuration.

Each column is a tensor of as many elements as there are rows, each tensor one of its own shape. All
inputs are optional, since a request may bring its data as JSON instead.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from shoal.client.errors import UnusableSource

AS_JSON: Final = "requests bring their data as JSON"
RESERVED: Final = frozenset({"REQUEST", "REQUEST_HEAD", "RESPONSE", "RESPONSE_HEAD"})
_COLUMNS: Final = {
    "boolean": "BOOL", "integer": "INT32", "long": "INT64", "float": "FP32", "double": "FP64",
    "string": "STRING", "binary": "STRING", "datetime": "STRING",
}  # fmt: skip
_TENSORS: Final = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "float16": "FP16",
    "float32": "FP32", "float64": "FP64", "object": "STRING", "str": "STRING",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SignatureTensor:
    name: str
    data_type: str
    dims: tuple[int, ...]

    def text(self, part: str) -> str:
        """Its line of config.pbtxt."""
        optional = " optional: true" if part == "input" else ""
        return (
            f"{part} {{ name: {json.dumps(self.name)} data_type: TYPE_{self.data_type} "
            f"dims: {list(self.dims)}{optional} }}\n"
        )


@dataclass(frozen=True, slots=True)
class Signature:
    """``inputs`` is empty where tensors cannot say what the model takes; ``note`` then says why."""

    inputs: tuple[SignatureTensor, ...] = ()
    outputs: tuple[SignatureTensor, ...] = ()
    note: str = ""

    @property
    def text(self) -> str:
        """Its lines of config.pbtxt."""
        found = [tensor.text("input") for tensor in self.inputs]
        return "".join([*found, *(tensor.text("output") for tensor in self.outputs)])


def signature_of(mlmodel: Path) -> Signature:
    """Raises UnusableSource for a file that MLflow did not write."""
    try:
        document = yaml.safe_load(mlmodel.read_text(encoding="utf-8"))
        given = (document or {}).get("signature") or {}
        inputs, outputs = (json.loads(given.get(part) or "[]") for part in ("inputs", "outputs"))
        found_in = [_tensor(item, number, "input") for number, item in enumerate(inputs)]
        found_out = [_tensor(item, number, "output") for number, item in enumerate(outputs)]
    except (OSError, yaml.YAMLError, ValueError, AttributeError, TypeError, KeyError) as error:
        raise UnusableSource("MLmodel cannot be read", f"{mlmodel}: {error!r}") from error
    if not inputs:
        return Signature(note=f"MLmodel has no signature: {AS_JSON}")
    unsaid = [str(name) for name, tensor in found_in if tensor is None]
    if unsaid:
        what = f"inputs {', '.join(unsaid)} of the signature are no tensors"
        return Signature(note=f"{what}: {AS_JSON}")
    # why all or none: a model that answers half of what it says is asked for the other half
    answers = [tensor for _, tensor in found_out if tensor is not None]
    complete = len(answers) == len(found_out)
    return Signature(
        tuple(tensor for _, tensor in found_in if tensor is not None),
        tuple(answers) if complete else (),
    )


def _tensor(item: Mapping[str, Any], number: int, part: str) -> tuple[str, SignatureTensor | None]:
    """Its name, and None where it is none."""
    name = str(item.get("name") or f"{part}-{number}")
    kind: str = item["type"]
    dims: tuple[int, ...] = (-1,)
    if kind == "tensor":
        spec = item["tensor-spec"]
        dims = tuple(int(size) for size in spec["shape"]) or (1,)
        data_type = _TENSORS.get(str(spec["dtype"]))
    elif kind == "array" and isinstance(item.get("items"), dict):
        dims, data_type = (-1, -1), _COLUMNS.get(item["items"].get("type"))
    else:
        data_type = _COLUMNS.get(kind)
    if data_type is None or name in RESERVED:
        return name, None
    return name, SignatureTensor(name, data_type, dims)
