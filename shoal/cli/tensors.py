"""``--input NAME=VALUE``: a KServe JSON request made from NumPy files or numbers."""

import json
from pathlib import Path
from typing import Any

import click

from shoal.client import Client
from shoal.client.types import Endpoint

NUMPY = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "FP16": "float16",
    "FP32": "float32", "FP64": "float64",
}  # fmt: skip
KSERVE = {numpy: kserve for kserve, numpy in NUMPY.items()}


def request_body(inputs: tuple[str, ...], types: dict[str, str]) -> str:
    """``types`` of inputs by their names; what is not named is FP32, or as its file has it."""
    return json.dumps({"inputs": [_tensor(expression, types) for expression in inputs]})


def datatypes(client: Client, endpoint: Endpoint, deployment: str | None) -> dict[str, str]:
    """Of every input of the model that answers, as far as one can be told."""
    traffic = endpoint["traffic"]
    rows = sorted(endpoint["deployments"], key=lambda row: -traffic.get(row["name"], 0))
    chosen = next((row for row in rows if deployment in (None, row["name"])), None)
    if chosen is None:
        return {}
    version = client.get_model_version(chosen["model"], chosen["version"])
    return {
        tensor["name"]: tensor["datatype"]
        for model in version["repo_models"]
        for tensor in model["inputs"]
    }


def _tensor(expression: str, types: dict[str, str]) -> dict[str, Any]:
    name, equals, value = expression.partition("=")
    if not equals:
        raise click.BadParameter(f"expected NAME=VALUE, not {expression!r}", param_hint="--input")
    if value.startswith("@"):
        import numpy

        try:
            array = numpy.load(Path(value[1:]), allow_pickle=False)
        except (OSError, ValueError) as error:
            raise click.BadParameter(f"{name}: {error}", param_hint="--input") from error
        datatype = KSERVE.get(array.dtype.name)
        if datatype is None:
            raise click.BadParameter(f"{name}: {array.dtype} cannot be sent", param_hint="--input")
        return {
            "name": name,
            "shape": list(array.shape),
            "datatype": datatype,
            "data": array.ravel().tolist(),
        }
    datatype = types.get(name, "FP32")
    parts = [part.strip() for part in value.split(",")]
    try:
        data: list[Any] = parts if datatype == "BYTES" else [json.loads(part) for part in parts]
    except ValueError as error:
        raise click.BadParameter(
            f"{name}: {value!r} are no numbers", param_hint="--input"
        ) from error
    return {"name": name, "shape": [1, len(data)], "datatype": datatype, "data": data}
