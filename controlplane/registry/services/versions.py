"""Models and their versions: described, archived, restored, downloaded, deleted."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError

from controlplane.core import events
from controlplane.core.changes import change, given
from controlplane.registry import selectors
from controlplane.registry.errors import (
    InUse,
    ModelNotFound,
)
from controlplane.registry.models import (
    Model,
    ModelVersion,
)
from controlplane.registry.services.stating import stated_anew


def model_archive(*, name: str, actor: str) -> Model:
    """Hide the model from lists and new deployments; what runs on it keeps running."""
    return _set_archived(name, archived=True, actor=actor)


def model_restore(*, name: str, actor: str) -> Model:
    return _set_archived(name, archived=False, actor=actor)


@transaction.atomic
def _set_archived(name: str, *, archived: bool, actor: str) -> Model:
    model = selectors.model_get(name)
    if model.archived != archived:
        Model.objects.filter(pk=model.pk).update(archived=archived)
        ModelVersion.objects.filter(model=model).update(archived=archived)
        events.record(
            actor=actor,
            verb="model.archived" if archived else "model.restored",
            subject=f"model/{name}",
            message=f"{name} {'archived' if archived else 'restored'}",
        )
    return selectors.model_get(name)


def version_archive(*, name: str, version: str, actor: str) -> ModelVersion:
    """Hide one version from ``latest`` and new deployments. Raises ModelNotFound."""
    return _version_set_archived(name, version, archived=True, actor=actor)


def version_restore(*, name: str, version: str, actor: str) -> ModelVersion:
    return _version_set_archived(name, version, archived=False, actor=actor)


@transaction.atomic
def _version_set_archived(name: str, version: str, *, archived: bool, actor: str) -> ModelVersion:
    row = selectors.version_get(name, version)
    if row.archived != archived:
        ModelVersion.objects.filter(pk=row.pk).update(archived=archived)
        if not archived:
            Model.objects.filter(pk=row.model_id).update(archived=False)
        events.record(
            actor=actor,
            verb="model.version_archived" if archived else "model.version_restored",
            subject=f"model/{name}",
            message=f"{row} {'archived' if archived else 'restored'}",
            data={"version": row.version},
        )
    return selectors.version_get(name, row.version)


@transaction.atomic
def version_update(
    *,
    name: str,
    version: str,
    actor: str,
    lineage: Mapping[str, str] | None = None,
    **metadata: Any,
) -> ModelVersion:
    """Change the words about a version, never its content. Raises ModelNotFound, Invalid.

    ``metadata``: description, tags, declared. ``lineage`` stands for all that was stated before.
    """
    row = selectors.version_get(name, version)
    if lineage is not None:
        metadata |= stated_anew(row, lineage, actor=actor)
    change(
        row,
        metadata,
        actor=actor,
        verb="model.version_updated",
        subject=f"model/{name}",
        named=str(row),
        data={"version": row.version},
    )
    return selectors.version_get(name, row.version)


def download_record(*, version: ModelVersion, actor: str, path: str = "") -> None:
    """Somebody takes a copy of the whole version, or of one of its files."""
    what = f"{path} of {version}" if path else str(version)
    events.record(
        actor=actor,
        verb="model.file_downloaded" if path else "model.downloaded",
        subject=f"model/{version.model.name}",
        message=f"{actor} downloaded {what}",
        data={"version": version.version, "digest": version.digest, "path": path},
    )


@transaction.atomic
def model_update(
    *, name: str, actor: str, description: str | None = None, tags: dict[str, str] | None = None
) -> Model:
    """Change the words about a model. Raises ModelNotFound."""
    row = selectors.model_get(name)
    values = given(description=description, tags=tags)
    change(row, values, actor=actor, verb="model.updated", subject=f"model/{name}", named=name)
    return selectors.model_get(name)


@transaction.atomic
def version_delete(*, name: str, version: str, force: bool, actor: str) -> None:
    """Remove one version for good; its number is never given again.

    Raises ModelNotFound, InUse: with the deployments that run it or may go back to it, or with
    the aliases that name it (unless ``force``).
    """
    row = selectors.version_get(name, version)
    aliases = sorted(alias.name for alias in row.aliases.all())
    if aliases and not force:
        raise InUse(
            f"{row} is called {', '.join(f'@{alias}' for alias in aliases)}.",
            hints=("Point these aliases elsewhere, or delete with force=true.",),
            extra={"aliases": aliases},
        )
    users = selectors.usage(row)
    try:
        with transaction.atomic():
            row.delete()
    except ProtectedError as error:
        names = [f"{user['endpoint']}/{user['deployment']}" for user in users]
        raise InUse(
            f"{row} is used by {', '.join(names)}.",
            hints=("Delete these deployments first, or archive the version.",),
            extra={"deployments": names, "usage": users},
        ) from error
    events.record(
        actor=actor,
        verb="model.version_deleted",
        subject=f"model/{name}",
        message=f"{row} deleted",
        data={"version": row.version, "digest": row.digest},
    )


@transaction.atomic
def model_delete(*, name: str, actor: str) -> None:
    """Remove a model with all its versions. Raises InUse with the deployments that need it."""
    model = Model.objects.filter(name=name).first()
    if model is None:
        raise ModelNotFound(f"No model is called {name!r}.")
    try:
        with transaction.atomic():
            model.delete()
    except ProtectedError as error:
        deployments = selectors.deployments_of(name)
        raise InUse(
            f"Model {name!r} is used by {', '.join(deployments)}.",
            hints=("Delete these deployments first, or archive the model.",),
            extra={"deployments": deployments},
        ) from error
    events.record(
        actor=actor, verb="model.deleted", subject=f"model/{name}", message=f"{name} deleted"
    )
