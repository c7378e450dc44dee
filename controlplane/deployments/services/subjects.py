"""What somebody asks about before it is deployed: a registered version, or an upload."""

from dataclasses import dataclass

from django.db.models import Sum

from controlplane.core.errors import Invalid
from controlplane.deployments.services.spec import resolve
from controlplane.deployments.spec import Spec
from controlplane.registry.models import ConfigRevision, ModelVersion, Upload
from controlplane.registry.selectors import upload_get


@dataclass(frozen=True, slots=True)
class Subject:
    version: ModelVersion | None
    upload: Upload | None
    revision: ConfigRevision | None
    models: frozenset[str]  # as clients call them
    backends: frozenset[str]
    size_bytes: int


def subject_of(model: str, version: str, upload_id: str, config_revision: int | None) -> Subject:
    """Raises ModelNotFound, ModelNotDeployable, UploadNotFound, Invalid."""
    if bool(model) == bool(upload_id):
        raise Invalid("Name either a model or an upload.", field="model")
    if upload_id:
        upload = upload_get(upload_id)
        if upload.state != Upload.State.READY:
            raise Invalid(f"The upload is {upload.state}, not ready.", field="upload_id")
        found = (upload.inspection or {}).get("models", [])
        size = upload.unpacked.aggregate(bytes=Sum("size", default=0))["bytes"]
        names = frozenset(m["name"] for m in found)
        return Subject(None, upload, None, names, frozenset(m["backend"] for m in found), size)
    row, revision = resolve(Spec(model=model, version=version, config_revision=config_revision))
    held = row.repo_models.all()
    names, backends = frozenset(m.name for m in held), frozenset(m.backend for m in held)
    return Subject(row, None, revision, names, backends, row.size)
