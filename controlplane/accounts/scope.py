"""The one gate of projects: whose rows the code that runs now may see, change and make.

``RolePermission`` says it for a request, and the managers of all rows that belong to a project keep
to it, so that no view, selector or service has to. Where people ask (``core.paths``) it is shut
until then.

Outside of requests it is open: jobs, agents and the host's own command line act for nobody.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Final, Protocol, TypeVar, cast

from django.db import models
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseBase

from controlplane.core.paths import ASKED_BY_PEOPLE

Scope = frozenset[str] | None  # names of projects; None: all there are, and will be
NOTHING: Final[Scope] = frozenset()
_scope: ContextVar[Scope] = ContextVar("projects", default=None)

Row = TypeVar("Row", bound=models.Model)


def scope_now() -> Scope:
    return _scope.get()


def scope_enter(scope: Scope) -> None:
    """Until the request has been answered."""
    _scope.set(scope)


@contextmanager
def within(scope: Scope) -> Iterator[None]:
    before = _scope.get()
    _scope.set(scope)
    try:
        yield
    finally:
        # why no token: a view may have run in a copy of this context, to which it would not belong
        _scope.set(before)


class OutOfScope(RuntimeError):
    """Our own mistake: a row would have been written into a project that is not the caller's."""


def scope_check(project: str) -> None:
    """Raises OutOfScope."""
    scope = _scope.get()
    if scope is not None and project not in scope:
        raise OutOfScope(f"A row for the project {project!r}, within {sorted(scope)}.")


class _Scoped(Protocol):
    project_paths: ClassVar[tuple[str, ...]]


class ScopedManager(models.Manager[Row]):
    """Rows of the projects that the code that runs now may see.

    The model says by ``project_paths`` where a row's project stands: any of them, never through a
    relation to many rows.
    """

    # why no arguments: Django makes managers of related rows without any

    def get_queryset(self) -> QuerySet[Row]:
        rows = super().get_queryset()
        scope = _scope.get()
        if scope is None:
            return rows
        wanted = Q()
        for path in cast(_Scoped, self.model).project_paths:
            wanted |= Q(**{f"{path}__in": scope})
        return rows.filter(wanted)


class ProjectScopeMiddleware:
    """Shut for each request of people until somebody has said what it may see."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith(ASKED_BY_PEOPLE):
            answer: HttpResponseBase = self._get_response(request)
            return answer
        with within(NOTHING):
            scoped: HttpResponseBase = self._get_response(request)
            return scoped
