"""The policy about code in models: who is let through at once, who waits, what is refused."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction

from controlplane.accounts.policy import Permission, lowest_role
from controlplane.core import events
from controlplane.registry import selectors
from controlplane.registry.code import CodeReason, code_kinds, reasons_joined
from controlplane.registry.code_state import (
    covered,
    started_reasons,
    upload_reasons,
    version_reasons,
)
from controlplane.registry.errors import CodeNotAllowed, CodeNotApproved
from controlplane.registry.models import CodeApproval, ConfigRevision, ModelVersion, Upload
from controlplane.registry.services import code_assessment
from controlplane.registry.variables import OWN, code_in_variables


def code_refuse(what: str, reasons: list[CodeReason]) -> None:
    """Raises CodeNotAllowed where the installation takes no code at all."""
    if not reasons or settings.SHOAL_CODE_POLICY != "off":
        return
    raise CodeNotAllowed(
        f"{what} runs code: {reasons[0]['message']} This installation takes no such models.",
        hints=(
            "Export the model to a format without code of its own, such as ONNX.",
            "Whoever runs this installation can set SHOAL_CODE_POLICY=approved.",
        ),
        extra={"reasons": _shown(reasons)},
    )


def version_code_check(
    version: ModelVersion,
    revision: ConfigRevision | None,
    texts: Mapping[str, str] | None = None,
    *,
    may_run_code: bool = False,
) -> list[str]:
    """Whether this may start on a node now, with ``texts`` that are not saved over its own.

    Returns the kinds of code that it may run there. ``may_run_code``: nobody has to approve it.
    Raises CodeNotAllowed, CodeNotApproved, InspectorUnavailable.
    """
    code_assessment.version_assess(version, [revision] if revision else [])
    unsaved = code_assessment.texts_assess(texts or {}, code_assessment.paths_of(version.files))
    reasons = started_reasons(version, revision, unsaved)
    code_refuse(str(version), reasons)
    if not may_run_code:
        _approved_check(version, reasons)
    return code_kinds(reasons)


def _approved_check(version: ModelVersion, reasons: list[CodeReason]) -> None:
    if not reasons or settings.SHOAL_CODE_POLICY == "on":
        return
    if covered(CodeApproval.objects.filter(digest=version.digest).first(), reasons):
        return
    name, number = version.model.name, version.version
    raise _not_approved(
        str(version),
        reasons,
        "They press Approve on its page, or run: "
        f"shoal model approve --name {name} --version {number}.",
        {"model": name, "version": number},
    )


def upload_code_check(upload: Upload, texts: Mapping[str, str], *, may_run_code: bool) -> list[str]:
    """The same for an upload that is no version yet; all its models must be known."""
    code_assessment.upload_assess(upload)
    reasons = upload_reasons(
        upload, code_assessment.texts_assess(texts, code_assessment.paths_of(upload.unpacked))
    )
    code_refuse(upload.filename, reasons)
    if reasons and settings.SHOAL_CODE_POLICY == "approved" and not may_run_code:
        raise _not_approved(
            upload.filename, reasons, "Register it first; they approve the version.", {}
        )
    return code_kinds(reasons)


def variables_check(values: Mapping[str, str | None], *, may_run_code: bool) -> None:
    """Variables can have a file run, as code does: the rest is on a list. Raises CodeNotAllowed."""
    policy = settings.SHOAL_CODE_POLICY
    if policy == "on" or (policy == "approved" and may_run_code):
        return
    found = code_in_variables(values, settings.SHOAL_ALLOWED_VARIABLES)
    if not found:
        return
    name, why = next(iter(found.items()))
    raise CodeNotAllowed(
        f"environment.{name}: {why}, and a variable can have any file of the node run.",
        field=f"environment.{name}",
        hints=(
            f"Call what the model itself reads {', '.join(OWN)}.",
            f"Somebody with the role {lowest_role(Permission.CODE)} may set it.",
            "Whoever runs this installation can allow the name: SHOAL_ALLOWED_VARIABLES.",
        ),
        extra={"needed_permission": Permission.CODE, "variables": list(found)},
    )


@transaction.atomic
def version_approve(
    *, name: str, version: str, actor: str, config_revision: int | None = None
) -> ModelVersion:
    """Say yes to the code in a version: these files may run from now on, under whatever name.

    ``config_revision``: the newest edit of its configurations that was looked at; what later ones
    name waits on. What needs no approval stays as it is. Raises ModelNotFound, CodeNotAllowed,
    InspectorUnavailable.
    """
    row = selectors.version_get(name, version)
    code_assessment.version_assess(row, row.config_revisions.all())
    reasons = version_reasons(row, newest=config_revision)
    code_refuse(str(row), reasons)
    _approve(row, reasons, actor=actor)
    return selectors.version_get(name, row.version)


@transaction.atomic
def version_disapprove(*, name: str, version: str, actor: str) -> ModelVersion:
    """Take the approval of these files back, under whatever name they are registered.

    What runs them runs on; nothing starts them anew by deploying, trying, going back or retrying.
    Where nobody approved nothing changes. Raises ModelNotFound.
    """
    row = selectors.version_get(name, version)
    removed, _ = CodeApproval.objects.filter(digest=row.digest).delete()
    if removed:
        events.record(
            actor=actor,
            verb="model.code_disapproved",
            subject=f"model/{row.model.name}",
            message=f"{actor} took back the approval of the code in {row}",
            data={"version": row.version, "digest": row.digest},
        )
    return selectors.version_get(name, row.version)


def code_approve(version: ModelVersion, revision: ConfigRevision | None, *, actor: str) -> None:
    """Approve what runs with this revision, and nothing that another one names: nobody looked at
    that. Raises InspectorUnavailable."""
    code_assessment.version_assess(version, [revision] if revision else [])
    _approve(version, started_reasons(version, revision), actor=actor)


def code_extend(version: ModelVersion, revision: ConfigRevision, *, actor: str) -> None:
    """An edit by somebody who may approve: what it adds is approved if the files are already."""
    if CodeApproval.objects.filter(digest=version.digest).exists():
        code_approve(version, revision, actor=actor)


def _approve(version: ModelVersion, reasons: list[CodeReason], *, actor: str) -> None:
    """Write the approval down, beside earlier ones of these files, if there is anything new."""
    existing = CodeApproval.objects.select_for_update().filter(digest=version.digest).first()
    if not reasons or covered(existing, reasons):
        return
    before = existing.reasons if existing else []
    CodeApproval.objects.update_or_create(
        digest=version.digest,
        defaults={"reasons": reasons_joined(before, reasons), "approved_by": actor},
    )
    events.record(
        actor=actor,
        verb="model.code_approved",
        subject=f"model/{version.model.name}",
        message=f"{actor} approved the code in {version}",
        data={
            "version": version.version,
            "digest": version.digest,
            "files": [reason["file"] for reason in reasons],
        },
    )


def _not_approved(
    what: str, reasons: list[CodeReason], how: str, extra: dict[str, Any]
) -> CodeNotApproved:
    role = lowest_role(Permission.CODE)
    return CodeNotApproved(
        f"{what} runs code, which nobody has approved yet: {reasons[0]['message']}",
        hints=(f"Somebody with the role {role} can approve it.", how),
        extra={
            **extra,
            "reasons": _shown(reasons),
            "needed_permission": Permission.CODE,
            "needed_role": role,
        },
    )


def _shown(reasons: list[CodeReason]) -> list[dict[str, str]]:
    return [{"file": reason["file"], "message": reason["message"]} for reason in reasons]
