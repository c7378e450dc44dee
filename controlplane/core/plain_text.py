"""Texts that every database can keep, in paths and queries already."""

from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest, HttpResponse

from controlplane.core.errors import Invalid
from controlplane.core.http import domain_problem

NUL: Final = "\0"


def check_text(text: str, field: str, *, what: str = "a text") -> None:
    """Raises Invalid for U+0000 and for half of a surrogate pair, naming the field."""
    wrong = next((char for char in text if char == NUL or "\ud800" <= char <= "\udfff"), None)
    if wrong is None:
        return
    place = field or "the body"
    raise Invalid(
        f"{place}: {what} has the character U+{ord(wrong):04X}, which cannot be kept.",
        field=field or None,
        hints=("Leave this character out.",),
    )


class PlainTextMiddleware:
    """Refuses a path or a query with U+0000, and a query that is no UTF-8, before anything reads
    them: what would be a database's or a file system's own failure is a 400 that says where."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            check_text(request.path, "path")
            for name, value in _query_parts(request.META.get("QUERY_STRING", "")):
                check_text(name, "query", what="a name")
                check_text(value, name)
        except Invalid as error:
            return domain_problem(error, request.path.replace(NUL, "%00"))
        return self.get_response(request)


def _query_parts(query: str) -> Iterator[tuple[str, str]]:
    if "%" not in query and NUL not in query:
        return
    for part in query.split("&"):
        name, _, value = part.partition("=")
        yield _decoded(name, "query"), _decoded(value, name)


def _decoded(text: str, field: str) -> str:
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            f"{field}: not UTF-8: {error.reason}.",
            field=field,
            hints=("Escape the bytes of its UTF-8 text, as in `?q=%C3%A9`.",),
        ) from error
