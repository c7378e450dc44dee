"""Revisions of configurations: edits over a version that never change it."""

from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from controlplane.core import events
from controlplane.core.errors import Invalid
from controlplane.registry import inspector, selectors
from controlplane.registry.code import CodeReason
from controlplane.registry.errors import ConfigInvalid
from controlplane.registry.models import ConfigRevision, ModelVersion
from controlplane.registry.services.approvals import code_extend
from controlplane.registry.services.code_assessment import paths_of, texts_assess


def revision_create(
    *,
    name: str,
    version: str,
    configs: Mapping[str, str | None],
    message: str,
    base: int | None,
    actor: str,
    may_run_code: bool = False,
    unseen: Callable[[ModelVersion], None] | None = None,
) -> ConfigRevision:
    """``configs`` over revision ``base`` (the latest unless said; 0: the files) as the next one.

    ``None`` for a model takes its edit back. Texts are kept as they are, to the last comment.
    Saying what the latest says already returns it. ``may_run_code``: the actor may approve what
    code it names. ``unseen`` refuses, while nobody else can save, where there are revisions that
    the actor has not seen. Raises ModelNotFound, RevisionNotFound,
    ConfigInvalid with the ``problems``, Invalid, InspectorUnavailable.
    """
    row = selectors.version_get(name, version)
    latest = max((item.number for item in row.config_revisions.all()), default=0)
    number = latest if base is None else base
    edits = dict(selectors.revision_get(row, number).configs) if number else {}
    for model, text in configs.items():
        selectors.repo_model_get(row, model)
        if text is None:
            edits.pop(model, None)
        else:
            edits[model] = text
    if not configs:
        raise Invalid("Say which configuration to edit.", field="configs")
    for model in configs:
        if model in edits:
            config_check(row, model, edits)
    assessed = texts_assess(edits, paths_of(row.files))
    with transaction.atomic():
        # why a lock: two editors at once must not both take the next number
        ModelVersion.objects.select_for_update().get(pk=row.pk)
        if unseen is not None:
            unseen(selectors.version_get(name, row.version))
        revision = _save(row, edits, assessed, message, number, actor)
        if may_run_code:
            code_extend(selectors.version_get(name, row.version), revision, actor=actor)
    return revision


def config_check(version: ModelVersion, model: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """The validator's answer about ``texts[model]``, beside the others. Raises ConfigInvalid."""
    row = selectors.repo_model_get(version, model)
    around = selectors.neighbours(version, model) | {
        other: text for other, text in texts.items() if other != model
    }
    answer = inspector.configs.ask(
        "validate", text=texts[model], model=model, graph=row.graph, neighbours=around
    )
    if not answer["ok"]:
        errors = [p for p in answer["problems"] if p["severity"] == "error"]
        raise ConfigInvalid(
            errors[0]["message"] if errors else f"The configuration of {model!r} is not valid.",
            field=f"configs.{model}",
            hints=tuple(f"{e['fix']['label']}." for e in errors if e.get("fix")),
            extra={"problems": answer["problems"]},
        )
    return answer


def text_check(
    *,
    text: str,
    model: str,
    graph_of: Callable[[str], dict[str, Any] | None],
    neighbours: Mapping[str, str] | None,
    others: Mapping[str, str],
) -> dict[str, Any]:
    """The validator's answer about an unsaved ``text``.

    ``others``: unsaved texts of its neighbours. An ensemble meets them as the runtime completes
    them, so that mending a step mends the ensemble. Without ``neighbours`` they do not matter.
    Raises what ``graph_of`` raises for a name that it does not know.
    """
    around = None if neighbours is None else dict(neighbours)
    for name, edited in others.items():
        if around is not None and name != model:
            told = inspector.configs.ask(
                "validate", text=edited, model=name, graph=graph_of(name), neighbours=around
            )
            around[name] = told.get("effective") or edited
    return inspector.configs.ask(
        "validate", text=text, model=model, graph=graph_of(model), neighbours=around
    )


def _save(
    row: ModelVersion,
    edits: dict[str, str],
    assessed: dict[str, list[CodeReason]],
    message: str,
    base: int,
    actor: str,
) -> ConfigRevision:
    latest = ConfigRevision.objects.filter(model_version=row).order_by("-number").first()
    if latest is not None and latest.configs == edits:
        return latest
    revision = ConfigRevision.objects.create(
        model_version=row,
        number=(latest.number if latest else 0) + 1,
        configs=edits,
        code=assessed,
        base=base,
        message=message,
        author=actor,
    )
    events.record(
        actor=actor,
        verb="model.config_edited",
        subject=f"model/{row.model.name}",
        message=f"{row}: configuration revision {revision.number} by {actor}"
        + (f": {message}" if message else ""),
        data={"version": row.version, "revision": revision.number, "models": sorted(edits)},
    )
    return revision
