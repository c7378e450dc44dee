"""A ready upload becomes a version of a model: its configurations edited, checked and kept."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from django.conf import settings
from django.db import transaction

from controlplane.accounts import projects
from controlplane.accounts.services.projects import project_hold, quota_check
from controlplane.core import events
from controlplane.registry import inspector, selectors
from controlplane.registry.code import CodeReason
from controlplane.registry.code_state import upload_reasons
from controlplane.registry.errors import (
    ConfigInvalid,
    ModelArchived,
    ModelVersionImmutable,
    NameInvalid,
    NameTaken,
    TensorsDiffer,
    UploadStateConflict,
)
from controlplane.registry.models import (
    ConfigRevision,
    Model,
    ModelFile,
    ModelVersion,
    RepoModel,
    Upload,
)
from controlplane.registry.services.approvals import code_approve, code_refuse
from controlplane.registry.services.code_assessment import paths_of, texts_assess, upload_assess
from controlplane.registry.services.stating import stated_now
from controlplane.registry.types import InspectedModel, Inspection, Proposal

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")


def model_version_register(
    *,
    name: str,
    upload_id: str,
    description: str,
    configs: Mapping[str, str],
    actor: str,
    version: int | None = None,
    tags: dict[str, str] | None = None,
    declared: dict[str, Any] | None = None,
    lineage: Mapping[str, str] | None = None,
    apply_fixes: bool = False,
    same_tensors: bool = False,
    may_run_code: bool = False,
) -> tuple[ModelVersion, bool]:
    """The version, and whether it is new: the same content without edits is the version it was.

    A new model belongs to the project of its upload.

    ``version`` asks for a number; one that exists must have the same content. ``lineage`` is what
    the actor states of its origin; a version that is there keeps its own. ``same_tensors``:
    refused where the newest version takes or gives others. ``may_run_code``: the actor may bring
    code, which is approved by this. Raises NameInvalid, UploadStateConflict, Invalid,
    ConfigInvalid, ModelArchived, ModelVersionImmutable, TensorsDiffer, CodeNotAllowed,
    InspectorUnavailable, NameTaken, ProjectArchived, ProjectQuotaExceeded.
    """
    if not NAME.fullmatch(name):
        raise NameInvalid(
            "Use letters, digits, dot, dash or underscore; begin with a letter or digit.",
            field="name",
        )
    upload = selectors.upload_get(upload_id)
    if upload.state != Upload.State.READY or upload.inspection is None:
        raise UploadStateConflict(
            f"The upload is {upload.state}; only a ready one can be registered.",
            code="UploadNotReady",
            hints=("Wait until its `state` is ready; when it failed, upload again.",),
            extra={"state": upload.state},
        )
    stated = stated_now(upload.lineage, lineage or {}, actor=actor)
    edits = configs_edited(upload.inspection, configs, apply_fixes=apply_fixes)
    upload_assess(upload)
    assessed = texts_assess(edits, paths_of(upload.unpacked))
    code_refuse(upload.filename, upload_reasons(upload, assessed))
    metadata = {
        "description": description,
        "tags": tags or {},
        "declared": declared or {},
        "stated_lineage": stated,
    }
    message = "Edited while registering" if configs else "Completed while registering"
    with transaction.atomic():
        row, created = _register(
            upload, name, version, metadata, edits, assessed, message, actor, same_tensors
        )
        if may_run_code and settings.SHOAL_CODE_POLICY == "approved":
            code_approve(row, None, actor=actor)
            if edits:
                code_approve(row, row.config_revisions.order_by("-number").first(), actor=actor)
    return selectors.version_get(name, row.version), created


def configs_edited(
    inspection: Inspection, configs: Mapping[str, str], *, apply_fixes: bool = False
) -> dict[str, str]:
    """The configurations that differ from the files' own, each checked.

    They come from ``configs``, else from what the inspection proposes: what it is certain of where
    the file has none, everything with ``apply_fixes``.
    Raises ConfigInvalid with the ``problems`` of the first that is wrong.
    """
    models = {model["name"]: model for model in inspection["models"]}
    if strangers := sorted(set(configs) - set(models)):
        raise ConfigInvalid(
            f"The upload holds no model called {strangers[0]!r}.",
            field="configs",
            hints=(f"It holds: {', '.join(models)}.",),
        )
    # why what is wrong too: a text that nothing can mend must not pass as one that needs no mending
    wrong = {
        problem["model"]
        for problem in inspection["problems"]
        if problem.get("scope") == "config" and problem["severity"] == "error"
    }
    for problem in inspection["problems"]:
        name = problem["model"] or ""
        if problem["code"] == "ConfigEncoding" and name not in configs and not apply_fixes:
            raise _refused(name, [problem], models[name])
    texts = {
        name: _wanted(model, configs, apply_fixes=apply_fixes, wrong=name in wrong)
        for name, model in models.items()
    }
    return {
        name: text
        for name, text in texts.items()
        if text is not None
        and _checked(name, text, models, texts)
        and (text != models[name]["config_text"] or _proposed(models[name]))
    }


def _wanted(
    model: InspectedModel, configs: Mapping[str, str], *, apply_fixes: bool, wrong: bool
) -> str | None:
    """The text that replaces the file's, or the file's own if it has to be checked again; None to
    leave that as it is."""
    text = configs.get(model["name"])
    if text is not None:
        written = (model["config_text"] or model["config_effective"]).strip()
        return None if text.strip() == written and not (wrong or _proposed(model)) else text
    proposal = _proposed(model)
    if proposal and (apply_fixes or (proposal["certain"] and not model["config_text"])):
        return proposal["text"]
    return model["config_text"] if proposal or (wrong and model["config_text"]) else None


def _proposed(model: InspectedModel) -> Proposal | None:
    return model.get("proposal")


def _checked(
    name: str, text: str, models: Mapping[str, InspectedModel], texts: Mapping[str, str | None]
) -> bool:
    """True; raises ConfigInvalid with the problems and a proposal, if there is one."""
    model = models[name]
    around = {
        other: texts[other] or found["config_effective"] or found["config_text"]
        for other, found in models.items()
        if other != name
    }
    answer = inspector.configs.ask(
        "validate", text=text, model=name, graph=model["graph"], neighbours=around
    )
    if answer["ok"]:
        return True
    raise _refused(name, answer["problems"], model)


def _refused(name: str, problems: list[Any], model: InspectedModel) -> ConfigInvalid:
    errors = [p for p in problems if p["severity"] == "error"]
    proposal = _proposed(model)
    return ConfigInvalid(
        errors[0]["message"] if errors else f"The configuration of {name!r} is not valid.",
        field=f"configs.{name}",
        hints=_hints(errors, proposal),
        extra={"problems": problems, "proposal": proposal["text"] if proposal else None},
    )


def _hints(errors: list[dict[str, Any]], proposal: Proposal | None) -> tuple[str, ...]:
    labels = [error["fix"]["label"] for error in errors if error.get("fix")]
    hints = [f"{label}." for label in labels]
    if proposal and proposal["certain"]:
        hints.append("Send apply_fixes: true to have it mended as proposed.")
    elif proposal:
        hints.append("`proposal` is a draft: correct its types and shapes and send it in configs.")
    return tuple(hints)


def _register(
    upload: Upload,
    name: str,
    number: int | None,
    metadata: dict[str, Any],
    edits: dict[str, str],
    assessed: dict[str, list[CodeReason]],
    message: str,
    actor: str,
    same_tensors: bool,
) -> tuple[ModelVersion, bool]:
    description = metadata["description"]
    defaults = {"description": description, "project_id": upload.project_name}
    Model.everything.get_or_create(name=name, defaults=defaults)
    # why a lock: two registrations at once must not both take the next number.
    model = Model.everything.select_for_update().get(name=name)
    _project_join(model, upload)
    if model.archived:
        raise ModelArchived(
            f"Model {name!r} is archived.",
            field="name",
            hints=("Restore it, or use another name.",),
        )
    digest = upload.digest
    if number is None:
        same = model.versions.filter(digest=digest).order_by("-version").first()
    else:
        same = _same_number(model, number, digest, edits)
    if same is not None and (not edits or _has_edits(same, edits)):
        return same, False
    inspection = cast(Inspection, upload.inspection)
    before = model.versions.filter(version=model.latest_version).first()
    otherwise = _otherwise(before, inspection) if before else None
    if otherwise and same_tensors:
        raise otherwise
    manifest = upload.manifest()
    size = sum(entry["size"] for entry in manifest)
    project = project_hold(model.project_name)
    projects.not_archived(project)
    used = selectors.projects_bytes([project.name], without=upload.pk)[project.name]
    quota_check(project, "bytes", used=used, wanted=size)
    version = ModelVersion.objects.create(
        model=model,
        version=number or model.latest_version + 1,
        digest=digest,
        size=size,
        file_count=len(manifest),
        source_filename=upload.filename,
        lineage=upload.lineage,
        **metadata,
        warnings=[*_warnings(inspection), *([str(otherwise)] if otherwise else [])],
        code=inspection["code"],
        created_by=actor,
    )
    ModelFile.objects.bulk_create(ModelFile(version=version, **entry) for entry in manifest)
    RepoModel.objects.bulk_create(_repo_model(version, found) for found in inspection["models"])
    if edits:
        ConfigRevision.objects.create(
            model_version=version,
            number=1,
            configs=edits,
            code=assessed,
            message=message,
            author=actor,
        )
    model.latest_version = max(model.latest_version, version.version)
    if description:
        model.description = description
    model.save(update_fields=["latest_version", "description", "updated_at"])
    events.record(
        actor=actor,
        verb="model.registered",
        subject=f"model/{name}",
        message=f"{name} version {version.version} registered from {upload.filename}",
        data={
            "version": version.version,
            "digest": digest,
            **({"lineage": version.stated_lineage} if version.stated_lineage else {}),
        },
    )
    return version, True


def _project_join(model: Model, upload: Upload) -> None:
    """The next version of a model is of its project, wherever its upload was announced by somebody
    who may use both. Raises NameTaken."""
    if not projects.in_scope(model.project_name):
        raise NameTaken(
            f"Another project has a model called {model.name!r}.",
            field="name",
            hints=("Names of models are unique in the installation: choose another.",),
        )
    if model.project_name != upload.project_name:
        upload.project_id = model.project_name
        upload.save(update_fields=["project"])


def _has_edits(version: ModelVersion, edits: dict[str, str]) -> bool:
    """The latest revision says just this."""
    latest = version.config_revisions.order_by("-number").first()
    return latest is not None and latest.configs == edits


def _same_number(
    model: Model, number: int, digest: str, edits: dict[str, str]
) -> ModelVersion | None:
    row = model.versions.filter(version=number).first()
    if row is not None and (row.digest != digest or (edits and not _has_edits(row, edits))):
        raise ModelVersionImmutable(
            f"{row} exists, with other content.",
            field="version",
            hints=(
                f"Leave the version out, or ask for another: {model.latest_version + 1} is free.",
            ),
        )
    return row


def _warnings(inspection: Inspection) -> list[str]:
    """What the inspection had to say, each sentence once."""
    said = [p["message"] for p in inspection["problems"] if p["severity"] != "error"]
    said += [warning for model in inspection["models"] for warning in model["warnings"]]
    return list(dict.fromkeys(said))


def _otherwise(before: ModelVersion, inspection: Inspection) -> TensorsDiffer | None:
    """Where ``before`` takes or gives other tensors, so that it may be somebody else's model."""
    was = {row.name: _tensors(row.inputs, row.outputs) for row in before.repo_models.all()}
    now = {one["name"]: _tensors(one["inputs"], one["outputs"]) for one in inspection["models"]}
    alone = len(was) == len(now) == 1
    if was == now or (alone and [*was.values()] == [*now.values()]):
        return None
    there, here = (
        "; ".join(f"{name}: {side[name]}" for name in sorted(side)) for side in (was, now)
    )
    return TensorsDiffer(
        f"Its inputs and outputs are not those of version {before.version} of {before.model.name}: "
        f"there {there}, here {here}. If it is another model, register it under another name.",
        field="name",
        extra={"newest": before.version, "there": there, "here": here},
    )


def _tensors(inputs: Iterable[Mapping[str, Any]], outputs: Iterable[Mapping[str, Any]]) -> str:
    """All that a caller must know, whatever the order: `image FP32[1,8,8] → scores FP32[-1,10]`."""

    def told(tensors: Iterable[Mapping[str, Any]]) -> str:
        said = (f"{t['name']} {t['datatype']}[{','.join(map(str, t['shape']))}]" for t in tensors)
        return ", ".join(sorted(said)) or "nothing"

    return f"{told(inputs)} → {told(outputs)}"


def _repo_model(version: ModelVersion, found: InspectedModel) -> RepoModel:
    return RepoModel(
        model_version=version,
        name=found["name"],
        backend=found["backend"],
        platform=found["platform"] or "",
        max_batch_size=found["max_batch_size"],
        decoupled=found.get("decoupled", False),
        inputs=found["inputs"],
        outputs=found["outputs"],
        versions=found["versions"],
        config_text=found["config_text"],
        config_effective=found["config_effective"],
        graph=found["graph"],
        code=found["code"],
    )
