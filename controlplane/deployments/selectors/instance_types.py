"""Finding instance types, by whatever name somebody knows them."""

import difflib
from collections.abc import Iterable

from django.db.models import Count, QuerySet

from controlplane.deployments.errors import InstanceTypeNotFound, InstanceTypeUnknown
from controlplane.deployments.models import InstanceType


def instance_type_list() -> QuerySet[InstanceType]:
    return InstanceType.objects.order_by("name")


def instance_types_used(rows: Iterable[InstanceType]) -> dict[int, int]:
    """Primary key -> how many deployments ask for it; those that nobody asks for are not in it."""
    current = "deployment_revisions__current_of"
    used = InstanceType.objects.filter(
        pk__in=[row.pk for row in rows], **{f"{current}__isnull": False}
    )
    return dict(used.annotate(count=Count(current)).values_list("pk", "count"))


def instance_type_get(name: str) -> InstanceType:
    """By name or alias, whatever the case. Raises InstanceTypeNotFound."""
    found = match(name, instance_type_list())
    if found is None:
        raise InstanceTypeNotFound(f"There is no instance type called {name}.")
    return found


def instance_type_wanted(name: str) -> InstanceType:
    """The one that a deployment asks for. Raises InstanceTypeUnknown, which says what it meant."""
    rows = list(instance_type_list())
    found = match(name, rows)
    if found is not None:
        return found
    known = {alias.lower(): alias for row in rows for alias in (row.name, *row.aliases)}
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    meant = f"Did you mean {', '.join(known[key] for key in close)}?" if close else ""
    raise InstanceTypeUnknown(
        f"There is no instance type called {name!r}.",
        field="instance_type",
        hints=tuple(filter(None, [meant, f"There are {', '.join(row.name for row in rows)}."])),
    )


def match(name: str, rows: Iterable[InstanceType]) -> InstanceType | None:
    """Case does not count, as with Azure's names of machine sizes."""
    wanted = name.strip().lower()
    return next(
        (row for row in rows if wanted == row.name or wanted in map(str.lower, row.aliases)), None
    )
