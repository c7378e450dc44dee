"""Large weights of an ONNX file, which ONNX Runtime is told to find in that very file.

It reads a file whole, copies every weight out of it, and most of them again into the order that its
kernels want: more than three times the file in all, page by page. What is said to lie beside the
model it maps, and copies once.
"""

import mmap
from pathlib import Path
from typing import Final

import numpy as np

from worker_runtime.files.protobuf import Budget, Malformed, TooMany, fields, parts, text

_SMALLEST_FILE: Final = 4 << 20  # below, nobody would notice
_SMALLEST_WEIGHT: Final = 64 << 10
_MOST_FIELDS: Final = 100_000  # of nodes: 0.1 s to look at
# Numbers of fields in onnx.proto3, by message.
_MODEL_GRAPH: Final = 7
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _INPUT_NAME = 1, 5, 11, 1
_NODE_INPUT, _NODE_OPERATOR, _NODE_ATTRIBUTE, _NODE_DOMAIN = 1, 4, 5, 7
_ATTRIBUTE_GRAPHS: Final = (6, 11)
_DIMENSIONS, _DATA_TYPE, _NAME, _RAW, _EXTERNAL, _LOCATION = 1, 2, 8, 9, 13, 14
_KEY, _VALUE = 1, 2
_IS_EXTERNAL: Final = 1  # TensorProto.DataLocation
_FLOAT: Final = 1
# TensorProto.DataType -> bytes of an element, where raw data is as kernels have it.
_SIZES: Final = {
    _FLOAT: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2
}  # fmt: skip


def graph_beside(path: Path) -> bytes | None:
    """The model in ``path`` without its large weights, which are named as parts of ``path``.

    None where little would be gained, and where it is no model: who opens ``path`` itself is told
    so. Only for files that nobody changes while they are mapped.
    """
    size = path.stat().st_size
    if size < _SMALLEST_FILE:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as pages:
        with memoryview(pages) as view:
            try:
                return _without_weights(view, path.name)
            except (Malformed, TooMany):
                return None


def _without_weights(model: memoryview, location: str) -> bytes | None:
    graphs = list(parts(model, _MODEL_GRAPH))
    if len(graphs) != 1:
        return None
    multiplied = _only_multiplied(graphs[0], Budget(_MOST_FIELDS))
    kept: list[bytes | memoryview] = []
    beside = 0
    for number, value in fields(graphs[0]):
        if number == _GRAPH_INITIALIZER and isinstance(value, memoryview):
            tensor = _tensor_beside(value, model, location, multiplied)
            if tensor is not None:
                beside += len(value)
                value = memoryview(tensor)
        kept += _field(number, value)
    # why: what stays is copied here, too
    if beside < len(model) / 2:
        return None
    found: list[bytes | memoryview] = []
    for number, value in fields(model):
        if number != _MODEL_GRAPH:
            found += _field(number, value)
    found.append(_head(_MODEL_GRAPH, sum(map(len, kept))))
    return b"".join([*found, *kept])


def _only_multiplied(graph: memoryview, budget: Budget) -> frozenset[str]:
    """What nodes multiply by and nothing else reads. None of it where graphs lie in graphs.

    Kernels of that have such a matrix in an order of their own, made when the model is loaded by
    code that asks for no alignment.
    """
    matrices: set[str] = set()
    others = {text(value, _INPUT_NAME) for value in parts(graph, _GRAPH_INPUT)}
    for node in parts(graph, _GRAPH_NODE, budget):
        operator = domain = ""
        names: list[str] = []
        for number, value in fields(node, budget):
            if not isinstance(value, memoryview):
                continue
            if number == _NODE_INPUT:
                names.append(_words(value))
            elif number == _NODE_OPERATOR:
                operator = _words(value)
            elif number == _NODE_DOMAIN:
                domain = _words(value)
            elif number == _NODE_ATTRIBUTE and any(
                inner in _ATTRIBUTE_GRAPHS for inner, _ in fields(value, budget)
            ):
                return frozenset()
        multiplies = operator in ("MatMul", "Gemm") and not domain
        for place, name in enumerate(names):
            (matrices if multiplies and place == 1 else others).add(name)
    return frozenset(matrices - others)


def _tensor_beside(
    tensor: memoryview, model: memoryview, location: str, multiplied: frozenset[str]
) -> bytes | None:
    """The tensor as a part of the file ``location``; None for one that stays in the model."""
    found = list(fields(tensor))
    held = dict(found)
    raw, kind, name = held.get(_RAW), held.get(_DATA_TYPE), held.get(_NAME)
    if not isinstance(raw, memoryview) or len(raw) < _SMALLEST_WEIGHT or _LOCATION in held:
        return None
    if not isinstance(kind, int) or kind not in _SIZES or not isinstance(name, memoryview):
        return None
    offset = _address(raw) - _address(model)
    if offset % _SIZES[kind] and not (kind == _FLOAT and _words(name) in multiplied):
        return None
    said = {"location": location, "offset": str(offset), "length": str(len(raw))}
    written: list[bytes | memoryview] = []
    for number, value in found:
        if number in (_DIMENSIONS, _DATA_TYPE, _NAME):
            written += _field(number, value)
    for key, words in said.items():
        entry = [
            *_field(_KEY, memoryview(key.encode())),
            *_field(_VALUE, memoryview(words.encode())),
        ]
        written += _field(_EXTERNAL, memoryview(b"".join(entry)))
    return b"".join([*written, *_field(_LOCATION, _IS_EXTERNAL)])


def _words(value: memoryview) -> str:
    return bytes(value).decode("utf-8", "replace")


def _address(view: memoryview) -> int:
    return int(np.frombuffer(view, np.uint8).__array_interface__["data"][0])


def _field(number: int, value: int | memoryview) -> tuple[bytes | memoryview, ...]:
    """As protobuf writes it. Numbers of fixed width are in none of these messages."""
    if isinstance(value, int):
        return (_varint(number << 3) + _varint(value),)
    return (_head(number, len(value)), value)


def _head(number: int, length: int) -> bytes:
    return _varint(number << 3 | 2) + _varint(length)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
