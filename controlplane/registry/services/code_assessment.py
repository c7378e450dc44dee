"""The inspection's verdict on what runs code: asked in its limited process, kept with the rows."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from django.db.models import Manager, Q

from controlplane.registry import inspector
from controlplane.registry.code import CodeReason
from controlplane.registry.models import (
    ConfigRevision,
    ModelFile,
    ModelVersion,
    RepoModel,
    UnpackedFile,
    Upload,
)


def paths_of(files: "Manager[ModelFile] | Manager[UnpackedFile]") -> Iterable[str]:
    """Asked for when they are first looked at, and once."""
    return files.values_list("path", flat=True)


def texts_assess(texts: Mapping[str, str], paths: Iterable[str]) -> dict[str, list[CodeReason]]:
    """Why each config.pbtxt runs code: model -> reasons. ``paths`` are those of all files; they are
    not looked at where there is no text. Raises InspectorUnavailable."""
    return {
        model: _asked("code", model, model=model, text=text, files=_below(model, paths))
        for model, text in texts.items()
    }


def version_assess(version: ModelVersion, revisions: Iterable[ConfigRevision]) -> None:
    """Assess what was registered before versions were, and keep it. Raises InspectorUnavailable.

    Of the files only the names are at hand; what they do not tell is a reason to wait.
    """
    paths = paths_of(version.files)
    if version.code is None:
        version.code = _names_assess(paths)
        ModelVersion.objects.filter(pk=version.pk).update(code=version.code)
    for model in version.repo_models.all():
        if model.code is None:
            assessed = texts_assess({model.name: model.config_text}, paths)
            model.code = assessed[model.name]
            RepoModel.objects.filter(pk=model.pk).update(code=model.code)
    for revision in revisions:
        if revision.code is None:
            revision.code = texts_assess(revision.configs, paths)
            ConfigRevision.objects.filter(pk=revision.pk).update(code=revision.code)


def upload_assess(upload: Upload) -> None:
    """The same for an upload that an earlier version of Shoal read."""
    inspection = upload.inspection
    if inspection is None:
        return
    models = inspection["models"]
    if "code" in inspection and all("code" in model for model in models):
        return
    paths = paths_of(upload.unpacked)
    inspection.setdefault("code", _names_assess(paths))
    for model in models:
        if "code" not in model:
            text = {model["name"]: model["config_text"]}
            model["code"] = texts_assess(text, paths)[model["name"]]
    Upload.objects.filter(pk=upload.pk).update(inspection=inspection)


def versions_assess(*, most: int) -> int:
    """Assess some of the versions that have something that never was; how many."""
    unassessed = (
        Q(code__isnull=True)
        | Q(repo_models__code__isnull=True)
        | Q(config_revisions__pk__isnull=False, config_revisions__code__isnull=True)
    )
    rows = ModelVersion.objects.filter(unassessed).distinct().order_by("pk")
    found = list(rows.prefetch_related("repo_models", "config_revisions")[:most])
    for version in found:
        version_assess(version, version.config_revisions.all())
    return len(found)


def _names_assess(paths: Iterable[str]) -> list[CodeReason]:
    return _asked("code_names", "", files=list(paths))


def _below(model: str, paths: Iterable[str]) -> list[str]:
    folder = f"{model}/"
    return [path.removeprefix(folder) for path in paths if path.startswith(folder)]


def _asked(op: str, file: str, **parts: Any) -> list[CodeReason]:
    answer = inspector.configs.ask(op, **parts)
    if answer.get("ok") and isinstance(answer.get("code"), list):
        return cast(list[CodeReason], inspector.storable(answer["code"]))
    # why not a failure: it would answer the same the next time, and somebody may look and approve
    said = str(answer.get("error") or "no reasons")[:200]
    message = f"It could not be assessed: the inspection said {said!r}."
    return [CodeReason(file=file, kind="unknown", value="", message=message)]
