"""Revisions of deployments: every specification that was asked for, to go back to."""

from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Max

from controlplane.accounts.errors import ProjectMismatch
from controlplane.deployments.errors import RevisionNotFound
from controlplane.deployments.models import Deployment, DeploymentRevision, Endpoint, InstanceType
from controlplane.deployments.spec import RunSettings, settings_to_json
from controlplane.registry.models import ConfigRevision, ModelVersion

NO_REVISION_YET: Final = 0  # no row has this key: the transaction sets another one


@dataclass(frozen=True, slots=True)
class ReplicaTemplate:
    """What a revision's replicas run. How many there are, and what gateways do, is no part of it.

    ``secrets``: variable -> sealed value; ``allow_code``: kinds of code, None: not said.
    """

    model_version: ModelVersion
    config_revision: ConfigRevision | None
    instance_type: InstanceType | None
    secrets: dict[str, str]
    allow_code: list[str] | None
    settings: RunSettings


def template_of(revision: DeploymentRevision) -> ReplicaTemplate:
    return ReplicaTemplate(
        model_version=revision.model_version,
        config_revision=revision.config_revision,
        instance_type=revision.instance_type,
        secrets=revision.secrets,
        allow_code=revision.allow_code,
        settings=revision.settings,
    )


@transaction.atomic(savepoint=False)
def deployment_record(
    endpoint: Endpoint, name: str, template: ReplicaTemplate, *, author: str, **values: Any
) -> Deployment:
    """A new deployment with its first revision; ``values`` are columns of the deployment.

    Each names the other: the database commits neither of them alone.
    """
    row = Deployment.objects.create(
        endpoint=endpoint, name=name, revision_id=NO_REVISION_YET, **values
    )
    revision_record(row, template, author=author, cause="created")
    return row


def revision_record(
    row: Deployment, template: ReplicaTemplate, *, author: str, cause: str
) -> DeploymentRevision:
    """``template`` as the next revision of ``row``, which then points at it.

    Raises ProjectMismatch: nobody gets at a model by an endpoint of another project.
    """
    _same_project_check(row, template.model_version)
    new = row.revision_id == NO_REVISION_YET
    last = 0 if new else row.revisions.aggregate(last=Max("number"))["last"] or 0
    revision = DeploymentRevision.objects.create(
        deployment=row,
        number=last + 1,
        author=author,
        cause=cause,
        model_version=template.model_version,
        config_revision=template.config_revision,
        instance_type=template.instance_type,
        secrets=template.secrets,
        allow_code=template.allow_code,
        spec=settings_to_json(template.settings),
    )
    Deployment.objects.filter(pk=row.pk).update(revision=revision)
    row.revision = revision
    return revision


def _same_project_check(row: Deployment, version: ModelVersion) -> None:
    wanted, found = row.endpoint.project_id, version.model.project_id
    if found != wanted:
        raise ProjectMismatch(
            f"The endpoint {row.endpoint.name} is in the project {wanted}, and the model "
            f"{version.model.name} in {found}.",
            field="model",
        )


def code_record(revision: DeploymentRevision, kinds: list[str]) -> None:
    """What code it may run has been asked again: ``kinds`` are what was said."""
    DeploymentRevision.objects.filter(pk=revision.pk).update(allow_code=kinds)
    revision.allow_code = kinds


def revision_wanted(row: Deployment, number: int | None) -> DeploymentRevision:
    """The one called for; without a number the last that came up before this one.

    Raises RevisionNotFound.
    """
    rows = row.revisions.order_by("-number")
    if number is not None:
        found = rows.filter(number=number).first()
    else:
        found = rows.filter(number__lt=row.revision.number, succeeded=True).first()
    if found is None:
        known = ", ".join(str(n) for n in rows.values_list("number", flat=True)[:10])
        wanted = f"no revision {number}" if number else "no earlier revision that came up"
        raise RevisionNotFound(f"{row} has {wanted}.", hints=(f"It has {known}.",) if known else ())
    return found
