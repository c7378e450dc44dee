"""The policy about code in models: who is let through at once, who waits, what is refused."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db import transaction

from controlplane.accounts.policy import Permission, lowest_role
from controlplane.core import events
from controlplane.registry import selectors
from controlplane.registry.code import CodeReason, code_in_variables
from controlplane.registry.code_state import covered, upload_reasons, version_reasons
from controlplane.registry.errors import CodeNotAllowed, CodeNotApproved
from controlplane.registry.models import CodeApproval, ConfigRevision, ModelVersion, Upload


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


def version_code_check(version: ModelVersion, revision: ConfigRevision | None) -> None:
    """Whether this may start on a node now. Raises CodeNotAllowed, CodeNotApproved."""
    reasons = version_reasons(version, selectors.config_texts(version, revision))
    code_refuse(str(version), reasons)
    _approved_check(version, reasons)


def _approved_check(version: ModelVersion, reasons: list[CodeReason]) -> None:
    if not reasons or settings.SHOAL_CODE_POLICY == "on":
        return
    if covered(CodeApproval.objects.filter(digest=version.digest).first(), reasons):
        return
    name, number = version.model.name, version.version
    raise _not_approved(
        str(version),
        reasons,
        f"They press Approve on its page, or run: shoal model approve {name} --version {number}.",
        {"model": name, "version": number},
    )


def upload_code_check(upload: Upload, texts: Mapping[str, str], *, may_run_code: bool) -> None:
    """The same for an upload that is no version yet, and for texts that are not saved."""
    reasons = upload_reasons(upload, texts)
    code_refuse(upload.filename, reasons)
    if reasons and settings.SHOAL_CODE_POLICY == "approved" and not may_run_code:
        raise _not_approved(
            upload.filename, reasons, "Register it first; they approve the version.", {}
        )


def edited_code_check(
    version: ModelVersion,
    revision: ConfigRevision | None,
    texts: Mapping[str, str],
    *,
    may_run_code: bool,
) -> None:
    """The same for a version with texts that are not saved: what they add counts as well."""
    reasons = version_reasons(version, selectors.config_texts(version, revision) | dict(texts))
    code_refuse(str(version), reasons)
    if not may_run_code:
        _approved_check(version, reasons)


def variables_check(names: Iterable[str], *, may_run_code: bool) -> None:
    """Variables that have a file run are code as well. Raises CodeNotAllowed."""
    found = code_in_variables(names)
    policy = settings.SHOAL_CODE_POLICY
    if found and policy != "on" and not (policy == "approved" and may_run_code):
        raise CodeNotAllowed(
            f"{', '.join(found)} can have any file of the node run: setting it is bringing code.",
            field=f"environment.{found[0]}",
            hints=(f"Somebody with the role {lowest_role(Permission.CODE)} may set it.",),
            extra={"needed_permission": Permission.CODE},
        )


@transaction.atomic
def version_approve(*, name: str, version: str, actor: str) -> ModelVersion:
    """Say yes to the code in a version: these files may run from now on, under whatever name.

    What needs no approval stays as it is. Raises ModelNotFound, CodeNotAllowed.
    """
    row = selectors.version_get(name, version)
    reasons = version_reasons(row)
    code_refuse(str(row), reasons)
    code_approve(row, actor=actor)
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


def code_approve(version: ModelVersion, *, actor: str) -> None:
    """Write the approval down, if there is anything new to approve."""
    reasons = version_reasons(version)
    existing = CodeApproval.objects.select_for_update().filter(digest=version.digest).first()
    if not reasons or covered(existing, reasons):
        return
    CodeApproval.objects.update_or_create(
        digest=version.digest, defaults={"reasons": reasons, "approved_by": actor}
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


def code_extend(version: ModelVersion, *, actor: str) -> None:
    """An edit by somebody who may approve: what it adds is approved if the files are already."""
    if CodeApproval.objects.filter(digest=version.digest).exists():
        code_approve(version, actor=actor)


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
