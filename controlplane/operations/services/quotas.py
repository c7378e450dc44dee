"""Whether a project may have the replicas and GPUs that a change asks for."""

from typing import Any

from controlplane.accounts.errors import ProjectQuotaExceeded
from controlplane.accounts.models import Project
from controlplane.accounts.services.projects import project_hold, quota_check
from controlplane.deployments.models import Deployment, DeploymentRevision
from controlplane.deployments.selectors.use import Use, projects_use
from controlplane.operations.selectors import operations_active


def replicas_check(row: Deployment, parameters: dict[str, Any]) -> None:
    """Of an operation that is about to be opened, with the change written already in the caller's
    transaction. What asks for no more than before is never refused. Raises ProjectQuotaExceeded.
    """
    project = project_hold(row.endpoint.project_name)
    if not _is_limited(project):
        return
    before, used = _before(row, parameters), _used(project)
    count, gpus = parameters["instance_count"], _gpus(row.revision)
    _check(
        project,
        used=Use(used.replicas - count + before.replicas, used.gpus - count * gpus + before.gpus),
        wanted=Use(count - before.replicas, count * gpus - before.gpus),
    )


def replicas_within(row: Deployment, wanted: int) -> tuple[int, str]:
    """As many of ``wanted`` as the project may have, never fewer than there are, and why no more;
    the project is held, so that who then asks for so many gets them."""
    project = project_hold(row.endpoint.project_name)
    if not _is_limited(project):
        return wanted, ""
    used, gpus = _used(project), _gpus(row.revision)
    why = ""
    for count in range(wanted, row.instance_count, -1):
        more = count - row.instance_count
        try:
            _check(project, used=used, wanted=Use(more, more * gpus))
        except ProjectQuotaExceeded as refused:
            why = why or refused.message
        else:
            return count, why
    return min(wanted, row.instance_count), why


def _is_limited(project: Project) -> bool:
    return project.max_replicas is not None or project.max_gpus is not None


def _used(project: Project) -> Use:
    """With what the changes under way go back to if they fail or are cancelled: that is not asked
    again, and is not free before they have succeeded."""
    replicas = gpus = 0
    rows = Deployment.objects.select_related("revision__instance_type")
    # why first: one that ends meanwhile counts twice then, and not never
    for change in operations_active().filter(project=project, parameters__has_key="previous_count"):
        row = rows.filter(endpoint__name=change.endpoint, name=change.deployment).first()
        if row is not None:
            before, count = _before(row, change.parameters), row.instance_count
            replicas += max(0, before.replicas - count)
            gpus += max(0, before.gpus - count * _gpus(row.revision))
    used = projects_use([project.name])[project.name]
    return Use(used.replicas + replicas, used.gpus + gpus)


def _before(row: Deployment, parameters: dict[str, Any]) -> Use:
    """What it asked for before the change that has these parameters, and goes back to."""
    count, revision = parameters.get("previous_count", 0), row.revision
    if "previous_revision" in parameters:
        previous = row.revisions.select_related("instance_type")
        revision = previous.get(number=parameters["previous_revision"])
    return Use(count, count * _gpus(revision))


def _gpus(revision: DeploymentRevision) -> int:
    """Per replica."""
    return revision.instance_type.gpu_count if revision.instance_type else 0


def _check(project: Project, *, used: Use, wanted: Use) -> None:
    quota_check(project, "replicas", used=used.replicas, wanted=wanted.replicas)
    quota_check(project, "gpus", used=used.gpus, wanted=wanted.gpus)
