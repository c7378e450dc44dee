"""Whether what runs code may run here: reads over ``code``'s reasons, approvals and the policy."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict

from django.conf import settings

from controlplane.registry.code import (
    CodeReason,
    code_in_config,
    code_in_files,
    code_in_graphs,
    code_key,
    told_once,
)
from controlplane.registry.models import CodeApproval, ModelVersion, Upload
from controlplane.registry.types import manifest_digest

STATES: Final = ("none", "allowed", "waiting", "refused")


class CodeState(TypedDict):
    """``state``: none (it brings no code), allowed, waiting for somebody who may, or refused."""

    state: str
    reasons: list[CodeReason]
    approved_by: str | None
    approved_at: Any


def version_reasons(
    version: ModelVersion, texts: Mapping[str, str] | None = None
) -> list[CodeReason]:
    """Why it runs code, with ``texts`` as its configurations; default: all that it ever had."""
    models = list(version.repo_models.all())
    if texts is None:
        written = [(model.name, model.config_text) for model in models]
        for revision in version.config_revisions.all():
            written += revision.configs.items()
    else:
        written = list(texts.items())
    producers = {model.name: (model.graph or {}).get("producer", "") for model in models}
    reasons = code_in_files(entry["path"] for entry in version.manifest)
    reasons += code_in_graphs(producers)
    for name, text in written:
        reasons += code_in_config(name, text)
    return told_once(reasons)


def upload_reasons(upload: Upload, texts: Mapping[str, str] | None = None) -> list[CodeReason]:
    """Why an inspected upload runs code, with ``texts`` over its own configurations."""
    models = (upload.inspection or {}).get("models", [])
    reasons = code_in_files(entry["path"] for entry in upload.manifest)
    reasons += code_in_graphs(
        {model["name"]: (model.get("graph") or {}).get("producer", "") for model in models}
    )
    for model in models:
        reasons += code_in_config(
            model["name"], (texts or {}).get(model["name"], model["config_text"])
        )
    return told_once(reasons)


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
    digest = manifest_digest(upload.manifest)
    rows = CodeApproval.objects.filter(digest=digest) if reasons else CodeApproval.objects.none()
    return code_state(reasons, rows.first())


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
