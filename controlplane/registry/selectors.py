"""Reads of the registry. Rows come back complete: with ``used_by`` and ``latest`` filled in."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import F, Prefetch, QuerySet

from controlplane.registry.errors import ModelNotFound, UploadNotFound
from controlplane.registry.models import Model, ModelVersion, RepoModel, Upload

ENSEMBLE = "ensemble"
STEP = re.compile(r'\bmodel_name\s*:\s*"([^"]*)"')  # nothing else of a configuration is called so
ACTIVE = (Upload.State.VERIFYING, Upload.State.INSPECTING)


def upload_get(upload_id: str) -> Upload:
    try:
        return Upload.objects.get(pk=upload_id)
    except Upload.DoesNotExist:
        raise UploadNotFound(
            "No such upload. It was deleted, or it expired.", hints=("Upload the file again.",)
        ) from None


def model_list(*, q: str = "", archived: str = "active") -> QuerySet[Model]:
    """``archived``: "active" hides archived models, "archived" shows only those, "all" both."""
    rows = Model.objects.all()
    if q:
        rows = rows.filter(name__icontains=q)
    if archived != "all":
        rows = rows.filter(archived=archived == "archived")
    return rows.prefetch_related(
        Prefetch(
            "versions",
            queryset=_versions().filter(version=F("model__latest_version")),
            to_attr="newest",
        )
    )


def model_get(name: str) -> Model:
    model = model_list(archived="all").filter(name=name).first()
    if model is None:
        raise ModelNotFound(f"No model is called {name!r}.")
    return models_complete([model])[0]


def models_complete(models: Iterable[Model]) -> list[Model]:
    """Fill in ``latest`` and ``used_by`` of rows from ``model_list``, in one query for all."""
    found = list(models)
    by_version = _endpoints_by_version(model_id__in=[model.pk for model in found])
    for model in found:
        newest: list[ModelVersion] = getattr(model, "newest", [])
        model.latest = newest[0] if newest else None
        if model.latest is not None:
            model.latest.used_by = by_version[model.pk, model.latest.version]
        names = [by_version[key] for key in list(by_version) if key[0] == model.pk]
        model.used_by = sorted({name for some in names for name in some})
    return found


def version_list(name: str) -> QuerySet[ModelVersion]:
    return _versions().filter(model__name=name)


def versions_complete(versions: Iterable[ModelVersion]) -> list[ModelVersion]:
    found = list(versions)
    by_version = _endpoints_by_version(pk__in=[version.pk for version in found])
    for version in found:
        version.used_by = by_version[version.model_id, version.version]
    return found


def version_get(name: str, version: str | int) -> ModelVersion:
    """``version`` is a number, or "latest": the highest that is not archived."""
    rows = version_list(name)
    if str(version) == "latest":
        found = rows.filter(archived=False).order_by("-version").first()
    elif str(version).isdecimal():
        found = rows.filter(version=int(version)).first()
    else:
        found = None
    if found is None:
        raise ModelNotFound(f"Model {name!r} has no version {version}.")
    return versions_complete([found])[0]


def deployments_of(name: str) -> list[str]:
    """``endpoint/deployment`` of everything that runs, or ran last, on this model."""
    rows = ModelVersion.objects.filter(model__name=name, deployment__isnull=False).values_list(
        "deployment__endpoint__name", "deployment__name"
    )
    return sorted(f"{endpoint}/{deployment}" for endpoint, deployment in rows)


def graph_for_upload(upload_id: str, repo_model: str) -> dict[str, Any] | None:
    """The graph of one model in an inspected upload, None where the file does not tell."""
    inspection = upload_get(upload_id).inspection or {"models": []}
    for model in inspection["models"]:
        if model["name"] == repo_model:
            graph: dict[str, Any] | None = model.get("graph")
            return graph
    raise ModelNotFound(f"This upload holds no model called {repo_model!r}.")


def graph_for_version(name: str, version: str, repo_model: str) -> dict[str, Any] | None:
    for row in version_get(name, version).repo_models.all():
        if row.name == repo_model:
            graph: dict[str, Any] | None = row.graph
            return graph
    raise ModelNotFound(f"Model {name!r} holds no model called {repo_model!r}.")


def models_called(version: ModelVersion) -> list[RepoModel]:
    """The models of a version as clients care: pipelines first, then what only serves as a step."""
    rows = list(version.repo_models.all())
    steps = {
        name
        for row in rows
        if row.platform == ENSEMBLE
        for name in STEP.findall(row.config_effective or row.config_text)
    }
    return sorted(rows, key=lambda row: (row.name in steps, row.platform != ENSEMBLE, row.name))


def blobs_used() -> set[str]:
    """SHA-256 of every file that a version or an upload still names."""
    manifests = [
        *ModelVersion.objects.values_list("manifest", flat=True),
        *Upload.objects.values_list("manifest", flat=True),
    ]
    return {entry["sha256"] for manifest in manifests for entry in manifest}


def _versions() -> QuerySet[ModelVersion]:
    return ModelVersion.objects.select_related("model").prefetch_related(
        "repo_models", "config_revisions"
    )


def _endpoints_by_version(**which: Any) -> defaultdict[tuple[int, int], list[str]]:
    # why by relation name: deployments lie above the registry, which must not import them.
    rows = (
        ModelVersion.objects.filter(deployment__isnull=False, **which)
        .values_list("model_id", "version", "deployment__endpoint__name")
        .distinct()
        .order_by("deployment__endpoint__name")
    )
    names: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for model_id, version, endpoint in rows:
        names[model_id, version].append(endpoint)
    return names
