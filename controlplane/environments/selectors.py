"""Reads of environments. Rows come back complete: with ``used_by`` filled in."""

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Max, OuterRef, QuerySet, Subquery

from controlplane.core.tags import tagged
from controlplane.environments.errors import EnvironmentNotFound
from controlplane.environments.models import EnvironmentVersion
from controlplane.registry import selectors as registry
from controlplane.registry.models import ModelVersion

LATEST = "latest"
LONGEST_NUMBER = 9


def environment_list(
    *,
    q: str = "",
    archived: str = "active",
    tags: dict[str, str] | None = None,
    project: str = "",
) -> QuerySet[EnvironmentVersion]:
    """The newest version of each; ``archived``: "active", "archived" or "all"."""
    rows = _seen(EnvironmentVersion.objects.all(), archived)
    same = _seen(EnvironmentVersion.objects.filter(name=OuterRef("name")), archived)
    newest = same.order_by().values("name").annotate(newest=Max("version")).values("newest")
    rows = rows.filter(version=Subquery(newest))
    if project:
        rows = rows.filter(project=project)
    if q:
        rows = rows.filter(name__icontains=q)
    return tagged(rows, tags or {})


def version_list(name: str, *, archived: str = "active") -> QuerySet[EnvironmentVersion]:
    """Raises EnvironmentNotFound for a name that has no version at all."""
    rows = EnvironmentVersion.objects.filter(name=name)
    if not rows.exists():
        raise EnvironmentNotFound(f"No environment is called {name!r}.")
    return _seen(rows, archived)


def version_get(name: str, version: str | int) -> EnvironmentVersion:
    """``version`` is a number, or "latest": the newest that is not archived.

    Raises EnvironmentNotFound.
    """
    rows, word = version_list(name, archived="all"), str(version).removeprefix("@")
    if word == LATEST:
        found = rows.filter(archived=False).order_by("-version").first()
    elif word.isascii() and word.isdecimal() and len(word) <= LONGEST_NUMBER:
        found = rows.filter(version=int(word)).first()
    else:
        found = None
    if found is None:
        numbers = rows.filter(archived=False).order_by("-version").values_list("version", flat=True)
        known = ", ".join(str(number) for number in numbers[:10])
        raise EnvironmentNotFound(
            f"Environment {name!r} has no version {version}.",
            hints=(f"It has {known}.",) if known else (),
        )
    return versions_complete([found])[0]


def versions_complete(rows: Iterable[EnvironmentVersion]) -> list[EnvironmentVersion]:
    """Fill in which endpoints run a version of a model that was made with each."""
    found = list(rows)
    by_reference: dict[str, set[str]] = defaultdict(set)
    if found:
        made = ModelVersion.objects.filter(
            declared__environment__in=[row.reference for row in found]
        )
        for version in registry.versions_complete(made.select_related("model")):
            by_reference[version.declared["environment"]].update(version.used_by)
    for row in found:
        row.used_by = sorted(by_reference[row.reference])
    return found


def _seen(rows: QuerySet[EnvironmentVersion], archived: str) -> QuerySet[EnvironmentVersion]:
    return rows if archived == "all" else rows.filter(archived=archived == "archived")
