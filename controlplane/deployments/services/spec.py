"""What the names in the specification of a deployment stand for, and whether it may run."""

from collections.abc import Mapping

from controlplane.core import vault
from controlplane.core.errors import Invalid
from controlplane.deployments.errors import ModelNotDeployable
from controlplane.deployments.models import DeploymentRevision, InstanceType
from controlplane.deployments.naming import variable_problem
from controlplane.deployments.probes import probe_declared
from controlplane.deployments.selectors.desired import SECRETS, environment_of
from controlplane.deployments.selectors.instance_types import (
    instance_type_list,
    instance_type_wanted,
    match,
)
from controlplane.deployments.spec import (
    SETTINGS,
    Kind,
    RunSettings,
    Spec,
    settings_from_json,
    settings_to_json,
)
from controlplane.registry.models import ConfigRevision, ModelVersion
from controlplane.registry.selectors import version_named
from controlplane.registry.services.approvals import variables_check, version_code_check
from controlplane.registry.services.signatures import version_signature_check


def resolve(spec: Spec) -> tuple[ModelVersion, ConfigRevision | None]:
    version = version_named(spec.model, spec.version)
    _not_archived(version, field="version")
    return version, _revision(version, spec.config_revision)


def resolve_to_run(spec: Spec) -> tuple[ModelVersion, ConfigRevision | None, list[str]]:
    """The same, for what will be started, and the kinds of code that it may run.

    Raises CodeNotAllowed, CodeNotApproved, SignatureRequired besides.
    """
    version, revision = resolve(spec)
    return version, revision, start_check(version, revision)


def start_check(version: ModelVersion, revision: ConfigRevision | None) -> list[str]:
    """The kinds of code that fresh replicas of this may run now.

    Raises CodeNotAllowed, CodeNotApproved, SignatureRequired.
    """
    allowed = version_code_check(version, revision)
    version_signature_check(version, revision)
    return allowed


def runnable_check(
    current: DeploymentRevision, asked: DeploymentRevision, *, may_run_code: bool
) -> list[str]:
    """The same of what a deployment ran, or was to run, before, and is to start again.

    Variables that its ``current`` revision does not have are asked about as if they were said
    again. Raises ModelNotDeployable besides.
    """
    _not_archived(asked.model_version, field=None)
    now = environment_of(current)
    fresh = {name: text for name, text in environment_of(asked).items() if now.get(name) != text}
    variables_check(fresh, may_run_code=may_run_code)
    return start_check(asked.model_version, asked.config_revision)


def _not_archived(version: ModelVersion, *, field: str | None) -> None:
    if version.archived or version.model.archived:
        raise ModelNotDeployable(
            f"{version} is archived.", hints=("Restore it first.",), field=field
        )


def _revision(version: ModelVersion, number: int | None) -> ConfigRevision | None:
    if number is None:
        return version.config_revisions.order_by("-number").first()
    revision = version.config_revisions.filter(number=number).first()
    if revision is None and number != 0:
        raise ModelNotDeployable(
            f"{version} has no configuration revision {number}.",
            field="config_revision",
        )
    return revision


def instance_type_of(spec: Spec) -> InstanceType | None:
    """The one that is named; or that was declared in Azure's words, if we know it.

    Raises InstanceTypeUnknown.
    """
    if spec.instance_type:
        return instance_type_wanted(spec.instance_type)
    declared = spec.declared.get("instance_type")
    return match(declared, instance_type_list()) if isinstance(declared, str) else None


def run_settings(spec: Spec) -> RunSettings:
    """How its replicas shall run: also by a probe that is only declared, in Azure's words.

    Raises ProbeInvalid."""
    said = settings_to_json(spec)
    declared = {
        name: probe_declared(spec.declared, name)
        for name, value in said.items()
        if value is None and SETTINGS[name].value is Kind.PROBE
    }
    return settings_from_json({**said, **declared})


def secrets_merged(
    old: Mapping[str, str], changes: Mapping[str, str | None] | None
) -> dict[str, str]:
    """Sealed values by name: those of ``old``, changed; None takes one away. Raises Invalid."""
    found = dict(old)
    for name, clear in (changes or {}).items():
        if why := variable_problem(name):
            raise Invalid(why, field="secret_environment")
        if clear is None:
            found.pop(name, None)
        else:
            found[name] = vault.seal(SECRETS, clear)
    return found
