"""Failures of REST framework's views as problems; ``core.http`` has those of Django's own.

Apart, because background jobs and middlewares answer with problems and need no REST framework.
"""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from rest_framework import exceptions as drf
from rest_framework.views import exception_handler as drf_exception_handler

from controlplane.core import errors, http

DRF_CODES: dict[type[drf.APIException], str] = {
    drf.ValidationError: "BadArgument",
    drf.ParseError: "BadRequest",
    drf.AuthenticationFailed: "Unauthenticated",
    drf.NotAuthenticated: "Unauthenticated",
    drf.PermissionDenied: "Forbidden",
    drf.NotFound: "ResourceNotFound",
    drf.MethodNotAllowed: "MethodNotAllowed",
    drf.NotAcceptable: "NotAcceptable",
    drf.UnsupportedMediaType: "UnsupportedMediaType",
    drf.Throttled: "RateLimited",
}


def exception_handler(exc: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """DRF's hook. None (an unforeseen failure) lets Django log it and answer ``server_error``."""
    path = context["request"].path
    if isinstance(exc, errors.DomainError):
        return http.domain_problem(exc, path)
    if isinstance(exc, http.DATABASE_LOST):
        return http.database_problem(exc, path)
    if isinstance(exc, Http404):
        exc = drf.NotFound("Not found.")
    elif isinstance(exc, PermissionDenied):
        exc = drf.PermissionDenied()
    if not isinstance(exc, drf.APIException):
        return None
    handled = drf_exception_handler(exc, context)
    field, detail = _first_message(exc.detail)
    code = next((DRF_CODES[kind] for kind in type(exc).__mro__ if kind in DRF_CODES), "Error")
    response = http.problem_response(
        exc.status_code,
        code=code,
        detail=detail,
        instance=path,
        field=field,
        extra={"errors": exc.detail} if isinstance(exc, drf.ValidationError) else None,
    )
    for name, value in handled.items() if handled is not None else ():
        if name.lower() in {"www-authenticate", "retry-after", "allow"}:
            response[name] = value
    return response


def _first_message(detail: Any, path: tuple[str, ...] = ()) -> tuple[str | None, str]:
    """The first message in DRF's nested detail, with the dotted field that it is about."""
    if isinstance(detail, dict) and detail:
        key, value = next(iter(detail.items()))
        deeper = path if key == "non_field_errors" else (*path, str(key))
        return _first_message(value, deeper)
    if isinstance(detail, list) and detail:
        index = next((i for i, entry in enumerate(detail) if entry), 0)
        deeper = (*path, str(index)) if isinstance(detail[index], (dict, list)) else path
        return _first_message(detail[index], deeper)
    return ".".join(path) or None, str(detail)
