"""Instance types: made, changed, removed."""

import re
from typing import Any, Final

from django.db import transaction

from controlplane.core import events
from controlplane.core.names import NameInvalid
from controlplane.deployments.errors import InstanceTypeInUse, NameTaken
from controlplane.deployments.models import Deployment, InstanceType
from controlplane.deployments.selectors.instance_types import instance_type_get, instance_type_list

NAME: Final = re.compile(r"[a-zA-Z0-9][-_.a-zA-Z0-9]{0,63}")


@transaction.atomic
def instance_type_create(*, name: str, actor: str, **values: Any) -> InstanceType:
    """Raises NameInvalid, NameTaken."""
    row = InstanceType(name=_name_checked(name, "name").lower(), **values)
    _names_free(row)
    row.save()
    _record(row, actor, "instance_type.created", "was made", {"after": _told(row)})
    return instance_type_get(row.name)


@transaction.atomic
def instance_type_update(*, name: str, actor: str, **changes: Any) -> InstanceType:
    """What runs already stays where it is; the next placement goes by the new values.

    Raises InstanceTypeNotFound, NameInvalid, NameTaken.
    """
    row = instance_type_get(name)
    before = _told(row)
    for key, value in changes.items():
        setattr(row, key, value)
    _names_free(row)
    if _told(row) != before:
        row.save()
        _record(
            row, actor, "instance_type.changed", "was changed",
            {"before": before, "after": _told(row)},
        )  # fmt: skip
    return instance_type_get(row.name)


@transaction.atomic
def instance_type_delete(*, name: str, actor: str) -> None:
    """Raises InstanceTypeNotFound, InstanceTypeInUse."""
    # why locked: a deployment that begins to ask for it meanwhile is refused, not left without it
    row = InstanceType.objects.select_for_update().get(pk=instance_type_get(name).pk)
    users = Deployment.objects.filter(revision__instance_type=row).select_related("endpoint")
    names = [str(deployment) for deployment in users]
    if names:
        raise InstanceTypeInUse(
            f"{len(names)} deployment(s) ask for {row.name}.",
            hints=("Give them another instance type first.",),
            extra={"used_by": names[:10]},
        )
    _record(row, actor, "instance_type.deleted", "was deleted", {"before": _told(row)})
    # why not a cascade of the database's: earlier revisions of deployments forget it
    InstanceType.objects.filter(pk=row.pk).delete()


def _name_checked(name: str, field: str) -> str:
    if NAME.fullmatch(name):
        return name
    raise NameInvalid(
        f"{name!r} cannot be a name here.",
        field=field,
        hints=("Letters, digits, hyphens, dots and underscores; at most 64.",),
    )


def _names_free(row: InstanceType) -> None:
    """No two types answer to one name."""
    mine = [row.name, *(_name_checked(alias, "aliases").lower() for alias in row.aliases)]
    for other in instance_type_list().exclude(pk=row.pk):
        taken = {other.name, *map(str.lower, other.aliases)} & set(mine)
        if taken:
            raise NameTaken(
                f"{other.name} answers to {', '.join(sorted(taken))} already.",
                field="name" if row.name in taken else "aliases",
            )


def _told(row: InstanceType) -> dict[str, Any]:
    return {
        "name": row.name,
        "aliases": row.aliases,
        "description": row.description,
        "gpu_count": row.gpu_count,
        "gpu_policy": str(row.gpu_policy),
        "gpu_model": row.gpu_model,
        "gpu_memory_bytes": row.gpu_memory_bytes,
        "cpu_count": row.cpu_count,
        "memory_bytes": row.memory_bytes,
        "node_labels": row.node_labels,
    }


def _record(row: InstanceType, actor: str, verb: str, text: str, data: dict[str, Any]) -> None:
    events.record(
        actor=actor,
        verb=verb,
        subject=f"instance-type/{row.name}",
        message=f"Instance type {row.name} {text}",
        data=data,
    )
