"""Writes of environments: registered, described, archived, restored."""

import hashlib
import json
import re
from typing import Any

from django.db import transaction

from controlplane.accounts import projects
from controlplane.core import events
from controlplane.core.changes import change
from controlplane.environments import selectors
from controlplane.environments.errors import (
    EnvironmentNameInvalid,
    EnvironmentNameTaken,
    EnvironmentVersionImmutable,
)
from controlplane.environments.models import EnvironmentVersion

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
CONTENT = ("requirements", "conda_file", "image", "declared")


@transaction.atomic
def environment_register(
    *, name: str, version: int | None, actor: str, project: str = "", **fields: Any
) -> tuple[EnvironmentVersion, bool]:
    """The version, and whether it is new: the same content is the version that it was.

    ``version`` asks for a number; one that exists must have the same content. Who registers what is
    archived wants it back. All versions of a name are in one project: ``project`` chooses it for
    the first. ``fields``: description, tags, and those of ``CONTENT``.
    Raises EnvironmentNameInvalid, EnvironmentVersionImmutable, EnvironmentNameTaken,
    ProjectNotFound, ProjectArchived.
    """
    if not NAME.fullmatch(name):
        raise EnvironmentNameInvalid(f"{name[:80]!r} cannot be a name.", field="name")
    digest = content_digest({key: fields[key] for key in CONTENT})
    rows = EnvironmentVersion.everything.select_for_update().filter(name=name)
    chosen = _project_of(name, project)
    same = rows.filter(digest=digest) if version is None else rows.filter(version=version)
    known = same.order_by("-version").first()
    if known is not None:
        if known.digest != digest:
            raise EnvironmentVersionImmutable(
                f"{known} has other packages, and versions never change.", field="version"
            )
        if known.archived:
            _set_archived([known], archived=False, actor=actor)
        return selectors.version_get(name, known.version), False
    projects.not_archived(projects.project_get(chosen))
    newest = rows.order_by("-version").first()
    row = EnvironmentVersion.objects.create(
        name=name,
        project_id=chosen,
        version=version or (newest.version + 1 if newest else 1),
        digest=digest,
        created_by=actor,
        **fields,
    )
    events.record(
        actor=actor,
        verb="environment.registered",
        subject=f"environment/{name}",
        message=f"{actor} registered {row}",
        data={"version": row.version, "digest": digest},
    )
    return selectors.version_get(name, row.version), True


def _project_of(name: str, project: str) -> str:
    """Raises EnvironmentNameTaken where the name is another project's."""
    known = EnvironmentVersion.everything.filter(name=name).first()
    if known is None:
        return projects.project_for(project)
    if not projects.in_scope(known.project_name) or project not in ("", known.project_name):
        raise EnvironmentNameTaken(
            f"Another project has an environment called {name!r}.", field="name"
        )
    return known.project_name


@transaction.atomic
def version_update(*, name: str, version: str, actor: str, **words: Any) -> EnvironmentVersion:
    """Change the words about a version, never its content. Raises EnvironmentNotFound.

    ``words``: description, tags.
    """
    row = selectors.version_get(name, version)
    change(
        row,
        words,
        actor=actor,
        verb="environment.updated",
        subject=f"environment/{name}",
        named=str(row),
        data={"version": row.version},
    )
    return row


@transaction.atomic
def environment_set_archived(
    *, name: str, version: str | None, archived: bool, actor: str
) -> EnvironmentVersion:
    """Hide one version, or all of them, from lists; what was made with them runs on.

    Returns it, or the newest. Raises EnvironmentNotFound.
    """
    if version is not None:
        rows = [selectors.version_get(name, version)]
    else:
        rows = list(selectors.version_list(name, archived="all").order_by("version"))
    _set_archived([row for row in rows if row.archived != archived], archived=archived, actor=actor)
    return selectors.version_get(name, rows[-1].version)


def _set_archived(rows: list[EnvironmentVersion], *, archived: bool, actor: str) -> None:
    for row in rows:
        row.archived = archived
        row.save(update_fields=["archived", "updated_at"])
        word = "archived" if archived else "restored"
        events.record(
            actor=actor,
            verb=f"environment.{word}",
            subject=f"environment/{row.name}",
            message=f"{row} {word}",
            data={"version": row.version},
        )


def content_digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
