"""Whether what runs code may run here: reads over ``code``'s reasons, approvals and the policy."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict

from django.conf import settings

from controlplane.registry.code import CodeReason, code_key, reasons_kept, told_once
from controlplane.registry.models import CodeApproval, ConfigRevision, ModelVersion, Upload

STATES: Final = ("none", "allowed", "waiting", "refused")
Judged = Mapping[str, list[CodeReason]]  # model -> why its text runs code


class CodeState(TypedDict):
    """``state``: none (it brings no code), allowed, waiting for somebody who may, or refused."""

    state: str
    reasons: list[CodeReason]
    approved_by: str | None
    approved_at: Any


def version_reasons(version: ModelVersion, *, newest: int | None = None) -> list[CodeReason]:
    """Why it runs code, with all configurations that it ever had, or those up to ``newest``."""
    found = reasons_kept(version.code)
    for model in version.repo_models.all():
        found += reasons_kept(model.code)
    for revision in version.config_revisions.all():
        for name in revision.configs if newest is None or revision.number <= newest else ():
            found += _revised(revision, name)
    return told_once(found)


def started_reasons(
    version: ModelVersion, revision: ConfigRevision | None, unsaved: Judged | None = None
) -> list[CodeReason]:
    """Why it runs code with one revision of its configurations, and ``unsaved`` texts over it."""
    found = reasons_kept(version.code)
    for model in version.repo_models.all():
        if unsaved and model.name in unsaved:
            found += unsaved[model.name]
        elif revision is not None and model.name in revision.configs:
            found += _revised(revision, model.name)
        else:
            found += reasons_kept(model.code)
    return told_once(found)


def upload_reasons(upload: Upload, unsaved: Judged | None = None) -> list[CodeReason]:
    """Why an upload runs code, with ``unsaved`` texts over its own; none before it was read."""
    if upload.inspection is None:
        return []
    found = reasons_kept(upload.inspection.get("code"))
    for model in upload.inspection.get("models", []):
        if unsaved and model["name"] in unsaved:
            found += unsaved[model["name"]]
        else:
            found += reasons_kept(model.get("code"))
    return told_once(found)


def _revised(revision: ConfigRevision, name: str) -> list[CodeReason]:
    return reasons_kept((revision.code or {}).get(name))


def covered(approval: CodeApproval | None, reasons: Iterable[CodeReason]) -> bool:
    """Whether whoever approved saw all of these."""
    if approval is None:
        return False
    return {code_key(reason) for reason in reasons} <= {code_key(seen) for seen in approval.reasons}


def code_state(reasons: list[CodeReason], approval: CodeApproval | None) -> CodeState:
    policy = settings.SHOAL_CODE_POLICY
    approved = covered(approval, reasons)
    if not reasons:
        state = "none"
    elif policy == "off":
        state = "refused"
    else:
        state = "allowed" if policy == "on" or approved else "waiting"
    shown = approval if reasons and approved else None
    return CodeState(
        state=state,
        reasons=reasons,
        approved_by=shown.approved_by if shown else None,
        approved_at=shown.updated_at if shown else None,
    )


def version_code(version: ModelVersion) -> CodeState:
    return code_state(version.code_reasons, version.approval)


def upload_code(upload: Upload) -> CodeState:
    """As if it were registered now; no query where it brings no code."""
    reasons = upload_reasons(upload)
    rows = CodeApproval.objects.filter(digest=upload.digest)
    return code_state(reasons, rows.first() if reasons else None)


def approvals_fill(versions: Iterable[ModelVersion]) -> None:
    """Set ``code_reasons`` and ``approval``; one query, and none where nothing brings code."""
    found = list(versions)
    for version in found:
        version.code_reasons = version_reasons(version)
    digests = {version.digest for version in found if version.code_reasons}
    rows = CodeApproval.objects.filter(digest__in=digests) if digests else []
    by_digest = {row.digest: row for row in rows}
    for version in found:
        version.approval = by_digest.get(version.digest)
