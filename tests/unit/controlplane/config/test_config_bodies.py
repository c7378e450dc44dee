"""Every route of the OpenAPI document that takes JSON refuses what cannot be kept, by name."""

import json
import re
from functools import cache
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.config.openapi_examples import EXAMPLES

DEEP = json.loads("[" * 150 + "]" * 150)
BAD: dict[str, tuple[dict[str, Any], str | None]] = {
    "U+0000": ({"description": "a\0b"}, "description"),
    "U+0000 in a name": ({"tags": {"a\0b": "x"}}, "tags"),
    "half a pair of surrogates": ({"tags": {"team": ["\ud800"]}}, "tags.team.0"),
    "nested too deeply": ({"data": DEEP}, None),
    "an unknown name": ({"no_such_setting": 1}, "no_such_setting"),
}


@cache
def routes() -> list[tuple[str, str, str]]:
    """Method, path with something for each variable, and the name of the body's schema."""
    document: dict[str, Any] = SchemaGenerator().get_schema(public=True)
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in content:
                continue
            numbers = {
                parameter["name"]
                for parameter in operation["parameters"]
                if parameter["schema"].get("type") == "integer"
            }
            filled = path
            for name in re.findall(r"\{(\w+)\}", path):
                value = "1" if name in numbers else "some-name"
                filled = filled.replace(f"{{{name}}}", value)
            schema = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
            found.append((method, filled, schema))
    return found


@pytest.fixture
def asker(admin: User) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.force_authenticate(admin)
    return client


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("route", routes(), ids=lambda route: f"{route[0]} {route[1]}")
def test_it_is_a_problem_that_names_the_field(
    asker: APIClient, route: tuple[str, str, str], bad: str
) -> None:
    method, path, schema = route
    more, field = BAD[bad]
    text = json.dumps({**EXAMPLES[schema], **more})
    answer = asker.generic(method.upper(), path, text, content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert (body["code"], body["field"]) == ("BadArgument", field)
    assert body["hints"]


@pytest.mark.parametrize("route", routes(), ids=lambda route: f"{route[0]} {route[1]}")
def test_a_path_and_a_query_as_well(asker: APIClient, route: tuple[str, str, str]) -> None:
    method, path, schema = route
    for place, field in ((f"{path}%00", "path"), (f"{path}?q=%00", "q")):
        answer = asker.generic(
            method.upper(), place, json.dumps(EXAMPLES[schema]), content_type="application/json"
        )
        assert (answer.status_code, answer.json()["field"]) == (400, field)


SWAPPED: dict[str, Any] = {"boolean": 12.5, "object": 12.5, "array": 12.5}


@cache
def settings() -> list[tuple[str, str, str, str, Any]]:
    """Method, path, body's schema, one of its names, and a value of another type."""
    document: dict[str, Any] = SchemaGenerator().get_schema(public=True)
    found = []
    for method, path, schema in routes():
        for name, spec in document["components"]["schemas"][schema]["properties"].items():
            kinds = spec.get("type", "string")
            kind = next(iter(set(kinds) - {"null"})) if isinstance(kinds, list) else kinds
            found.append((method, path, schema, name, SWAPPED.get(kind, True)))
    return found


@pytest.mark.parametrize("setting", settings(), ids=lambda s: f"{s[0]} {s[1]} {s[3]}")
def test_a_wrong_value_is_told_with_what_was_expected(
    asker: APIClient, setting: tuple[str, str, str, str, Any]
) -> None:
    method, path, schema, name, wrong = setting
    text = json.dumps({**EXAMPLES[schema], name: wrong})
    answer = asker.generic(method.upper(), path, text, content_type="application/json")
    body = answer.json()
    assert (answer.status_code, body["field"]) == (400, name), body
    shown = "a value" if name in HIDDEN else json.dumps(wrong)
    assert body["detail"].startswith(f"{name}: {shown}"), body["detail"]
    assert "expected " in body["detail"]
    assert body["hints"]


HIDDEN = {
    "password", "old_password", "new_password", "token", "environment", "secret_environment",
    "secret",
}  # fmt: skip
