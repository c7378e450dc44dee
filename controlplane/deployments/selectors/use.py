"""What the deployments of projects ask for, as quotas count it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.db.models import F, Sum

from controlplane.deployments.models import Deployment

PROJECT: Final = "endpoint__project"
GPUS: Final = "revision__instance_type__gpu_count"


@dataclass(frozen=True, slots=True)
class Use:
    replicas: int = 0
    gpus: int = 0  # as instance types ask for them


def projects_use(projects: Collection[str]) -> dict[str, Use]:
    """By project. Asked for is what was last said, whether it runs yet, or failed; of a paused
    deployment nothing, and what replaces replicas in a rolling update is not counted twice."""
    found = {name: Use() for name in projects}
    rows = Deployment.everything.filter(endpoint__project__in=projects).values(PROJECT)
    sums = rows.annotate(
        asked=Sum("instance_count"), asked_gpus=Sum(F("instance_count") * F(GPUS), default=0)
    )
    for name, count, gpus in sums.values_list(PROJECT, "asked", "asked_gpus"):
        found[str(name)] = Use(int(count), int(gpus))
    return found
