"""OpenVINO models: parameters and results out of the XML half of an IR."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.types.signature import GraphTensor, ModelGraph

MAX_BYTES = 256 * 2**20
TYPES = {
    "f16": "FP16", "f32": "FP32", "f64": "FP64", "bf16": "BF16", "boolean": "BOOL",
    "string": "BYTES",
    **{f"{sign}{bits}": f"{name}{bits}" for sign, name in (("i", "INT"), ("u", "UINT"))
       for bits in (8, 16, 32, 64)},
}  # fmt: skip
PRECISIONS = {"BOOL": "boolean", "STRING": "string"}  # as ports write what parameters write so


def read_openvino(path: Path, model: str) -> FileMetadata:
    """Raises LoadFailed for what is no IR, or when its weights are missing."""
    if path.stat().st_size > MAX_BYTES:
        return FileMetadata(producer="openvino")
    try:
        root = _parsed(path)
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # some of its encoding
        raise _refused(model, f"{path.name} is not XML: {error}") from error
    if root.tag != "net":
        raise _refused(model, f"{path.name} is no OpenVINO IR: its root is <{root.tag[:40]}>")
    if not path.with_suffix(".bin").is_file():
        raise _refused(
            model,
            f"the weights are missing: {path.with_suffix('.bin').name} must lie beside {path.name}",
        )
    layers = {layer.get("id", ""): layer for layer in root.iterfind("./layers/layer")}
    sources = {
        edge.get("to-layer", ""): (edge.get("from-layer", ""), edge.get("from-port", ""))
        for edge in root.iterfind("./edges/edge")
    }
    kinds = {key: layer.get("type") for key, layer in layers.items()}
    try:
        inputs = [_parameter(layers[key]) for key in layers if kinds[key] == "Parameter"]
        outputs = [
            _result(layers[key], layers, sources) for key in layers if kinds[key] == "Result"
        ]
    except ValueError as error:  # of more digits than Python reads
        raise _refused(model, f"{path.name} has a dim that is no number: {error}") from error
    return FileMetadata(graph=ModelGraph(tuple(inputs), tuple(outputs), "openvino"))


def _parsed(path: Path) -> ElementTree.Element:
    data = path.read_bytes()
    # why refused at all: an IR declares no entities; who does wants to make the reader work
    if re.search(rb"<!(DOCTYPE|ENTITY)", data, re.IGNORECASE):
        raise ElementTree.ParseError("it declares a document type")
    return ElementTree.fromstring(data)  # noqa: S314 - without entities; limits are the caller's


def _refused(model: str, message: str) -> LoadFailed:
    hint = "export it with openvino.save_model(model, 'model.xml')"
    return LoadFailed(message, Problem("NotAnOpenvinoModel", message, model=model, hints=(hint,)))


def _parameter(layer: ElementTree.Element) -> GraphTensor:
    data = layer.find("data")
    kind = data.get("element_type", "") if data is not None else ""
    shape = data.get("shape", "") if data is not None else ""
    port = layer.find("./output/port")
    return GraphTensor(_name(layer, port), _type(kind), _shape(shape))


def _result(
    layer: ElementTree.Element,
    layers: dict[str, ElementTree.Element],
    sources: dict[str, tuple[str, str]],
) -> GraphTensor:
    """A result is called, and looks, like the port that feeds it."""
    source, port_id = sources.get(layer.get("id", ""), ("", ""))
    origin = layers.get(source)
    ports = origin.iterfind("./output/port") if origin is not None else iter(())
    port = next((item for item in ports if item.get("id") == port_id), None)
    if port is None:
        port = layer.find("./input/port")
    precision = port.get("precision", "") if port is not None else ""
    kind = PRECISIONS.get(precision, precision.lower().replace("fp", "f"))
    dims = [dim.text or "" for dim in port.iterfind("dim")] if port is not None else []
    return GraphTensor(
        _name(origin if origin is not None else layer, port), _type(kind), _shape(",".join(dims))
    )


def _name(layer: ElementTree.Element, port: ElementTree.Element | None) -> str:
    names = port.get("names", "") if port is not None else ""
    # why: one tensor may bear several names, parted by commas that a backslash does not cover
    first = re.split(r"(?<!\\),", names)[0].replace("\\,", ",")
    return first or layer.get("name", "")


def _type(kind: str) -> str:
    lower = kind.lower()
    return TYPES.get(lower) or TYPES.get(re.sub(r"^(int|uint)", lambda m: m[0][0], lower), kind)


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else -1 for part in text.split(",") if part.strip())
