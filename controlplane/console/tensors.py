"""Tensors between a browser's JSON and raw bytes: strict on the way in, bounded on the way out."""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tritonclient.utils import deserialize_bytes_tensor, serialize_byte_tensor

Array = npt.NDArray[Any]

NUMPY_TYPES: dict[str, type[Any]] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
}
DATATYPES = frozenset({*NUMPY_TYPES, "BF16", "BYTES"})
BF16_BYTES = 2
MAX_ELEMENTS = 16 << 20
MAX_AXES = 64  # as numpy
MAX_VALUES_SHOWN = 10_000
MAX_RAW_BYTES = 8 << 20  # of one output, as raw bytes to the browser
LARGEST_EXACT = 2**53  # beyond it a browser's numbers lose digits
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class TensorError(ValueError):
    """An input that does not fit; the text names the tensor, what was sent, what was expected."""


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    datatype: str
    shape: tuple[int, ...]
    raw: bytes  # as the binary tensor extension and gRPC's raw contents carry it


def read_input(data: Any, raw: bytes | None = None) -> Tensor:
    """One entry of ``inputs``; ``raw`` where its bytes came beside it. Raises TensorError."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise TensorError('Every input needs a "name".')
    name, datatype, shape = data["name"], data.get("datatype"), data.get("shape")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        raise TensorError(f"{name}: unknown datatype {datatype!r:.80}.")
    if not isinstance(shape, list) or not all(type(axis) is int and axis >= 0 for axis in shape):
        raise TensorError(f"{name}: shape must be a list of whole numbers, got {shape!r:.80}.")
    count = _count(name, shape)
    values = data.get("data")
    if raw is not None:
        raw = _whole_bytes(name, datatype, count, raw)
    elif isinstance(values, dict):
        raw = _whole_bytes(name, datatype, count, _decode_base64(name, values))
    elif isinstance(values, list):
        raw = _pack(name, datatype, count, values)
    else:
        raise TensorError(f'{name}: data must be a flat list, or {{"b64": "..."}}.')
    return Tensor(name, datatype, tuple(shape), raw)


def _count(name: str, shape: list[int]) -> int:
    """Values of a tensor of this shape, cheap for any list of numbers. Raises TensorError."""
    if len(shape) > MAX_AXES:
        raise TensorError(f"{name}: shape has {len(shape)} axes, expected at most {MAX_AXES} axes.")
    for axis, size in enumerate(shape, 1):
        if size > MAX_ELEMENTS:
            raise TensorError(f"{name}: axis {axis} is over {MAX_ELEMENTS}, the console's limit.")
    count = math.prod(shape)
    if count > MAX_ELEMENTS:
        raise TensorError(f"{name}: {count} values; the console takes at most {MAX_ELEMENTS}.")
    return count


def check_against(
    tensors: Sequence[Tensor], specification: Sequence[dict[str, Any]], max_batch_size: int
) -> None:
    """Names, datatypes and shapes against the model's inputs (shapes without the batch axis).

    Raises TensorError.
    """
    known = {item["name"]: item for item in specification}
    for tensor in tensors:
        expected = known.get(tensor.name)
        if expected is None:
            names = ", ".join(known) or "none"
            raise TensorError(f"{tensor.name}: the model has no such input. It has: {names}.")
        if tensor.datatype != expected["datatype"]:
            raise TensorError(
                f"{tensor.name}: {tensor.datatype} sent, {expected['datatype']} expected."
            )
        dims = [axis if isinstance(axis, int) else -1 for axis in expected["shape"]]
        _check_shape(tensor, [-1, *dims] if max_batch_size > 0 else dims)
    sent = {tensor.name for tensor in tensors}
    for name, item in known.items():
        if name not in sent and not item.get("optional"):
            raise TensorError(f"{name}: missing.")
    if max_batch_size > 0:
        _check_batch(tensors, max_batch_size)


def _check_shape(tensor: Tensor, expected: list[int]) -> None:
    if len(tensor.shape) != len(expected):
        where = f"{len(tensor.shape)} axes instead of {len(expected)}"
    else:
        wrong = [
            axis
            for axis, (size, wanted) in enumerate(zip(tensor.shape, expected, strict=True), 1)
            if wanted != -1 and size != wanted
        ]
        if not wrong:
            return
        where = f"axis {wrong[0]}"
    raise TensorError(
        f"{tensor.name}: {shape_text(tensor.shape)} sent, {shape_text(expected)} expected ({where})"
    )


def _check_batch(tensors: Sequence[Tensor], max_batch_size: int) -> None:
    for tensor in tensors:
        batch = tensor.shape[0]
        if not 1 <= batch <= max_batch_size:
            raise TensorError(
                f"{tensor.name}: a batch of {batch} sent, 1 to {max_batch_size} expected (axis 1)"
            )
        if batch != tensors[0].shape[0]:
            raise TensorError(
                f"{tensor.name}: a batch of {batch} sent, "
                f"but {tensors[0].name} has {tensors[0].shape[0]}"
            )


def shape_text(shape: Sequence[int]) -> str:
    return " × ".join("any" if axis < 0 else str(axis) for axis in shape) or "scalar"


def _decode_base64(name: str, data: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode(data["b64"], validate=True)
    except (KeyError, TypeError, ValueError) as error:  # binascii's among them
        raise TensorError(f'{name}: data must be {{"b64": "<base64>"}}: {error}') from error


def _whole_bytes(name: str, datatype: str, count: int, raw: bytes) -> bytes:
    if datatype == "BYTES":
        found = _count_strings(name, raw)
        if found != count:
            raise TensorError(f"{name}: {found} strings sent, the shape holds {count}.")
    elif len(raw) != count * width(datatype):
        wanted = count * width(datatype)
        raise TensorError(f"{name}: {len(raw)} bytes sent, {wanted} expected for {count} values.")
    return raw


def _count_strings(name: str, raw: bytes) -> int:
    found = offset = 0
    while offset < len(raw):
        length = int.from_bytes(raw[offset : offset + 4], "little")
        offset += 4 + length
        found += 1
    if offset != len(raw):
        raise TensorError(f"{name}: the last string is cut short.")
    return found


def width(datatype: str) -> int:
    """Bytes per value of a datatype of fixed size."""
    return BF16_BYTES if datatype == "BF16" else np.dtype(NUMPY_TYPES[datatype]).itemsize


def _pack(name: str, datatype: str, count: int, values: list[Any]) -> bytes:
    if len(values) != count:
        raise TensorError(f"{name}: {len(values)} values sent, the shape holds {count}.")
    if datatype == "BYTES":
        texts = [_text(name, index, value) for index, value in enumerate(values, 1)]
        array = np.array([*texts, None], dtype=object)[:-1]  # why None: keeps numpy from guessing
        return bytes(serialize_byte_tensor(array).item()) if count else b""
    if datatype == "BOOL":
        return bytes(_flag(name, index, value) for index, value in enumerate(values, 1))
    if datatype in ("BF16", "FP16", "FP32", "FP64"):
        return _pack_floats(name, datatype, values)
    limits = np.iinfo(NUMPY_TYPES[datatype])
    whole = [
        _whole(name, index, value, datatype, int(limits.min), int(limits.max))
        for index, value in enumerate(values, 1)
    ]
    return np.array(whole, dtype=NUMPY_TYPES[datatype]).tobytes()


def _pack_floats(name: str, datatype: str, values: list[Any]) -> bytes:
    numbers = [_real(name, index, value) for index, value in enumerate(values, 1)]
    exact = np.array(numbers, dtype=np.float64)
    target = np.float32 if datatype == "BF16" else NUMPY_TYPES[datatype]
    with np.errstate(over="ignore"):
        array = exact.astype(target)
    lost = np.flatnonzero(np.isinf(array) & np.isfinite(exact))
    if lost.size:
        index = int(lost[0])
        raise TensorError(f"{name}: value {index + 1}: {numbers[index]:g} is too large.")
    if datatype == "BF16":
        return _bf16_bytes(array)
    return array.tobytes()


def _bf16_bytes(array: Array) -> bytes:
    """The upper halves of float32 values, rounded to the nearest, ties to even."""
    bits = array.view("<u4")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(array), 0x7FC0, rounded).astype("<u2").tobytes()


def _text(name: str, index: int, value: Any) -> bytes:
    if not isinstance(value, str):
        raise TensorError(f"{name}: value {index}: expected a text, got {value!r:.80}.")
    return value.encode("utf-8", "surrogatepass")


def _flag(name: str, index: int, value: Any) -> bool:
    if isinstance(value, bool) or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise TensorError(f"{name}: value {index}: expected true or false, got {value!r:.80}.")


def _whole(name: str, index: int, value: Any, datatype: str, low: int, high: int) -> int:
    number: int | None = None
    if type(value) is int:
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, str) and len(value) < 30:
        digits = value.removeprefix("-")
        number = int(value) if digits.isascii() and digits.isdecimal() else None
    if number is None:
        raise TensorError(f"{name}: value {index}: expected a whole number, got {value!r:.80}.")
    if not low <= number <= high:
        raise TensorError(
            f"{name}: value {index}: {number} does not fit {datatype} ({low} to {high})."
        )
    return number


def _real(name: str, index: int, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise TensorError(f"{name}: value {index} is too large.") from None
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    raise TensorError(f"{name}: value {index}: expected a number, got {value!r:.80}.")


def show_output(tensor: Tensor) -> dict[str, Any]:
    """An output as the browser gets it. Raises TensorError when its bytes do not fit its shape.

    ``raw`` carries what the values cannot say: the ones left out, and texts that are none.
    """
    array = _unpack(tensor)
    shown = array[:MAX_VALUES_SHOWN]
    truncated = bool(array.size > MAX_VALUES_SHOWN)
    wanted = (truncated or not _is_text(shown)) and len(tensor.raw) <= MAX_RAW_BYTES
    return {
        "name": tensor.name,
        "datatype": tensor.datatype,
        "shape": list(tensor.shape),
        "data": [_plain(value) for value in shown.tolist()],
        "truncated": truncated,
        "raw": base64.b64encode(tensor.raw).decode() if wanted else None,
        "stats": _stats(array),
    }


def _is_text(values: Array) -> bool:
    """False for bytes that are not UTF-8: pictures, mostly."""
    if values.dtype != object:
        return True
    try:
        for value in values:
            value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unpack(tensor: Tensor) -> Array:
    """Flat values. Raises TensorError."""
    count = math.prod(tensor.shape)
    try:
        if tensor.datatype == "BYTES":
            array: Array = deserialize_bytes_tensor(tensor.raw)
        elif tensor.datatype == "BF16":
            # a bfloat16 is the upper half of a float32
            array = (np.frombuffer(tensor.raw, "<u2").astype("<u4") << 16).view("<f4")
        else:
            array = np.frombuffer(tensor.raw, dtype=NUMPY_TYPES[tensor.datatype])
    except (KeyError, ValueError) as error:
        raise TensorError(f"{tensor.name}: {tensor.datatype} cannot be read: {error}") from error
    if array.size != count:
        raise TensorError(f"{tensor.name}: {array.size} values, the shape holds {count}.")
    return array


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if type(value) is int and abs(value) > LARGEST_EXACT:
        return str(value)
    return value


def _stats(array: Array) -> dict[str, float | int | None] | None:
    """Least, largest and mean of the finite values, and how many are not; None for no numbers."""
    if array.dtype == object or array.dtype == np.bool_ or not array.size:
        return None
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    nan = int(np.isnan(numbers).sum())
    counts = {"nan": nan, "infinite": int(numbers.size - finite.size - nan)}
    if not finite.size:
        return {"min": None, "max": None, "mean": None, **counts}
    with np.errstate(over="ignore"):
        mean = float(finite.mean())
    return {
        "min": float(finite.min()),
        "max": float(finite.max()),
        "mean": mean if math.isfinite(mean) else None,
        **counts,
    }
