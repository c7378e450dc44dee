"""What views need not repeat in the OpenAPI document: how every one of them can fail, and that
answers are complete."""

from typing import Any, Final

from drf_spectacular.openapi import AutoSchema
from rest_framework.fields import empty

Schema = dict[str, Any]

WRITES: Final = frozenset({"post", "put", "patch", "delete"})
PROBLEM: Final = "ProblemDetails"
PROBLEM_SCHEMA: Final[Schema] = {
    "type": "object",
    "description": "RFC 9457. Further fields say more by `code`: `offset`, `operation`, `used_by`, "
    "`errors` per field, and with 412 `etag` and `current`, the resource as it is now.",
    "required": [
        "type",
        "title",
        "status",
        "detail",
        "instance",
        "code",
        "hints",
        "field",
        "request_id",
    ],
    "properties": {
        "type": {"type": "string", "description": "`urn:shoal:problem:<code>`"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "what happened, for people"},
        "instance": {"type": "string", "description": "the path that was asked"},
        "code": {"type": "string", "description": "stable, for programs"},
        "hints": {"type": "array", "items": {"type": "string"}, "description": "what to try"},
        "field": {"type": ["string", "null"], "description": "the input at fault"},
        "request_id": {
            "type": ["string", "null"],
            "description": "as in the header `X-Request-Id`, to be found in the logs",
        },
    },
    "example": {
        "type": "urn:shoal:problem:NameTaken",
        "title": "Conflict",
        "status": 409,
        "detail": "There is an endpoint called digits already.",
        "instance": "/api/v1/endpoints",
        "code": "NameTaken",
        "hints": ["Choose another name, or change the one that is there."],
        "field": "name",
        "request_id": "0b8f7a52-6a2c-4a55-9f0e-1f0f4a6f3f0a",
    },
}
CONTENT: Final[Schema] = {
    "application/problem+json": {"schema": {"$ref": f"#/components/schemas/{PROBLEM}"}}
}
WORDS: Final = {
    "400": "the input breaks a rule; `field` names it",
    "401": "no credentials, or none that are valid any more",
    "403": "the role, or the token's scopes, do not allow this",
    "404": "what the path or the body names does not exist",
    "406": "only JSON can be had here",
    "409": "it exists already, or its state forbids this",
    "412": "it was changed since it was read",
    "413": "the body is too large",
    "415": "the body is of another type than the one documented",
    "416": "the file ends before the range that was asked for; `Content-Range` has its size",
    "422": "`IdempotencyKeyReused`: this key was used for another request",
    "503": "a neighbour cannot be reached now; nothing was changed",
}
IDEMPOTENCY_KEY: Final[Schema] = {
    "in": "header",
    "name": "Idempotency-Key",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "the same request sent twice under one key is done once, and answered twice",
}


class CompleteAnswers(AutoSchema):
    """A field with a default may be left out of a request, but is in every answer: the serializer
    fills it in."""

    def _map_basic_serializer(self, serializer: Any, direction: str) -> Schema:
        schema: Schema = super()._map_basic_serializer(  # type: ignore[no-untyped-call]
            serializer, direction
        )
        if direction == "response":
            fields = serializer.fields.items()
            filled = {name for name, field in fields if field.default is not empty}
            if filled:
                schema["required"] = sorted(filled.union(schema.get("required", ())))
        return schema


def problems_told(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """A hook of drf-spectacular: the failures that follow from what an operation takes."""
    del generator, request, public
    result["components"]["schemas"][PROBLEM] = PROBLEM_SCHEMA
    for methods in result["paths"].values():
        for method, operation in methods.items():
            _complete(method, operation)
    return result


def _complete(method: str, operation: Schema) -> None:
    responses = operation["responses"]
    for status in _possible(method, operation):
        responses.setdefault(status, {"description": WORDS[status]})
    for status, response in responses.items():
        if status >= "400":
            response["content"] = CONTENT
    operation["responses"] = dict(sorted(responses.items()))
    body = operation.get("requestBody", {}).get("content", {})
    if method in WRITES and (not body or "application/json" in body):
        operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)


def _possible(method: str, operation: Schema) -> set[str]:
    places = {parameter["in"] for parameter in operation.get("parameters", [])}
    names = {parameter["name"] for parameter in operation.get("parameters", [])}
    body = "requestBody" in operation
    found = {"400", "406", "503"}
    if operation.get("security"):
        found |= {"401", "403"}
    if "path" in places or body:
        found.add("404")
    if body:
        found |= {"413", "415"}
    if method in WRITES:
        found |= {"409", "422"}
    if "Range" in names:
        found.add("416")
    if "If-Match" in names:
        found.add("412")
    return found
