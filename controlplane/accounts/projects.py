"""Reads of projects, and which of them something new goes into."""

from collections.abc import Callable, Mapping

from django.db.models import QuerySet

from controlplane.accounts.errors import ProjectArchived, ProjectNotFound
from controlplane.accounts.models import Membership, Project, User
from controlplane.accounts.scope import scope_now
from controlplane.accounts.types import DEFAULT_PROJECT
from controlplane.core.errors import Invalid


def project_list(*, q: str = "", archived: str = "all") -> QuerySet[Project]:
    """Those that the caller may see. ``archived``: "active", "archived" or "all"."""
    rows = Project.objects.all()
    if q:
        rows = rows.filter(name__icontains=q) | rows.filter(display_name__icontains=q)
    return rows if archived == "all" else rows.filter(archived=archived == "archived")


def project_get(name: str) -> Project:
    """Raises ProjectNotFound."""
    row = Project.objects.filter(name=name).first()
    if row is None:
        raise ProjectNotFound(f"There is no project called {name[:60]!r}.", field="project")
    return row


def project_for(name: str) -> str:
    """The name of the project that something new goes into.

    An empty ``name`` is the caller's only project, and the default for whoever may use all.
    Raises ProjectNotFound, ProjectArchived, Invalid where several come into question.
    """
    scope = scope_now()
    if not name and scope is not None and len(scope) > 1:
        raise Invalid(
            "project: missing, and you have a role in several.",
            field="project",
            hints=(f"One of {', '.join(sorted(scope))}.",),
        )
    row = project_get(name or (DEFAULT_PROJECT if scope is None else next(iter(scope))))
    not_archived(row)
    return row.name


def not_archived(row: Project) -> None:
    """Raises ProjectArchived."""
    if row.archived:
        raise ProjectArchived(f"The project {row} is archived.", field="project")


def project_stays(body: object, known: Callable[[], str]) -> None:
    """Whether ``body``, which changes something in the project ``known``, leaves it there: by not
    naming one, or by naming that. Raises Invalid."""
    said = body.get("project") if isinstance(body, Mapping) else None
    if not said:
        return
    project = known()
    if said != project:
        raise Invalid(
            f"project: {str(said)[:60]!r}, expected {project!r}: what is there stays in its "
            "project.",
            field="project",
            hints=("Leave it out, or make another one there, of another name.",),
        )


def in_scope(project: str) -> bool:
    """Whether the caller may see what is in this project."""
    scope = scope_now()
    return scope is None or project in scope


def member_list(project: Project) -> QuerySet[Membership]:
    return project.memberships.select_related("user")


def memberships_of(user: User) -> QuerySet[Membership]:
    return user.memberships.order_by("project_id")
