"""``/swagger.json``: what a scoring script takes and gives, in the words of OpenAPI.

A file of that name beside the script is it; else it is made of the decorators of ``run``.
"""

import importlib
import os
from typing import Any, Union

from .http import AMLRequest, Refused

PATH = "/swagger.json"
_FILES = {
    "2": ("swagger.json", "swagger2.json"),
    "2.0": ("swagger.json", "swagger2.json"),
    "3": ("swagger3.json",),
    "3.0": ("swagger3.json",),
    "3.1": ("swagger3.1.json",),
}
_ANY = {"type": "object", "example": {}}
_ERROR = {"type": "object", "properties": {"message": {"type": "string"}}}
_ABOUT = "the data, as run() takes it"
_FAILED = "The script refused the data, or failed."


def document(request: AMLRequest, run: Any, folder: str) -> "Union[str, dict[str, Any]]":
    """A file's text, or what the schema of ``run`` says. Raises Refused for another version."""
    version = request.args.get("version", "2")
    if version not in _FILES:
        known = ", ".join(sorted(_FILES))
        raise Refused(404, f"There is no version {version!r} of {PATH}; expected one of {known}")
    for name in _FILES[version]:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    schema_util = importlib.import_module("inference_schema.schema_util")
    given, found = _ANY, _ANY
    if schema_util.is_schema_decorated(run):
        given, found = schema_util.get_input_schema(run), schema_util.get_output_schema(run)
    if version.startswith("2"):
        return _second(given, found)
    return _third("3.1.0" if version == "3.1" else "3.0.3", given, found)


def _second(given: "dict[str, Any]", found: "dict[str, Any]") -> "dict[str, Any]":
    body = {"name": "serviceInputPayload", "in": "body", "description": _ABOUT}
    return {
        "swagger": "2.0",
        "info": _INFO,
        "schemes": ["https"],
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "securityDefinitions": {
            "Bearer": {"type": "apiKey", "name": "Authorization", "in": "header"}
        },
        "paths": {
            "/score": {
                "post": {
                    "operationId": "RunMLService",
                    "security": [{"Bearer": []}],
                    "parameters": [{**body, "schema": {"$ref": "#/definitions/ServiceInput"}}],
                    "responses": {
                        "200": {
                            "description": "What run() returned.",
                            "schema": {"$ref": "#/definitions/ServiceOutput"},
                        },
                        "default": {
                            "description": _FAILED,
                            "schema": {"$ref": "#/definitions/ErrorResponse"},
                        },
                    },
                }
            }
        },
        "definitions": {"ServiceInput": given, "ServiceOutput": found, "ErrorResponse": _ERROR},
    }


def _third(version: str, given: "dict[str, Any]", found: "dict[str, Any]") -> "dict[str, Any]":
    def content(name: str) -> "dict[str, Any]":
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}

    return {
        "openapi": version,
        "info": _INFO,
        "security": [{"Bearer": []}],
        "paths": {
            "/score": {
                "post": {
                    "operationId": "RunMLService",
                    "requestBody": {"description": _ABOUT, "content": content("ServiceInput")},
                    "responses": {
                        "200": {
                            "description": "What run() returned.",
                            "content": content("ServiceOutput"),
                        },
                        "default": {"description": _FAILED, "content": content("ErrorResponse")},
                    },
                }
            }
        },
        "components": {
            "securitySchemes": {"Bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {"ServiceInput": given, "ServiceOutput": found, "ErrorResponse": _ERROR},
        },
    }


_INFO = {"title": "ML service", "description": "A scoring script.", "version": "1.0"}
