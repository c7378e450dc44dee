"""The names in a query string: a route knows those that its OpenAPI document lists, once each
unless they are lists there.

One place for every route, from the same declaration as the document, so that neither forgets one.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.views import APIView

from controlplane.core.errors import Invalid
from controlplane.core.http import domain_problem
from controlplane.core.requests import hint_about
from controlplane.core.validation_messages import MOST_SHOWN

OPEN: Final = "{key}"  # ends a name that stands for many, as ``tag.{key}``
LISTS: Final = (serializers.ListField, serializers.MultipleChoiceField)
SAFE: Final = {"head": "get"}


class KnownQueryMiddleware:
    """400 for a parameter that the route does not know, or that comes twice and is no list.

    Ignoring a misspelled filter would answer with everything, ignoring ``?dry_rum=true`` would do
    it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> HttpResponse | None:
        """Django's hook before a view."""
        del args, kwargs
        kind = getattr(view, "cls", None)
        known = names_known(kind, (request.method or "").lower()) if kind is not None else None
        if known is None or not request.GET:
            return None
        try:
            names_check(request.GET.lists(), known)
        except Invalid as error:
            return domain_problem(error, request.path)
        return None


@cache
def names_known(kind: type[APIView], method: str) -> dict[str, bool] | None:
    """Query parameters as the document has them, sorted, and whether each may come several times.

    None: the document has no such route.
    """
    handler = getattr(kind, SAFE.get(method, method), None)
    schema = getattr(handler, "kwargs", {}).get("schema")
    if schema is None:
        return None
    inspector = schema()
    view = kind()
    view.request, view.kwargs = None, {}  # type: ignore[assignment] # there is no request yet
    inspector.view = view
    found: dict[str, bool] = {}
    for parameter in inspector.get_override_parameters():
        if not isinstance(parameter, OpenApiParameter):
            fields = parameter().fields.items()
            found.update({name: isinstance(field, LISTS) for name, field in fields})
        elif parameter.location == OpenApiParameter.QUERY:
            found[parameter.name] = bool(parameter.many)
    return dict(sorted(found.items()))


def names_check(given: Iterable[tuple[str, list[Any]]], known: Mapping[str, bool]) -> None:
    """Raises Invalid for a name that is not ``known``, and for one that comes several times where
    it may not."""
    open_names = tuple(name.removesuffix(OPEN) for name in known if name.endswith(OPEN))
    for name, values in given:
        is_open = open_names and name.startswith(open_names) and name not in open_names
        if name not in known and not is_open:
            raise Invalid(
                f"{name[:MOST_SHOWN]!r} is no query parameter of this route.",
                field=name[:MOST_SHOWN],
                hints=hint_about(name, tuple(known))
                if known
                else ("It takes none: leave it out.",),
            )
        if len(values) > 1 and not known.get(name):
            raise Invalid(
                f"{name} is given {len(values)} times, expected once.",
                field=name,
                hints=("Leave all but one of them out.",),
            )
