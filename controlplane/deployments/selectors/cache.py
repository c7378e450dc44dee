"""What lies in a node's cache, and which versions it belongs to."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.deployments.models import DeploymentRevision
from controlplane.nodes.models import CachedBlob
from controlplane.registry.models import ModelVersion


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
    versions = (
        ModelVersion.objects.filter(pk__in=deployed)
        .order_by("model__name", "-version")
        .values_list("model__name", "version", "manifest")
    )
    for model, version, manifest in versions if blobs else ():
        for entry in manifest:
            if (files := wanted.get(entry["sha256"])) is not None:
                files.append(FileOf(model, version, entry["path"]))
    return [
        CachedShown(blob.sha256, blob.size, blob.used_at, blob.in_use, wanted[blob.sha256])
        for blob in blobs
    ]
