"""Every failure leaves as a problem, every answer with safe headers."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from rest_framework import exceptions as drf
from rest_framework.test import APIClient

from controlplane.core import errors, http, rest_exceptions


def answer_to(error: Exception) -> HttpResponse:
    request = RequestFactory().get("/api/v1/things")
    answer = rest_exceptions.exception_handler(error, {"request": request, "view": None})
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.Invalid("x"), 400, "BadArgument"),
        (errors.Unauthenticated("x"), 401, "Unauthenticated"),
        (errors.Forbidden("x"), 403, "Forbidden"),
        (errors.NotFound("x"), 404, "ResourceNotFound"),
        (errors.Conflict("x", code="InUse"), 409, "InUse"),
        (errors.PayloadTooLarge("x"), 413, "UploadTooLarge"),
        (errors.RateLimited("x"), 429, "RateLimited"),
        (errors.Unavailable("x"), 503, "Unavailable"),
        (errors.DiskFull("x"), 507, "DiskFull"),
        (drf.ValidationError({"name": ["too long"]}), 400, "BadArgument"),
        (drf.ParseError("not JSON"), 400, "BadRequest"),
        (drf.NotAuthenticated(), 401, "Unauthenticated"),
        (drf.MethodNotAllowed("PUT"), 405, "MethodNotAllowed"),
        (drf.UnsupportedMediaType("text/plain"), 415, "UnsupportedMediaType"),
        (Http404(), 404, "ResourceNotFound"),
        (PermissionDenied(), 403, "Forbidden"),
    ],
)
def test_each_kind_of_error_has_its_status_and_code(
    error: Exception, status: int, code: str
) -> None:
    answer = answer_to(error)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    body = client_json(answer)
    assert (body["status"], body["code"], body["instance"]) == (status, code, "/api/v1/things")
    assert body["title"]
    assert body["detail"]
    assert body["hints"]


def client_json(answer: HttpResponse) -> dict[str, object]:
    import json

    return dict(json.loads(answer.content))


def test_hints_field_and_extra_reach_the_client_but_cannot_replace_the_rest() -> None:
    error = errors.Conflict(
        "busy", hints=("wait",), field="name", extra={"offset": 5, "status": 200, "code": "Fine"}
    )
    body = client_json(answer_to(error))
    assert (body["hints"], body["field"], body["offset"]) == (["wait"], "name", 5)
    assert (body["status"], body["code"]) == (409, "Conflict")


def test_the_wait_is_also_a_header() -> None:
    assert answer_to(errors.RateLimited("x", extra={"retry_after_s": 7}))["Retry-After"] == "7"


@pytest.mark.parametrize(
    ("detail", "field", "message"),
    [
        ({"name": ["too long"]}, "name", "too long"),
        ({"a": {"b": ["bad"]}}, "a.b", "bad"),
        ({"items": [{}, {"size": ["negative"]}]}, "items.1.size", "negative"),
        ({"non_field_errors": ["both"]}, None, "both"),
        (["plain"], None, "plain"),
    ],
)
def test_the_first_complaint_names_its_field(
    detail: object, field: str | None, message: str
) -> None:
    body = client_json(answer_to(drf.ValidationError(detail)))  # type: ignore[arg-type]
    assert (body["field"], body["detail"]) == (field, message)


def test_an_unforeseen_error_is_left_to_djangos_log() -> None:
    request = RequestFactory().get("/api/v1/things")
    assert rest_exceptions.exception_handler(KeyError("x"), {"request": request}) is None
    answer = http.server_error(request)
    assert answer.status_code == 500
    assert "KeyError" not in answer.content.decode()


@pytest.mark.parametrize("kind", [OperationalError, InterfaceError])
def test_a_lost_database_is_a_503_wherever_it_shows(kind: type[Exception]) -> None:
    request = RequestFactory().put("/api/v1/endpoints/digits/traffic")
    lost = kind("connection refused")
    answers = [
        answer_to(lost),
        http.ProblemMiddleware(lambda _: HttpResponse()).process_exception(request, lost),
    ]
    try:
        raise lost
    except kind:
        answers.append(http.server_error(request))
    for answer in answers:
        assert answer is not None
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert client_json(answer)["code"] == "DatabaseUnavailable"


def test_a_plain_views_domain_error_becomes_a_problem() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    answer = http.ProblemMiddleware(view).process_exception(
        RequestFactory().get("/agent/v1/desired"), errors.NotFound("no such node")
    )
    assert answer is not None
    assert answer.status_code == 404
    ignored = http.ProblemMiddleware(view).process_exception(
        RequestFactory().get("/"), KeyError("x")
    )
    assert ignored is None


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/agent/v1/nothing", "/assets/none.js"])
def test_an_unknown_path_outside_the_studio_is_a_problem(db: None, path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "ResourceNotFound"


def test_a_method_that_is_not_there_is_a_problem(api: APIClient) -> None:
    answer = api.put("/api/v1/models", {}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (405, "MethodNotAllowed")
    assert "GET" in answer["Allow"]


def test_a_body_that_is_no_json_is_a_problem(api: APIClient) -> None:
    answer = api.post("/api/v1/models", "{", content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "BadRequest")


def test_every_answer_carries_safe_headers(db: None) -> None:
    answer = Client().get("/api/v1/session")
    policy = answer["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "connect-src 'self' ws://testserver wss://testserver" in policy
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cache-Control"] == "no-store"


def test_a_host_that_is_not_ours_is_refused_as_a_problem(db: None) -> None:
    answer = Client().get("/api/v1/session", headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
