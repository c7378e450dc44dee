"""The OpenAPI document: every failure told, an example for every body that fits its schema."""

from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from drf_spectacular.generators import SchemaGenerator

from controlplane.config.openapi_examples import EXAMPLES


@cache
def document() -> dict[str, Any]:
    return dict(SchemaGenerator().get_schema(public=True))


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


def bodies() -> set[str]:
    return {
        content["schema"]["$ref"].rpartition("/")[2]
        for _, _, operation in operations()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        if "$ref" in content["schema"]
    }


def test_it_is_openapi_3_1_and_operations_have_names_of_their_own() -> None:
    assert document()["openapi"] == "3.1.0"
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))


def test_every_body_has_an_example_and_no_example_is_left_over() -> None:
    assert bodies() == set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_fits_its_schema(name: str) -> None:
    schemas = document()["components"]["schemas"]
    assert schemas[name]["example"] == EXAMPLES[name]
    properties = schemas[name]["properties"]
    assert set(EXAMPLES[name]) <= set(properties)
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
    jsonschema_rs.validator_for(schema).validate(EXAMPLES[name])


def test_a_field_with_a_default_may_be_left_out_of_a_request_but_is_in_every_answer() -> None:
    schemas = document()["components"]["schemas"]
    assert {"gpus", "cache_idle_bytes", "labels"} <= set(schemas["NodeInfo"]["required"])
    assert "temperature_c" in schemas["Gpu"]["required"]
    assert "version" not in schemas["DeployInputRequest"]["required"]


def test_every_failure_is_a_problem() -> None:
    wrong = [
        (path, method, status)
        for path, method, operation in operations()
        for status, response in operation["responses"].items()
        if status >= "400" and list(response["content"]) != ["application/problem+json"]
    ]
    assert wrong == []


def test_what_needs_credentials_says_how_it_refuses() -> None:
    untold = [
        (path, method)
        for path, method, operation in operations()
        if operation.get("security") and not {"401", "403"} <= set(operation["responses"])
    ]
    assert untold == []


def test_writes_take_an_idempotency_key() -> None:
    def takes_one(operation: dict[str, Any]) -> bool:
        return any(p["name"] == "Idempotency-Key" for p in operation.get("parameters", []))

    assert {
        (method, path) for path, method, o in operations() if takes_one(o) and method == "get"
    } == set()
    without = {path for path, method, o in operations() if method != "get" and not takes_one(o)}
    # those have offsets, and a baseline is replaced as a whole
    bytes_taken = (
        "/api/v1/uploads/{upload_id}",
        "/api/v1/endpoints/{endpoint}/deployments/{deployment}/data/baseline/file",
    )
    assert all(path.startswith(bytes_taken) for path in without)


@pytest.mark.parametrize("operation", ["session_open", "session_password"])
def test_who_tries_passwords_is_told_that_it_may_have_to_wait(operation: str) -> None:
    (found,) = [found for _, _, found in operations() if found["operationId"] == operation]
    assert {"429", "503"} <= found["responses"].keys()
