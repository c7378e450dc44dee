"""Every problem says what to try: no class of errors and no code goes without a hint."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from rest_framework import exceptions as drf

import controlplane
import controlplane.config.urls  # loads every view, and with it every class of errors
from controlplane.core import http, rest_exceptions
from controlplane.core.errors import DomainError
from controlplane.registry.errors import IMPORT_HINTS

SOURCES = sorted(Path(controlplane.__file__).parent.rglob("*.py"))
# Programs that talk to the control plane and answer nobody.
CALLERS = {"gateway/agent.py"}
# What is told of something that went well, not an error.
TOLD = {"Arranged"}


def kinds(kind: type[DomainError] = DomainError) -> Iterator[type[DomainError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


def calls_with_a_code() -> Iterator[tuple[str, int, str, bool]]:
    """Where, which code, and whether hints stand beside it."""
    for source in SOURCES:
        name = source.relative_to(Path(controlplane.__file__).parent).as_posix()
        if name in CALLERS:
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if not isinstance(node, ast.Call):
                continue
            words = {word.arg: word.value for word in node.keywords}
            code = words.get("code")
            if isinstance(code, ast.Constant) and code.value not in TOLD:
                yield name, node.lineno, str(code.value), "hints" in words


def place(kind: type[DomainError]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


@pytest.mark.parametrize(
    "kind",
    sorted({k for k in kinds() if place(k).startswith("controlplane.")}, key=place),
    ids=place,
)
def test_a_class_of_errors_has_a_hint(kind: type[DomainError]) -> None:
    assert "tries" in vars(kind), f"{place(kind)}: what to try?"
    assert all(hint.strip() and hint.endswith((".", "?", ")")) for hint in kind.tries)
    assert kind.tries


@pytest.mark.parametrize(
    ("place", "line", "code", "hinted"), list(calls_with_a_code()), ids=lambda part: str(part)
)
def test_a_code_that_is_given_in_place_has_a_hint(
    place: str, line: int, code: str, hinted: bool
) -> None:
    assert hinted or code in http.HINTS or code in IMPORT_HINTS, (
        f"{place}:{line} {code}: what to try?"
    )


@pytest.mark.parametrize("code", sorted({*rest_exceptions.DRF_CODES.values(), "Error"}))
def test_what_the_framework_refuses_has_a_hint(code: str) -> None:
    assert http.HINTS[code]


@pytest.mark.parametrize(
    "error",
    [drf.APIException("x"), drf.ValidationError("x"), drf.Throttled(), DomainError("x")],
    ids=lambda error: type(error).__name__,
)
def test_it_reaches_the_answer(error: Exception) -> None:
    from django.test import RequestFactory

    answer = rest_exceptions.exception_handler(
        error, {"request": RequestFactory().get("/api/v1/x")}
    )
    assert answer is not None
    assert b'"hints": [""' not in answer.content
    assert b'"hints": []' not in answer.content
