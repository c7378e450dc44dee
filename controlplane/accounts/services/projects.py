"""Projects: made, described, limited, archived; their members; and the quota that holds."""

from typing import Any, Final, Literal

from django.db import IntegrityError, transaction

from controlplane.accounts import projects, selectors
from controlplane.accounts.errors import MemberNotFound, NameTaken, ProjectQuotaExceeded
from controlplane.accounts.models import Membership, Project
from controlplane.accounts.types import DEFAULT_PROJECT
from controlplane.core import events
from controlplane.core.changes import change
from controlplane.core.errors import Conflict
from controlplane.core.models import Event
from controlplane.core.names import name_check

Kind = Literal["replicas", "gpus", "bytes"]
WORDS: Final[dict[Kind, str]] = {
    "replicas": "replicas",
    "gpus": "GPUs",
    "bytes": "bytes of models and uploads",
}


@transaction.atomic
def project_create(*, name: str, actor: str, **values: Any) -> Project:
    """``values``: display_name, max_replicas, max_gpus, max_bytes. Raises NameInvalid, NameTaken.

    Names that differ in case alone would be taken for one another.
    """
    name_check(name, field="name")
    known = Project.everything.filter(name__iexact=name).first()
    if known is not None:
        raise NameTaken(f"There is a project called {known} already.", field="name")
    try:
        with transaction.atomic():
            row = Project.everything.create(name=name, created_by=actor, **values)
    except IntegrityError as error:
        raise NameTaken(f"There is a project called {name} already.", field="name") from error
    events.record(
        actor=actor,
        verb="project.created",
        subject=f"project/{name}",
        message=f"{actor} created the project {name}",
        after=dict(values),
    )
    return row


@transaction.atomic
def project_update(*, name: str, actor: str, **values: Any) -> Project:
    """Its display name and limits; a limit below what is used refuses only what is more.

    Raises ProjectNotFound.
    """
    projects.project_get(name)
    row = project_hold(name)
    subject = f"project/{name}"
    change(row, values, actor=actor, verb="project.updated", subject=subject, named=name)
    return row


@transaction.atomic
def project_set_archived(*, name: str, archived: bool, actor: str) -> Project:
    """Let nothing new be made in it, or again; what runs there runs on.

    Raises ProjectNotFound, Conflict for the default project.
    """
    projects.project_get(name)
    row = project_hold(name)
    if archived and name == DEFAULT_PROJECT:
        raise Conflict(
            f"{name} cannot be archived: what names no project goes there.",
            hints=("Archive another one.",),
        )
    word = "archived" if archived else "restored"
    values = {"archived": archived}
    subject = f"project/{name}"
    change(row, values, actor=actor, verb=f"project.{word}", subject=subject, named=name)
    return row


@transaction.atomic
def member_set(*, project: str, username: str, role: str, actor: str) -> Membership:
    """Give somebody a role in a project, or another one. Raises ProjectNotFound, UserNotFound."""
    row, user = projects.project_get(project), selectors.account_get(username)
    before = Membership.objects.filter(project=row, user=user).first()
    member, _ = Membership.objects.update_or_create(project=row, user=user, defaults={"role": role})
    if before is None or before.role != role:
        events.record(
            actor=actor,
            verb="project.member_set",
            subject=f"user/{username}",
            message=f"{actor} made {username} {role} in {project}",
            severity=Event.Severity.WARNING,
            data={"project": project},
            before={"role": before.role if before else None},
            after={"role": role},
        )
    return member


@transaction.atomic
def member_remove(*, project: str, username: str, actor: str) -> None:
    """Raises ProjectNotFound, MemberNotFound."""
    row = projects.project_get(project)
    member = row.memberships.filter(user__username=username).first()
    if member is None:
        raise MemberNotFound(f"{username} has no role in {project}.")
    member.delete()
    events.record(
        actor=actor,
        verb="project.member_removed",
        subject=f"user/{username}",
        message=f"{actor} took the role of {username} in {project} away",
        severity=Event.Severity.WARNING,
        data={"project": project},
        before={"role": member.role},
        after={"role": None},
    )


def project_hold(name: str) -> Project:
    """Until the transaction ends nobody else takes anything of this project's quota.

    Always the last row that is held: after uploads, endpoints and models.
    """
    return Project.everything.select_for_update(no_key=True).get(name=name)


def quota_check(project: Project, kind: Kind, *, used: int, wanted: int) -> None:
    """Whether ``wanted`` more fit, in the transaction that holds ``project``.

    Raises ProjectQuotaExceeded.
    """
    limit: int | None = getattr(project, f"max_{kind}")
    if limit is None or wanted <= 0 or used + wanted <= limit:
        return
    raise ProjectQuotaExceeded(
        f"The project {project} uses {used} of {limit} {WORDS[kind]}, and this wants {wanted} "
        "more.",
        extra={
            "project": project.name,
            "quota": kind,
            "used": used,
            "wanted": wanted,
            "limit": limit,
        },
    )
