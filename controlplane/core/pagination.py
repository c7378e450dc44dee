"""Lists in pages: a keyset cursor over an ordered queryset, stable while rows come and go."""

import base64
import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import SimpleTemplateResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema_serializer
from rest_framework import serializers

from controlplane.core.errors import Invalid
from controlplane.core.validation_messages import shown

RowT = TypeVar("RowT", bound=Model)
ItemT = TypeVar("ItemT")
DEFAULT_LIMIT = 50
MAX_LIMIT = 500

PAGE_PARAMETERS = [
    OpenApiParameter("limit", int, description=f"1 to {MAX_LIMIT}, default {DEFAULT_LIMIT}"),
    OpenApiParameter("cursor", str, description="`next_cursor` of the page before"),
    OpenApiParameter("q", str, description="Only items whose name contains this"),
]


# Which list is asked for, with its filters and order: a cursor of another would skip rows unseen.
_list: ContextVar[str] = ContextVar("list", default="")
NO_FILTERS = frozenset({"cursor", "limit"})


@dataclass(frozen=True)
class Page(Generic[ItemT]):
    items: Sequence[ItemT]
    next_cursor: str | None


class PageQuery(serializers.Serializer[Any]):
    """What every list understands in its query string."""

    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = serializers.CharField(required=False, default="", allow_blank=True)
    q = serializers.CharField(required=False, default="", allow_blank=True)


class PagesMiddleware:
    """Says which list cursors are made for and read by, and adds `Link: <...>; rel="next"` to every
    page but the last, for clients that follow links."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> None:
        """Django's hook before a view, in the view's own context."""
        del view, args, kwargs
        _list.set(_mark_of(request))

    def process_template_response(
        self, request: HttpRequest, response: SimpleTemplateResponse
    ) -> SimpleTemplateResponse:
        """Django's hook for answers that are not rendered yet: DRF's, which have ``data``."""
        body = getattr(response, "data", None)
        cursor = body.get("next_cursor") if isinstance(body, Mapping) else None
        # why of reads alone: what is asked in a body has its cursor there, and no link could say so
        if cursor and request.method in ("GET", "HEAD"):
            query = QueryDict(request.META.get("QUERY_STRING", ""), mutable=True)
            query["cursor"] = str(cursor)
            response["Link"] = f'<{request.path}?{query.urlencode()}>; rel="next"'
        return response


def paginate(
    rows: QuerySet[RowT], *, limit: int = DEFAULT_LIMIT, cursor: str = "", order: Sequence[str]
) -> Page[RowT]:
    """One page of ``rows`` ordered by ``order`` (field names, ``-`` for falling).

    The last field of ``order`` must be unique, and none may be null.
    Raises Invalid for a cursor that was not made by the same list.
    """
    if cursor:
        try:
            rows = rows.filter(_after(order, _decode(cursor, len(order))))
        except (TypeError, ValueError, ValidationError) as error:
            raise _of_another_list() from error
    found = list(rows.order_by(*order)[: limit + 1])
    if len(found) <= limit:
        return Page(found, None)
    last = found[limit - 1]
    return Page(found[:limit], _encode([getattr(last, name.lstrip("-")) for name in order]))


def paginate_values(
    values: Iterable[ItemT],
    *,
    limit: int = DEFAULT_LIMIT,
    cursor: str = "",
    key: Callable[[ItemT], tuple[str, ...]],
) -> Page[ItemT]:
    """The same for values that are in memory, ordered by ``key``, which no two of them share.

    Raises Invalid for a cursor that was not made by the same list.
    """
    found = sorted(values, key=key)
    if cursor and found:
        after = tuple(_decode(cursor, len(key(found[0]))))
        if not all(isinstance(part, str) for part in after):
            raise _of_another_list()
        found = found[bisect_right(found, after, key=key) :]
    if len(found) <= limit:
        return Page(found, None)
    return Page(found[:limit], _encode(list(key(found[limit - 1]))))


def _after(order: Sequence[str], values: Sequence[Any]) -> Q:
    """Rows behind ``values``: a later first field, or an equal one and a later second, etc."""
    condition = Q(pk__in=[])
    equal = Q()
    for name, value in zip(order, values, strict=True):
        field = name.lstrip("-")
        step = "lt" if name.startswith("-") else "gt"
        condition |= equal & Q(**{f"{field}__{step}": value})
        equal &= Q(**{field: value})
    return condition


def _mark_of(request: HttpRequest) -> str:
    filters = sorted(
        (name, value) for name, value in request.GET.items() if value and name not in NO_FILTERS
    )
    return hashlib.sha256(json.dumps([request.path, filters]).encode()).hexdigest()[:8]


def _encode(values: list[Any]) -> str:
    plain = [v if isinstance(v, (int, str)) else str(v) for v in values]
    text = json.dumps([_list.get(), *plain])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str, length: int) -> list[Any]:
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError as error:
        raise Invalid(
            f"cursor: {shown(cursor)} is none that a list gave out.",
            field="cursor",
            hints=("Send `next_cursor` as it came, or leave `cursor` out to begin anew.",),
        ) from error
    plain = isinstance(values, list) and all(isinstance(value, (int, str)) for value in values)
    if not plain or len(values) != length + 1 or values[0] != _list.get():
        raise _of_another_list()
    return list(values[1:])


def _of_another_list() -> Invalid:
    return Invalid(
        "cursor: it belongs to another list, or to this one with other filters or another order.",
        field="cursor",
        hints=(
            "Send `next_cursor` with the same path and filters as the page that had it.",
            "Leave `cursor` out to begin anew.",
        ),
    )


def page_of(item: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """The output serializer of a list of ``item``, named ``<Item>Page`` in the OpenAPI document."""
    name = item.__name__.removesuffix("Serializer").removesuffix("Output")
    page = type(
        f"{name}PageSerializer",
        (serializers.Serializer,),
        {
            "items": item(many=True),
            "next_cursor": serializers.CharField(allow_null=True),
        },
    )
    return extend_schema_serializer(component_name=f"{name}Page")(page)
