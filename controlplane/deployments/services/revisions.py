"""Revisions of deployments: every specification that was asked for, to go back to."""

from typing import Any, Final

from django.db.models import Max

from controlplane.deployments.errors import RevisionNotFound
from controlplane.deployments.models import Deployment, DeploymentRevision, Replica
from controlplane.deployments.spec import RunSettings, run_kept

# What a revision keeps beside its settings, and the deployment, too, while it asks for it. How many
# replicas there are, and what gateways do, is not part of it.
SHARED: Final = (
    "model_version_id", "config_revision_id", "instance_type_id", "secrets", "allow_code",
)  # fmt: skip


def shared_of(row: Deployment | DeploymentRevision) -> dict[str, Any]:
    return {name: getattr(row, name) for name in SHARED}


def revision_record(
    row: Deployment, *, author: str, cause: str, settings: RunSettings | None = None
) -> DeploymentRevision:
    """What ``row`` asks for now, with ``settings`` or those that it has, as its next revision; the
    row then points at it."""
    last = row.revisions.aggregate(last=Max("number"))["last"] or 0
    revision = DeploymentRevision.objects.create(
        deployment=row,
        number=last + 1,
        author=author,
        cause=cause,
        spec=run_kept(row.settings if settings is None else settings),
        **shared_of(row),
    )
    Deployment.objects.filter(pk=row.pk).update(revision=revision)
    row.revision = revision
    return revision


def revision_ensure(row: Deployment) -> DeploymentRevision:
    """The current one, recorded first for a deployment from before there were revisions."""
    if row.revision is not None:
        return row.revision
    revision = revision_record(row, author="system", cause="as found")
    DeploymentRevision.objects.filter(pk=revision.pk).update(succeeded=True)
    Replica.objects.filter(deployment=row, revision=None).update(revision=revision)
    revision.succeeded = True
    return revision


def revision_apply(row: Deployment, revision: DeploymentRevision) -> None:
    """``row`` asks for what ``revision`` asked for; the caller saw that nothing is under way."""
    Deployment.objects.filter(pk=row.pk).update(revision=revision, **shared_of(revision))
    row.refresh_from_db()


def code_record(row: Deployment, revision: DeploymentRevision | None, kinds: list[str]) -> None:
    """What code it may run has been asked again: ``kinds`` are what was said."""
    Deployment.objects.filter(pk=row.pk).update(allow_code=kinds)
    row.allow_code = kinds
    if revision is not None:
        DeploymentRevision.objects.filter(pk=revision.pk).update(allow_code=kinds)
        revision.allow_code = kinds


def revision_wanted(row: Deployment, number: int | None) -> DeploymentRevision:
    """The one called for; without a number the last that came up before this one.

    Raises RevisionNotFound.
    """
    current = row.revision.number if row.revision else 0
    rows = row.revisions.order_by("-number")
    if number is not None:
        found = rows.filter(number=number).first()
    else:
        found = rows.filter(number__lt=current, succeeded=True).first()
    if found is None:
        known = ", ".join(str(n) for n in rows.values_list("number", flat=True)[:10])
        wanted = f"no revision {number}" if number else "no earlier revision that came up"
        raise RevisionNotFound(f"{row} has {wanted}.", hints=(f"It has {known}.",) if known else ())
    return found
