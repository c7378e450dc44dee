"""Aliases: names for versions that may move, usable wherever a version is named."""

import re

from django.db import transaction

from controlplane.core import events
from controlplane.registry import selectors
from controlplane.registry.errors import AliasInvalid, AliasNotFound, ModelArchived
from controlplane.registry.models import ModelAlias, ModelVersion

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@transaction.atomic
def alias_set(*, model: str, alias: str, version: str, actor: str) -> ModelVersion:
    """Point ``alias`` at a version, wherever it pointed before; returns that version.

    Raises AliasInvalid, ModelNotFound, ModelArchived.
    """
    name = alias.removeprefix("@")
    if name == selectors.LATEST:
        raise AliasInvalid(
            "@latest is told, not set: it is the highest version that is not archived.",
            field="alias",
        )
    if not NAME.fullmatch(name):
        raise AliasInvalid(
            f"{name!r} cannot be an alias.",
            field="alias",
            hints=("At most 64 letters, digits, dashes or underscores; begin with a letter.",),
        )
    row = selectors.version_get(model, version)
    if row.archived:
        raise ModelArchived(f"{row} is archived.", hints=("Restore it first.",), field="version")
    before = selectors.version_number(model, name)
    if before != row.version:
        ModelAlias.objects.update_or_create(
            model=row.model, name=name, defaults={"version": row, "set_by": actor}
        )
        events.record(
            actor=actor,
            verb="model.alias_set",
            subject=f"model/{model}",
            message=f"{model}@{name} is now version {row.version}",
            data={"alias": name, "version": row.version, "before": before},
        )
    return selectors.version_get(model, row.version)


@transaction.atomic
def alias_delete(*, model: str, alias: str, actor: str) -> None:
    """Raises AliasNotFound. What was deployed by that name stays what it is."""
    name = alias.removeprefix("@")
    count, _ = ModelAlias.objects.filter(model__name=model, name=name).delete()
    if not count:
        raise AliasNotFound(f"Model {model!r} has no alias {name!r}.")
    events.record(
        actor=actor,
        verb="model.alias_deleted",
        subject=f"model/{model}",
        message=f"{model}@{name} is gone",
        data={"alias": name},
    )
