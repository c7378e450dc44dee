"""Pure: the OpenAPI document of one endpoint, from the tensors of its models."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

Schema = dict[str, Any]

NUMBERS: Final = {"FP16", "BF16", "FP32", "FP64"}


@dataclass(frozen=True, slots=True)
class ServedModel:
    """``inputs`` and ``outputs`` as registered: name, datatype, shape without the batch axis."""

    name: str
    max_batch_size: int
    inputs: tuple[dict[str, Any], ...]
    outputs: tuple[dict[str, Any], ...]


def document(
    endpoint: str, scoring_uri: str, version: str, models: Iterable[ServedModel]
) -> Schema:
    """OpenAPI 3.1 of what clients may call below the scoring URI: KServe v2 over HTTP."""
    paths: Schema = {
        "/v2/health/ready": {"get": _plain("ready", "200 when it can answer")},
        "/v2": {"get": _plain("server_metadata", "name and extensions of the server")},
    }
    schemas: Schema = {"Error": _object({"error": {"type": "string"}}, ["error"])}
    for model in models:
        base = f"/v2/models/{model.name}"
        paths[base] = {"get": _plain(f"{model.name}_metadata", "its tensors")}
        paths[f"{base}/ready"] = {"get": _plain(f"{model.name}_ready", "200 when it can answer")}
        paths[f"{base}/infer"] = {"post": _infer(model)}
        schemas[f"{model.name}.Request"] = _request(model)
        schemas[f"{model.name}.Response"] = _response(model)
    return {
        "openapi": "3.1.0",
        "info": {"title": endpoint, "version": version},
        "servers": [{"url": scoring_uri.rstrip("/")}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "a key of the endpoint, or a token where it asks for tokens",
                }
            },
        },
    }


def _plain(name: str, description: str) -> Schema:
    return {"operationId": name, "responses": {"200": {"description": description}, **_failures()}}


def _failures() -> Schema:
    told = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "401": {"description": "the key is missing or wrong", "content": told},
        "404": {"description": "no such model, or no deployment has traffic", "content": told},
    }


def _infer(model: ServedModel) -> Schema:
    def content(kind: str) -> Schema:
        return {
            "application/json": {"schema": {"$ref": f"#/components/schemas/{model.name}.{kind}"}}
        }

    return {
        "operationId": f"{model.name}_infer",
        "requestBody": {"required": True, "content": content("Request")},
        "responses": {
            "200": {"description": "the outputs", "content": content("Response")},
            "400": {
                "description": "the tensors do not fit the model",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
            **_failures(),
        },
    }


def _request(model: ServedModel) -> Schema:
    required = sum(not spec.get("optional") for spec in model.inputs)
    return _object(
        {
            "id": {"type": "string"},
            "inputs": {
                "type": "array",
                "minItems": required,
                "items": {"oneOf": [_tensor(spec, model.max_batch_size) for spec in model.inputs]},
            },
            "outputs": {
                "type": "array",
                "items": _object(
                    {"name": {"enum": [spec["name"] for spec in model.outputs]}}, ["name"]
                ),
            },
        },
        ["inputs"],
    )


def _response(model: ServedModel) -> Schema:
    outputs = [_tensor(spec, model.max_batch_size) for spec in model.outputs]
    return _object(
        {
            "model_name": {"const": model.name},
            "model_version": {"type": "string"},
            "outputs": {"type": "array", "items": {"oneOf": outputs} if outputs else {}},
        },
        ["model_name", "outputs"],
    )


def _tensor(spec: dict[str, Any], max_batch_size: int) -> Schema:
    axes: list[Schema] = []
    if max_batch_size > 0:
        axes.append({"type": "integer", "minimum": 1, "maximum": max_batch_size})
    axes += [{"const": axis} if axis >= 0 else {"type": "integer"} for axis in spec["shape"]]
    return _object(
        {
            "name": {"const": spec["name"]},
            "datatype": {"const": spec["datatype"]},
            "shape": {
                "type": "array",
                "prefixItems": axes,
                "minItems": len(axes),
                "maxItems": len(axes),
            },
            "data": {
                "type": "array",
                "description": "row by row; flat or nested",
                "items": {"anyOf": [_value(str(spec["datatype"])), {"type": "array"}]},
            },
        },
        ["name", "datatype", "shape", "data"],
    )


def _value(datatype: str) -> Schema:
    if datatype == "BOOL":
        return {"type": "boolean"}
    if datatype == "BYTES":
        return {"type": "string"}
    return {"type": "number" if datatype in NUMBERS else "integer"}


def _object(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required}
