"""Reads of the registry. Rows come back complete: with ``used_by`` and ``latest`` filled in."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from controlplane.accounts.models import User
from controlplane.core.models import EventArchive
from controlplane.core.tags import tagged
from controlplane.registry.code_state import approvals_fill
from controlplane.registry.errors import (
    DraftNotFound,
    ModelNotFound,
    RevisionNotFound,
    UploadNotFound,
)
from controlplane.registry.models import (
    AnnouncedFile,
    Blob,
    ConfigRevision,
    Draft,
    Model,
    ModelAlias,
    ModelFile,
    ModelVersion,
    RepoModel,
    UnpackedFile,
    Upload,
)
from controlplane.registry.types import FileEntry

LATEST = "latest"
LONGEST_NUMBER = 9
ENSEMBLE = "ensemble"
STEP = re.compile(r'\bmodel_name\s*:\s*"([^"]*)"')  # nothing else of a configuration is called so
# why by relation name: deployments lie above the registry, which must not import them
CURRENT = "deployment_revisions__current_of"  # of a version: deployments that run it now
ACTIVE = (Upload.State.FETCHING, Upload.State.VERIFYING, Upload.State.INSPECTING)
GROWING = (Upload.State.UPLOADING, *ACTIVE)


def upload_get(upload_id: str) -> Upload:
    try:
        return Upload.objects.get(pk=upload_id)
    except Upload.DoesNotExist:
        raise UploadNotFound(
            "No such upload. It was deleted, or it expired.", hints=("Upload the file again.",)
        ) from None


def uploads_unregistered() -> QuerySet[Upload]:
    """Those that hold bytes and that no version came from, of all projects."""
    same = ModelVersion.everything.filter(
        digest=OuterRef("digest"), model__project=OuterRef("project")
    )
    return Upload.everything.filter(
        Q(state__in=GROWING) | Q(~Exists(same), state=Upload.State.READY)
    )


def projects_bytes(projects: Collection[str], *, without: str = "") -> dict[str, int]:
    """What quotas count, by project: its models' versions, each as if it shared no file, and its
    uploads that are not registered, but for the one ``without``."""
    found = dict.fromkeys(projects, 0)
    versions = ModelVersion.everything.filter(model__project__in=found)
    sums = versions.values_list("model__project").annotate(bytes=Sum("size"))
    found |= {str(project): int(size) for project, size in sums}
    uploads = uploads_unregistered().filter(project__in=found).exclude(pk=without)
    each = uploads.values_list("pk", "project", "size")  # why the key: two of one size are two
    for _, project, size, held in each.annotate(bytes=Sum("unpacked__size", default=0)):
        found[project] += max(size, held)  # archives grow when they are unpacked
    return found


def draft_list(user: User) -> QuerySet[Draft]:
    """Everybody sees their own."""
    return Draft.objects.filter(owner=user)


def draft_get(user: User, draft_id: str) -> Draft:
    """Raises DraftNotFound."""
    draft = draft_list(user).filter(pk=draft_id).first()
    if draft is None:
        raise DraftNotFound(
            "No such draft. It was deployed or discarded, or it is another user's.",
            hints=("Start a new one.",),
        )
    return draft


def model_list(
    *,
    q: str = "",
    archived: str = "active",
    type: str = "",  # noqa: A002 - as the query says it
    tags: dict[str, str] | None = None,
    backend: str = "",
    deployed: bool | None = None,
    project: str = "",
) -> QuerySet[Model]:
    """``archived``: "active" hides archived models, "archived" shows only those, "all" both.

    ``type`` and ``tags`` must be those of the model, or of its newest version. ``backend`` is one
    of that version's models, or "ensemble"; ``deployed`` asks for any version.
    """
    newest = ModelVersion.objects.order_by("archived", "-version")
    rows = Model.objects.annotate(
        newest_id=Subquery(newest.filter(model=OuterRef("pk")).values("pk")[:1])
    )
    if q:
        rows = rows.filter(Q(name__icontains=q) | Q(description__icontains=q))
    if project:
        rows = rows.filter(project=project)
    if archived != "all":
        rows = rows.filter(archived=archived == "archived")
    if type:
        rows = rows.filter(newest_id__in=ModelVersion.objects.filter(type=type).values("pk"))
    if backend:
        field = "platform" if backend == ENSEMBLE else "backend"
        having = RepoModel.objects.filter(**{field: backend}).values("model_version")
        rows = rows.filter(newest_id__in=having)
    if deployed is not None:
        running = Exists(_deployed().filter(model=OuterRef("pk")))
        rows = rows.filter(running if deployed else ~running)
    rows = tagged(rows, tags or {})
    inner = ModelVersion.objects.filter(model=OuterRef("model")).order_by("archived", "-version")
    return rows.prefetch_related(
        Prefetch(
            "versions",
            queryset=_versions().filter(pk=Subquery(inner.values("pk")[:1])),
            to_attr="newest",
        ),
        Prefetch("aliases", ModelAlias.objects.select_related("version").order_by("name")),
    )


def model_get(name: str) -> Model:
    model = model_list(archived="all").filter(name=name).first()
    if model is None:
        raise ModelNotFound(f"No model is called {name!r}.")
    return models_complete([model])[0]


def models_complete(models: Iterable[Model]) -> list[Model]:
    """Fill in ``latest`` and ``used_by`` of rows from ``model_list``, in one query for all.

    One more where a model brings code: its approval.
    """
    found = list(models)
    by_version = _endpoints_by_version(model_id__in=[model.pk for model in found])
    for model in found:
        newest: list[ModelVersion] = getattr(model, "newest", [])
        model.latest = newest[0] if newest else None
        if model.latest is not None:
            model.latest.used_by = by_version[model.pk, model.latest.version]
        names = [by_version[key] for key in list(by_version) if key[0] == model.pk]
        model.used_by = sorted({name for some in names for name in some})
    approvals_fill(model.latest for model in found if model.latest is not None)
    return found


def version_list(name: str) -> QuerySet[ModelVersion]:
    return _versions().filter(model__name=name)


def versions_complete(versions: Iterable[ModelVersion]) -> list[ModelVersion]:
    found = list(versions)
    by_version = _endpoints_by_version(pk__in=[version.pk for version in found])
    for version in found:
        version.used_by = by_version[version.model_id, version.version]
    approvals_fill(found)
    return found


def version_get(name: str, version: str | int) -> ModelVersion:
    """``version`` is a number, or an alias with or without its @; see ``version_number``.

    With all that showing it needs. Raises ModelNotFound.
    """
    return versions_complete([_version_of(version_list(name), name, version)])[0]


def version_named(name: str, version: str | int) -> ModelVersion:
    """As ``version_get``, and what it holds alone. Raises ModelNotFound."""
    rows = ModelVersion.objects.select_related("model").prefetch_related("repo_models")
    rows = rows.filter(model__name=name)
    return _version_of(rows, name, version)


def _version_of(rows: QuerySet[ModelVersion], name: str, version: str | int) -> ModelVersion:
    if str(version).removeprefix("@") == LATEST:
        found = rows.filter(archived=False).order_by("-version").first()
    else:
        number = version_number(name, version)
        found = rows.filter(version=number).first() if number is not None else None
    if found is None:
        raise ModelNotFound(f"Model {name!r} has no version {version}.", hints=_version_hints(name))
    return found


def version_number(name: str, version: str | int) -> int | None:
    """What a number or alias means now. "latest" is the highest version that is not archived."""
    word = str(version).removeprefix("@")
    if word == LATEST:
        rows = ModelVersion.objects.filter(model__name=name, archived=False)
        return rows.order_by("-version").values_list("version", flat=True).first()
    if word.isascii() and word.isdecimal():
        return int(word) if len(word) <= LONGEST_NUMBER else None
    aliases = ModelAlias.objects.filter(model__name=name, name=word)
    return aliases.values_list("version__version", flat=True).first()


def _version_hints(name: str) -> tuple[str, ...]:
    aliases = ModelAlias.objects.filter(model__name=name).values_list("name", flat=True)
    numbers = ModelVersion.objects.filter(model__name=name, archived=False).order_by("-version")
    known = [str(number) for number in numbers.values_list("version", flat=True)[:10]]
    known += [f"@{alias}" for alias in sorted(aliases)[:10]]
    return (f"It has {', '.join(known)}.",) if known else ()


def revision_get(version: ModelVersion, number: int) -> ConfigRevision:
    """Raises RevisionNotFound."""
    for revision in version.config_revisions.all():
        if revision.number == number:
            return revision
    raise RevisionNotFound(f"{version} has no configuration revision {number}.")


def config_texts(version: ModelVersion, revision: ConfigRevision | None) -> dict[str, str]:
    """The config.pbtxt of each model of the version, verbatim; "" where there is none."""
    texts = {model.name: model.config_text for model in version.repo_models.all()}
    return texts | (dict(revision.configs) if revision else {})


def repo_model_get(version: ModelVersion, name: str) -> RepoModel:
    """Raises ModelNotFound."""
    for row in version.repo_models.all():
        if row.name == name:
            return row
    raise ModelNotFound(f"{version} holds no model called {name!r}.")


def manifests_of(versions: Collection[int]) -> dict[int, list[FileEntry]]:
    """All files of these versions (primary keys), in one query with a row for each file."""
    found: dict[int, list[FileEntry]] = {version: [] for version in versions}
    rows = ModelFile.objects.filter(version__in=versions) if versions else ModelFile.objects.none()
    for version, path, size, sha256 in rows.values_list("version", "path", "size", "sha256"):
        found[version].append(FileEntry(path=path, size=size, sha256=sha256))
    return found


def files_matching(version: ModelVersion, part: str) -> QuerySet[ModelFile]:
    """Those whose path has this part, as it is spelled."""
    rows = version.files.all()
    # why not contains: SQLite takes upper and lower case for the same there
    return rows.filter(GreaterThan(StrIndex("path", Value(part)), 0)) if part else rows


def graph_of_version(version: ModelVersion, repo_model: str) -> dict[str, Any] | None:
    """The graph of one model in a version. Raises ModelNotFound."""
    graph: dict[str, Any] | None = repo_model_get(version, repo_model).graph
    return graph


def neighbours(version: ModelVersion, name: str) -> dict[str, str]:
    """What is known of the other models in a version: their complete configurations."""
    latest = max(version.config_revisions.all(), key=lambda row: row.number, default=None)
    edits = latest.configs if latest else {}
    return {
        row.name: edits.get(row.name) or row.config_effective or row.config_text
        for row in version.repo_models.all()
        if row.name != name
    }


def usage(version: ModelVersion) -> list[dict[str, Any]]:
    """Deployments that run on a version now, and those that could go back to it."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    rows = ModelVersion.objects.filter(pk=version.pk, deployment_revisions__isnull=False)
    for endpoint, deployment, number, config, current in rows.values_list(
        "deployment_revisions__deployment__endpoint__name",
        "deployment_revisions__deployment__name",
        "deployment_revisions__number",
        "deployment_revisions__config_revision__number",
        CURRENT,
    ).order_by("deployment_revisions__number"):
        empty = {
            "endpoint": endpoint,
            "deployment": deployment,
            "current": False,
            "config_revision": config,
            "revisions": [],
        }
        use = found.setdefault((endpoint, deployment), empty)
        use["revisions"].append(number)
        if current is not None:
            use |= {"current": True, "config_revision": config}
    return [found[key] for key in sorted(found)]


