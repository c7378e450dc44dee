"""TensorFlow SavedModels: the serving signature out of ``saved_model.pb``, by the wire format."""

from pathlib import Path

from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.files.protobuf import Malformed, fields
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.types.signature import GraphTensor, ModelGraph

FILE = "saved_model.pb"
MAX_BYTES = 2**31
SIGNATURE = "serving_default"
# TensorFlow's numbers of element types.
TYPES = {
    1: "FP32", 2: "FP64", 3: "INT32", 4: "UINT8", 5: "INT16", 6: "INT8", 7: "BYTES", 9: "INT64",
    10: "BOOL", 14: "BF16", 17: "UINT16", 19: "FP16", 22: "UINT32", 23: "UINT64",
}  # fmt: skip


def read_savedmodel(folder: Path, model: str) -> FileMetadata:
    """Raises LoadFailed for what holds no graph, or none with a signature."""
    path = folder / FILE
    if not path.is_file():
        raise _refused(model, f"{folder.name}/{FILE} does not exist")
    if path.stat().st_size > MAX_BYTES:
        return FileMetadata(producer="tensorflow")
    try:
        signatures = _signatures(memoryview(path.read_bytes()))
    except Malformed as error:
        raise _refused(model, f"{folder.name}/{FILE} is not a SavedModel: {error}") from error
    if not signatures:
        raise _refused(
            model,
            f"{folder.name}/{FILE} has no signature to serve",
            "save it with tf.saved_model.save(model, path, signatures=...)",
        )
    name = SIGNATURE if SIGNATURE in signatures else min(signatures)
    inputs, outputs = signatures[name]
    return FileMetadata(graph=ModelGraph(inputs, outputs, f"tensorflow {name}"))


def _refused(model: str, message: str, *hints: str) -> LoadFailed:
    return LoadFailed(message, Problem("NotASavedModel", message, model=model, hints=hints))


def _signatures(
    data: memoryview,
) -> dict[str, tuple[tuple[GraphTensor, ...], tuple[GraphTensor, ...]]]:
    found = {}
    for number, graph in fields(data):
        if number != 2 or not isinstance(graph, memoryview):
            continue
        for key, entry in fields(graph):
            if key != 5 or not isinstance(entry, memoryview):
                continue
            name, value = _entry(entry)
            if not name.startswith("__"):  # TensorFlow's own, for restoring
                found[name] = (_tensors(value, 1), _tensors(value, 2))
    return {name: pair for name, pair in found.items() if pair[1]}


def _tensors(signature: memoryview, which: int) -> tuple[GraphTensor, ...]:
    tensors = []
    for number, entry in fields(signature):
        if number == which and isinstance(entry, memoryview):
            name, info = _entry(entry)
            tensors.append(_tensor(name, info))
    return tuple(sorted(tensors, key=lambda tensor: tensor.name))


def _tensor(name: str, info: memoryview) -> GraphTensor:
    datatype = 0
    shape: tuple[int, ...] | None = ()
    for number, value in fields(info):
        if number == 2 and isinstance(value, int):
            datatype = value
        elif number == 3 and isinstance(value, memoryview):
            shape = _shape(value)
    return GraphTensor(name, TYPES.get(datatype, f"type {datatype}"), shape)


def _shape(data: memoryview) -> tuple[int, ...] | None:
    dims = []
    for number, value in fields(data):
        if number == 3 and value:
            return None  # not even the rank is known
        if number == 2 and isinstance(value, memoryview):
            sizes = [size for key, size in fields(value) if key == 1 and isinstance(size, int)]
            size = sizes[0] if sizes else 0
            dims.append(size - 2**64 if size >= 2**63 else size)
    return tuple(dims)


def _entry(data: memoryview) -> tuple[str, memoryview]:
    """Key and value of one entry of a map."""
    name, value = "", memoryview(b"")
    for number, part in fields(data):
        if number == 1 and isinstance(part, memoryview):
            name = bytes(part).decode("utf-8", "replace")
        elif number == 2 and isinstance(part, memoryview):
            value = part
    return name, value
