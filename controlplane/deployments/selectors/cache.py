"""What lies in a node's cache, and which versions it belongs to."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.deployments.models import DeploymentRevision
from controlplane.nodes.models import CachedBlob
from controlplane.registry.models import ModelFile


@dataclass(frozen=True, slots=True)
class FileOf:
    """A file of a version that has these bytes."""

    model: str
    version: int
    path: str


@dataclass(frozen=True, slots=True)
class CachedShown:
    sha256: str
    size: int
    used_at: datetime
    in_use: bool
    files: list[FileOf]  # empty: nothing that was ever deployed has these bytes


def cache_shown(blobs: list[CachedBlob]) -> list[CachedShown]:
    """Blobs with the files they are. Only versions that were deployed are looked through."""
    wanted: dict[str, list[FileOf]] = {blob.sha256: [] for blob in blobs}
    deployed = DeploymentRevision.objects.values("model_version_id")
    files = (
        ModelFile.objects.filter(sha256__in=wanted, version__in=deployed)
        .order_by("version__model__name", "-version__version", "id")
        .values_list("sha256", "version__model__name", "version__version", "path")
    )
    for sha256, model, version, path in files:
        wanted[sha256].append(FileOf(model, version, path))
    return [
        CachedShown(blob.sha256, blob.size, blob.used_at, blob.in_use, wanted[blob.sha256])
        for blob in blobs
    ]