def deployments_of(name: str) -> list[str]:
    """``endpoint/deployment`` of all that run on this model, or could go back to it."""
    rows = (
        ModelVersion.objects.filter(model__name=name, deployment_revisions__isnull=False)
        .values_list(
            "deployment_revisions__deployment__endpoint__name",
            "deployment_revisions__deployment__name",
        )
        .distinct()
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


def neighbours_for_upload(upload_id: str, repo_model: str) -> dict[str, str]:
    """The configurations of the other models in an inspected upload, complete as far as known."""
    inspection = upload_get(upload_id).inspection or {"models": []}
    return {
        model["name"]: model["config_effective"] or model["config_text"]
        for model in inspection["models"]
        if model["name"] != repo_model
    }


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


def blobs_unused() -> QuerySet[Blob]:
    """Those that no file of a version or of an upload has, and no archive of events is."""
    files = (ModelFile, UnpackedFile, AnnouncedFile)
    rows = Blob.objects.filter(~Exists(EventArchive.objects.filter(sha256=OuterRef("pk"))))
    return rows.filter(*(~Exists(of.objects.filter(sha256=OuterRef("pk"))) for of in files))


def storage_use() -> dict[str, int]:
    """Blobs and bytes in all, and those that nothing names."""
    counted = {"blobs": Count("pk"), "bytes": Sum("size", default=0)}
    every, unused = Blob.objects.aggregate(**counted), blobs_unused().aggregate(**counted)
    return {
        "blobs": every["blobs"],
        "bytes": every["bytes"],
        "unused_blobs": unused["blobs"],
        "unused_bytes": unused["bytes"],
    }


def _versions() -> QuerySet[ModelVersion]:
    return ModelVersion.objects.select_related("model").prefetch_related(
        "repo_models", "config_revisions", "aliases"
    )


def _deployed() -> QuerySet[ModelVersion]:
    """One row for each deployment that runs on a version now."""
    return ModelVersion.objects.filter(**{f"{CURRENT}__isnull": False})


def _endpoints_by_version(**which: Any) -> defaultdict[tuple[int, int], list[str]]:
    rows = (
        _deployed()
        .filter(**which)
        .values_list("model_id", "version", f"{CURRENT}__endpoint__name")
        .distinct()
        .order_by(f"{CURRENT}__endpoint__name")
    )
    names: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for model_id, version, endpoint in rows:
        names[model_id, version].append(endpoint)
    return names
