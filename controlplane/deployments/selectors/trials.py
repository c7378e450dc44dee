"""Finding trials, and showing them."""

from typing import Any

from django.db.models import QuerySet

from controlplane.deployments.errors import TrialNotFound
from controlplane.deployments.models import TryLoad
from controlplane.deployments.selectors.runs import run_get, runs_active
from controlplane.deployments.types import ReplicaState
from controlplane.nodes.models import Node
from controlplane.registry.types import FileEntry

LOG_OWNER = "~try-load"  # no endpoint can be called so


def trial_list() -> QuerySet[TryLoad]:
    return TryLoad.objects.select_related("model_version__model", "upload", "config_revision")


def trial_get(trial_id: str) -> TryLoad:
    """Raises TrialNotFound."""
    missing = TrialNotFound("There is no such trial; they are kept for a day.")
    return run_get(trial_list(), trial_id, missing)


def trials_active(node: Node | None = None) -> list[TryLoad]:
    return runs_active(trial_list(), node)


def trial_manifest(row: TryLoad) -> list[FileEntry]:
    source = row.model_version or row.upload
    return source.manifest() if source else []


def trial_models(row: TryLoad) -> list[str]:
    """The models that must become ready, sorted."""
    if row.model_version is not None:
        return sorted(row.model_version.repo_models.values_list("name", flat=True))
    inspection = (row.upload.inspection if row.upload else None) or {}
    return sorted(model["name"] for model in inspection.get("models", []))


def phase(observed: dict[str, Any]) -> str:
    if observed.get("installing"):
        return "installing packages"
    return str(observed.get("state", ReplicaState.PENDING.value))


def trial_shown(row: TryLoad) -> dict[str, Any]:
    observed = row.observed
    version, revision = row.model_version, row.config_revision
    until = row.finished_at or row.updated_at
    error = row.error or {}
    return {
        "id": row.id,
        "state": row.state,
        "model": version.model.name if version else None,
        "version": version.version if version else None,
        "config_revision": revision.number if revision else None,
        "upload_id": row.upload_id,
        "edited": sorted(row.configs),
        "node": row.node_name,
        "phase": phase(observed),
        "downloaded_bytes": observed.get("downloaded_bytes", 0),
        "total_bytes": observed.get("total_bytes", 0),
        "load_seconds": observed.get("load_seconds") or None,
        "memory_bytes": observed.get("memory_bytes", 0),
        "duration_s": (until - row.created_at).total_seconds(),
        "effective": observed.get("configs", {}),
        "log": observed.get("log") or error.get("detail", ""),
        "error": row.error,
        "deadline_at": row.deadline_at,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
    }
