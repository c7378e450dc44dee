"""What every change of a deployment begins with: the row, held and checked, and its operation."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet

from controlplane.autoscaling import policy_from_json
from controlplane.core.errors import Conflict, Invalid
from controlplane.core.names import name_check
from controlplane.deployments.errors import (
    DeploymentHasTraffic,
    NameTaken,
)
from controlplane.deployments.models import Autoscaler, Deployment, Endpoint, Replica
from controlplane.deployments.naming import colour_for
from controlplane.deployments.rules import rules_naming
from controlplane.deployments.services.replicas import replicas_remove, replicas_stop
from controlplane.deployments.services.revisions import (
    ReplicaTemplate,
    deployment_record,
    revision_record,
)
from controlplane.deployments.services.spec import (
    instance_type_of,
    run_settings,
    secrets_merged,
)
from controlplane.deployments.spec import DESCRIPTIVE, ROUTED, SETTINGS, Spec, settings_to_json
from controlplane.deployments.states import DEPLOYMENTS, DeploymentCause
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState
from controlplane.operations.models import Operation
from controlplane.operations.selectors import operations_active
from controlplane.operations.services.operations import nothing_active, operation_open
from controlplane.operations.types import GoldenGate, OperationKind
from controlplane.registry.models import ConfigRevision, ModelVersion

BROKEN = (DeploymentState.FAILED, DeploymentState.CANCELED)


def _set_as_asked(row: Deployment, spec: Spec) -> bool:
    """Whether a deployment has the settings that were asked for: what is left at its default is
    not, and secrets cannot be compared."""
    runs = {
        **{name: getattr(row, name) for name in ROUTED},
        **settings_to_json(row.revision.settings),
    }
    kind = instance_type_of(spec)
    same = kind is None or row.revision.instance_type_id == kind.pk
    return (
        same
        and not spec.secret_environment
        and all(
            getattr(spec, name) in (SETTINGS[name].default, value) for name, value in runs.items()
        )
    )


def _running(
    endpoint: Endpoint, version: ModelVersion, revision: ConfigRevision | None
) -> QuerySet[Deployment]:
    return endpoint.deployments.select_related("revision").filter(
        revision__model_version=version, revision__config_revision=revision
    )


def is_same(
    operation: Operation,
    endpoint: Endpoint,
    deployment: str,
    spec: Spec,
    version: ModelVersion,
    revision: ConfigRevision | None,
) -> bool:
    if operation.kind != OperationKind.DEPLOY or deployment not in ("", operation.deployment):
        return False
    rows = _running(endpoint, version, revision).filter(name=operation.deployment)
    return any(_set_as_asked(row, spec) for row in rows)


def running_as_asked(
    endpoint: Endpoint,
    name: str,
    spec: Spec,
    version: ModelVersion,
    revision: ConfigRevision | None,
) -> Deployment | None:
    rows = _running(endpoint, version, revision).filter(
        provisioning_state=DeploymentState.SUCCEEDED
    )
    if name:
        rows = rows.filter(name=name)
    rows_set = [row for row in rows if _set_as_asked(row, spec)]
    found = sorted(rows_set, key=lambda row: -endpoint.traffic.get(row.name, 0))
    free = [row for row in found if not operations_active(endpoint.name, row.name).exists()]
    return free[0] if free else None


def count_within(autoscale: dict[str, Any] | None, count: int) -> None:
    """A person's count stands until the autoscaler's next change; what it would take back at once
    is refused. Raises Invalid."""
    policy = None if autoscale is None else policy_from_json(autoscale)
    if policy is None or not policy.enabled or count == 0:
        return
    if not policy.min <= count <= policy.widest:
        raise Invalid(
            f"instance_count: {count}, expected {policy.min} to {policy.widest}: "
            "its autoscaling policy would take it back.",
            field="instance_count",
            hints=(
                "Change `min` or `max` of `autoscale`.",
                "Pause the policy: `autoscale.enabled: false`.",
            ),
        )


def colour_free(endpoint: Endpoint, under_way: Iterable[Operation]) -> str:
    rows = list(endpoint.deployments.all())
    busy = {operation.deployment for operation in under_way}
    idle = [
        row.name
        for row in rows
        if not endpoint.traffic.get(row.name)
        and not rules_naming(endpoint.traffic_rules, row.name)
        and row.name not in busy
        and row.provisioning_state != DeploymentState.DELETING
    ]
    broken = [row.name for row in rows if row.name in idle and row.provisioning_state in BROKEN]
    colour = colour_for([row.name for row in rows], idle, broken)
    if colour is None:
        raise NameTaken(
            "Both colours carry traffic, by a share or a rule, or are being changed.",
            field="deployment",
            hints=("Name the deployment, or give one of them no traffic.",),
        )
    return colour


def deployment_place(
    endpoint: Endpoint,
    name: str,
    spec: Spec,
    version: ModelVersion,
    revision: ConfigRevision | None,
    allow_code: list[str],
    actor: str,
    now: datetime,
    *,
    replace: bool,
    field: str = "name",
    golden: GoldenGate = GoldenGate.ASK,
    fresh: bool = False,
) -> Operation:
    """A row for ``name``, new or taken over, and the operation that brings it up; ``field`` is
    where the caller's name stands, for the refusal; ``fresh``: the caller has just made the
    endpoint, so that nothing is there."""
    name_check(name, field=field)
    row = None
    if not fresh:
        nothing_active(endpoint.name, name)
        row = endpoint.deployments.select_related("revision").filter(name=name).first()
    template = ReplicaTemplate(
        model_version=version,
        config_revision=revision,
        instance_type=instance_type_of(spec),
        secrets=secrets_merged(row.revision.secrets if row else {}, spec.secret_environment),
        allow_code=allow_code,
        settings=run_settings(spec),
    )
    values: dict[str, Any] = {name: getattr(spec, name) for name in (*DESCRIPTIVE, *ROUTED)}
    values["instance_count"] = spec.count()
    count_within(values["autoscale"], values["instance_count"])
    if row is None:
        row = deployment_record(endpoint, name, template, author=actor, **values)
        return _open(row, first_traffic(spec.traffic, spec.rollout, golden), actor, now)
    if endpoint.traffic.get(name) or rules_naming(endpoint.traffic_rules, name):
        raise DeploymentHasTraffic(
            f"{name} runs something else and answers requests.",
            hints=("Leave the name out: the other colour is taken, and traffic moves to it.",),
        )
    if not replace and row.provisioning_state not in BROKEN:
        raise NameTaken(f"{endpoint.name} has a deployment called {name} already.", field="name")
    Deployment.objects.filter(pk=row.pk).update(**values, paused_count=None)
    Autoscaler.objects.filter(deployment=row).delete()
    row.refresh_from_db()
    revision_record(row, template, author=actor, cause="replaced")
    return deployment_start(row, first_traffic(spec.traffic, spec.rollout, golden), actor, now)


def first_traffic(
    traffic: int, rollout: dict[str, Any] | None, golden: GoldenGate = GoldenGate.NONE
) -> dict[str, Any]:
    """What an operation keeps of it; a rollout begins without a share."""
    asked = {"traffic": traffic} if rollout is None else {"traffic": 0, "rollout": rollout}
    return {**asked, "golden": golden.value}


def deployment_start(
    row: Deployment, first: dict[str, Any], actor: str, now: datetime
) -> Operation:
    """Bring up an existing row afresh: what ran for it before, if anything, goes. ``first``: as
    ``first_traffic`` makes it."""
    old = Replica.objects.filter(deployment=row)
    replicas_stop(old.values_list("id", flat=True))
    gone = old.filter(state__in=[ReplicaState.STOPPED, ReplicaState.FAILED, ReplicaState.PENDING])
    replicas_remove(list(gone.values_list("id", flat=True)))
    broken = row.provisioning_state in BROKEN
    state = DeploymentState.CREATING if broken else DeploymentState.UPDATING
    _change(row, DeploymentCause.START, state, error=None)
    return _open(row, first, actor, now)


def _change(
    row: Deployment, cause: DeploymentCause, state: DeploymentState | None = None, **fields: Any
) -> None:
    """The state in which a change begins. Raises IllegalTransition."""
    changed = DEPLOYMENTS.move(row, cause, state, generation=F("generation") + 1, **fields)
    row.refresh_from_db()
    if not changed:
        DEPLOYMENTS.check(DeploymentState(row.provisioning_state), cause, state)


def _open(row: Deployment, first: dict[str, Any], actor: str, now: datetime) -> Operation:
    return operation_open(
        kind=OperationKind.DEPLOY,
        endpoint=row.endpoint,
        deployment=row,
        parameters={**first, "instance_count": row.instance_count},
        actor=actor,
        now=now,
    )


def rolling_open(
    row: Deployment,
    back_to: int,
    actor: str,
    now: datetime,
    *,
    previous_count: int | None = None,
    golden: GoldenGate = GoldenGate.NONE,
) -> Operation:
    """Replace what runs, replica by replica of the new kind first; the old ones go at the end.

    ``row`` asks for the new; ``back_to`` is the revision that it returns to if this fails, to
    ``previous_count`` replicas.
    """
    running = row.replicas.filter(desired=Desired.RUNNING).values_list("id", flat=True)
    parameters = {
        **first_traffic(0, None, golden),
        "instance_count": row.instance_count,
        "old_ids": list(running),
        "revision": row.revision.number,
        "previous_revision": back_to,
        "previous_count": row.instance_count if previous_count is None else previous_count,
    }
    _change(row, DeploymentCause.ROLL, error=None)
    return operation_open(
        kind=OperationKind.DEPLOY,
        endpoint=row.endpoint,
        deployment=row,
        parameters=parameters,
        actor=actor,
        now=now,
    )


def scaling_open(
    row: Deployment,
    instance_count: int,
    actor: str,
    now: datetime,
    *,
    kind: OperationKind = OperationKind.SCALE,
    first: dict[str, Any] | None = None,
    idle: bool = False,
) -> Operation:
    """What serves now serves on, come what may: ``previous_count`` says so to the ending.

    ``idle``: where it gets no replica it is not paused, and its policy brings it back.
    """
    running = row.replicas.filter(desired=Desired.RUNNING).values_list("id", flat=True)
    parameters = {
        **(first or first_traffic(0, None)),
        "instance_count": instance_count,
        "previous_count": row.instance_count,
        "previous_paused": row.paused_count,
        "replica_ids": list(running) if kind == OperationKind.DEPLOY else [],
    }
    _change(
        row,
        DeploymentCause.SCALE,
        instance_count=instance_count,
        paused_count=None
        if instance_count or idle
        else row.instance_count or row.paused_count or 1,
    )
    return operation_open(
        kind=kind,
        endpoint=row.endpoint,
        deployment=row,
        parameters=parameters,
        actor=actor,
        now=now,
    )


@dataclass(frozen=True, slots=True)
class Put:
    """What came of it: ``operation`` is under way, unless nothing has to start anew."""

    created: bool
    operation: Operation | None = None


def settled_check(row: Deployment) -> None:
    """Raises OperationInProgress, Conflict."""
    nothing_active(row.endpoint.name, row.name)
    if row.provisioning_state != DeploymentState.SUCCEEDED:
        raise Conflict(
            f"{row.name} is {row.provisioning_state}; only a deployment that works can do that.",
            hints=("Retry its deployment first.",),
        )


def unruled_check(row: Deployment, *, force: bool) -> None:
    """Raises DeploymentHasTraffic where a rule sends it requests, unless ``force``."""
    rules = rules_naming(row.endpoint.traffic_rules, row.name)
    if rules and not force:
        raise DeploymentHasTraffic(
            f"{row.name} gets requests by rule: {rules}.",
            hints=("Take these out of `traffic_rules` first: `PUT .../traffic`.",),
        )
