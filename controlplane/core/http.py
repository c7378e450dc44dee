"""The edge: every failure leaves as an RFC 9457 problem, every answer with safe headers.

The one place where the domain's errors meet status codes.
"""

import logging
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse

from controlplane.core import errors
from controlplane.core.paths import ANSWERED_FOR_PROGRAMS
from controlplane.core.request_id import request_id

logger = logging.getLogger(__name__)

DATABASE_LOST = (OperationalError, InterfaceError)
DATABASE_RETRY_S = 5
HSTS_S = 30 * 24 * 3600
CONTENT_TYPE = "application/problem+json"
STATUS: dict[type[errors.DomainError], HTTPStatus] = {
    errors.Invalid: HTTPStatus.BAD_REQUEST,
    errors.Unauthenticated: HTTPStatus.UNAUTHORIZED,
    errors.Forbidden: HTTPStatus.FORBIDDEN,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.PreconditionFailed: HTTPStatus.PRECONDITION_FAILED,
    errors.PayloadTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.RangeUnsatisfiable: HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
    errors.RateLimited: HTTPStatus.TOO_MANY_REQUESTS,
    errors.DiskFull: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
# What to try where an error says nothing better.
HINTS: dict[str, tuple[str, ...]] = {
    "Unauthenticated": ("Sign in again, or send `Authorization: Bearer shoal_...`.",),
    "MethodNotAllowed": ("The header Allow lists the methods that there are.",),
    "UnsupportedMediaType": ("Send JSON, with `Content-Type: application/json`.",),
    "NotAcceptable": ("Ask for `Accept: application/json`.",),
    "BadRequest": ("The body must be JSON as /api/v1/openapi.json describes it.",),
    "BadArgument": ("/api/v1/openapi.json describes what is expected.",),
    "ResourceNotFound": ("Names are spelled as lists show them, and case counts.",),
    "Forbidden": ("Ask somebody whose role allows it, or use a token with more scopes.",),
    "PayloadTooLarge": ("Send files through /api/v1/uploads in chunks.",),
    "Error": ("/api/v1/openapi.json describes what is expected.",),
    "RateLimited": ("Wait as long as the header Retry-After says.",),
    "InternalError": ("Try again; if it stays, look into the log of the web process.",),
    "PreconditionFailed": ("Read it again, then send your change with the new ETag.",),
}


def status_of(error: errors.DomainError) -> HTTPStatus:
    for kind in type(error).__mro__:
        if kind in STATUS:
            return STATUS[kind]
    return HTTPStatus.BAD_REQUEST


def problem(
    status: int,
    *,
    code: str,
    detail: str,
    instance: str,
    hints: tuple[str, ...] = (),
    field: str | None = None,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of an error answer; keys of ``extra`` never replace the standard ones."""
    return {
        **(extra or {}),
        "type": f"urn:shoal:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
        "code": code,
        "hints": list(hints or HINTS.get(code, ())),
        "field": field,
        "request_id": request_id(),
    }


def problem_response(status: int, **parts: Any) -> JsonResponse:
    """A plain Django answer; parts as in ``problem``."""
    return JsonResponse(problem(status, **parts), status=status, content_type=CONTENT_TYPE)


def domain_problem(error: errors.DomainError, instance: str) -> JsonResponse:
    response = problem_response(
        status_of(error),
        code=error.code,
        detail=error.message,
        instance=instance,
        hints=error.hints,
        field=error.field,
        extra=error.extra,
    )
    if isinstance(error, errors.RateLimited) or "retry_after_s" in error.extra:
        response["Retry-After"] = str(error.extra.get("retry_after_s", 1))
    if isinstance(error, errors.RangeUnsatisfiable):
        response["Content-Range"] = f"bytes */{error.extra['size']}"
    if isinstance(error, errors.Unauthenticated):
        response["WWW-Authenticate"] = 'Bearer realm="shoal"'
    return response


def database_problem(error: BaseException, instance: str) -> JsonResponse:
    """503: nothing was written, and what serves does not need the database."""
    logger.error("%s: the database cannot be used: %s", instance, error)
    response = problem_response(
        503,
        code="DatabaseUnavailable",
        detail="The database cannot be reached, so nothing was changed.",
        instance=instance,
        hints=("Send the request again in a moment.", "Endpoints go on answering meanwhile."),
    )
    response["Retry-After"] = str(DATABASE_RETRY_S)
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return problem_response(
        403,
        code="CsrfFailed",
        detail=f"The request was not accepted: {reason}",
        instance=request.path,
        hints=("Reload the page and try again.", "Programs send an API token instead of a cookie."),
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_response(
        400, code="BadRequest", detail=str(exception) or "Bad request.", instance=request.path
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return problem_response(
        403, code="Forbidden", detail=str(exception) or "Not allowed.", instance=request.path
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    del exception  # Django's signature; its text lists every URL pattern
    return problem_response(
        404, code="ResourceNotFound", detail=f"Nothing is at {request.path}.", instance=request.path
    )


def server_error(request: HttpRequest) -> HttpResponse:
    error = sys.exc_info()[1]  # what Django has just caught, in a middleware for instance
    if isinstance(error, DATABASE_LOST):
        return database_problem(error, request.path)
    logger.error("%s failed, request %s", request.path, request_id())
    return problem_response(
        500,
        code="InternalError",
        detail="Something unforeseen went wrong. The log of the web process has the cause.",
        instance=request.path,
    )


class ProblemMiddleware:
    """Domain errors of plain Django views (the agents' API, streams) become problems as well."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, errors.DomainError):
            return domain_problem(exception, request.path)
        if isinstance(exception, DATABASE_LOST):
            return database_problem(exception, request.path)
        if isinstance(exception, RequestDataTooBig):
            return problem_response(
                413, code="PayloadTooLarge", detail=str(exception), instance=request.path
            )
        if isinstance(exception, SuspiciousOperation):
            return bad_request(request, exception)
        return None


class SecurityHeadersMiddleware:
    """Content-Security-Policy and its companions on every answer; nothing of the API is cached.

    It stands outside of the middlewares that set cookies.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault(
            "Content-Security-Policy", content_security_policy(request.get_host())
        )
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault(
            "Permissions-Policy", "camera=(self), geolocation=(), microphone=(), payment=()"
        )
        if request.path.startswith(ANSWERED_FOR_PROGRAMS):
            response.headers.setdefault("Cache-Control", "no-store")
        # why the setting: a proxy that ends TLS need not say so for browsers to be told
        if settings.SHOAL_PUBLIC_URL.startswith("https://"):
            response.headers.setdefault("Strict-Transport-Security", f"max-age={HSTS_S}")
        # why the request too: behind such a proxy the public URL may have been left as it was
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response


def content_security_policy(host: str, *, script_hashes: tuple[str, ...] = ()) -> str:
    """The policy of a page on ``host``; ``script_hashes`` admit inline scripts word by word."""
    scripts = " ".join(["'self'", *(f"'{value}'" for value in script_hashes)])
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src {scripts}",
            # why: the component library and the editor insert style elements at run time.
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            # why: not every browser counts the same host's sockets as 'self'.
            f"connect-src 'self' ws://{host} wss://{host}",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )
