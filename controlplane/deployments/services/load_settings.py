"""What a deployment's model says of instances, batches and delay, and texts that say otherwise."""

from dataclasses import dataclass
from typing import Any

from controlplane.core.errors import Invalid
from controlplane.deployments.models import DeploymentRevision
from controlplane.registry import inspector
from controlplane.registry.selectors import config_texts, repo_model_get
from controlplane.registry.services.approvals import version_code_check
from controlplane.registry.services.configs import config_check
from controlplane.registry.services.signatures import version_signature_check
from controlplane.tuning.space import Setting


@dataclass(frozen=True, slots=True)
class LoadSettings:
    now: Setting
    fixed: str  # why its instances cannot be chosen; empty: they can


def settings_read(revision: DeploymentRevision, model: str) -> LoadSettings:
    """Raises ModelNotFound, Invalid for a model that cannot be tuned, InspectorUnavailable."""
    found = _ask("load_settings", effective=_effective(revision, model))
    if found["why_not"]:
        raise Invalid(
            f"model: {model!r}, expected one whose load can be tuned: {found['why_not']}.",
            field="model",
        )
    batch = int(found["batch"])
    delay = int(found["delay_us"]) if batch > 1 else 0
    return LoadSettings(Setting(int(found["instances"]), batch, delay), str(found["fixed"]))


def _effective(revision: DeploymentRevision, model: str) -> str:
    """The complete configuration that its replicas serve ``model`` with."""
    version, edits = revision.model_version, _edits(revision)
    if model in edits:
        return str(config_check(version, model, edits)["effective"])
    return repo_model_get(version, model).config_effective


def _edits(revision: DeploymentRevision) -> dict[str, str]:
    return dict(revision.config_revision.configs) if revision.config_revision else {}


def text_with(revision: DeploymentRevision, model: str, wanted: Setting, *, now: Setting) -> str:
    """Its config.pbtxt with ``wanted`` written into it. What is as it is ``now`` stays unwritten.

    Raises Invalid for a text that cannot be read, InspectorUnavailable.
    """
    text = config_texts(revision.model_version, revision.config_revision)[model]
    if wanted == now:
        return text
    batched = (wanted.batch, wanted.delay_us) != (now.batch, now.delay_us)
    answer = _ask(
        "with_load_settings",
        text=text,
        instances=wanted.instances if wanted.instances != now.instances else None,
        batch=wanted.batch if batched else 0,
        delay_us=wanted.delay_us,
    )
    return str(answer["text"])


def _ask(op: str, **parts: Any) -> dict[str, Any]:
    answer = inspector.configs.ask(op, **parts)
    if not answer["ok"]:
        raise Invalid(f"The configuration cannot be read: {answer['error']}.", field="model")
    return answer


def may_run_check(revision: DeploymentRevision, model: str, text: str) -> None:
    """Whether a private replica may run it with ``text``, by the rules of deployments. Raises
    CodeNotApproved, CodeNotAllowed, SignatureRequired, InspectorUnavailable."""
    version, config = revision.model_version, revision.config_revision
    version_code_check(version, config, {model: text})
    version_signature_check(version, config, {model: text})
