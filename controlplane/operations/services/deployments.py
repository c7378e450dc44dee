"""Deployments: made, put, scaled, paused; each change is an operation."""

from datetime import datetime
from typing import Any

from django.db import transaction

from controlplane.core.errors import Conflict, Invalid
from controlplane.deployments.errors import DeploymentHasTraffic, EndpointNotFound
from controlplane.deployments.models import Deployment
from controlplane.deployments.naming import COLOURS, endpoint_name_for
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.services.deployments import deployment_update
from controlplane.deployments.services.endpoints import endpoint_create
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.services.spec import (
    instance_type_of,
    resolve,
    resolve_to_run,
    run_settings,
)
from controlplane.deployments.spec import DESCRIPTIVE, ROUTED, Spec, settings_to_json
from controlplane.deployments.types import DeploymentState
from controlplane.operations.errors import AsItIs
from controlplane.operations.models import Operation
from controlplane.operations.selectors import operations_active
from controlplane.operations.services.advance import operation_advance
from controlplane.operations.services.operations import (
    not_deleting,
    nothing_active,
)
from controlplane.operations.services.rolling_updates import deployment_roll
from controlplane.operations.services.rollout_firsts import rollout_check
from controlplane.operations.services.starting import (
    BROKEN,
    Put,
    colour_free,
    count_within,
    deployment_place,
    first_traffic,
    is_same,
    running_as_asked,
    scaling_open,
    settled_check,
    unruled_check,
)
from controlplane.operations.types import GoldenGate, OperationKind


def deploy(
    *,
    spec: Spec,
    endpoint: str,
    deployment: str,
    actor: str,
    now: datetime,
    golden: GoldenGate = GoldenGate.ASK,
) -> Operation:
    """From a model to an answering endpoint, in one operation.

    The endpoint is made when missing. Without a name the deployment takes the free colour, or the
    one that carries no traffic. What runs already as asked is not started again; asking twice while
    it is under way returns the operation that is. Raises what ``deployment_create`` raises.
    """
    with transaction.atomic():
        version, revision, allowed = resolve_to_run(spec)
        name = endpoint or endpoint_name_for(spec.model)
        row = endpoint_lock(name)
        fresh = row is None  # nothing is to be found at it
        if row is None:
            row = endpoint_create(
                name=name, actor=actor, now=now, project=version.model.project_name,
                field="endpoint",
            )  # fmt: skip
        not_deleting(row)
        under_way = [] if fresh else list(operations_active(name))
        for running in under_way:
            if is_same(running, row, deployment, spec, version, revision):
                return running
        if _moves_traffic(spec) and not fresh:
            nothing_active(name)
        existing = None if fresh else running_as_asked(row, deployment, spec, version, revision)
        if existing is not None:
            # the same model runs there already: only the difference is made up
            count = (existing.instance_count if existing.autoscale else 0) or 1
            count_within(existing.autoscale, spec.instance_count or count)
            rollout_check(row, existing.name, spec.rollout)
            operation = scaling_open(
                existing,
                spec.instance_count or count,
                actor,
                now,
                kind=OperationKind.DEPLOY,
                first=first_traffic(spec.traffic, spec.rollout, golden),
            )
        else:
            chosen = deployment or (COLOURS[0] if fresh else colour_free(row, under_way))
            rollout_check(row, chosen, spec.rollout)
            operation = deployment_place(
                row, chosen, spec, version, revision, allowed, actor, now,
                replace=True, field="deployment", golden=golden, fresh=fresh,
            )  # fmt: skip
    return operation_advance(operation, now=now)


def deployment_create(
    *,
    endpoint: str,
    name: str,
    spec: Spec,
    actor: str,
    now: datetime,
    replace: bool = False,
    golden: GoldenGate = GoldenGate.ASK,
) -> Operation:
    """``replace``: what has this name and no traffic is taken over.

    Raises EndpointNotFound, NameInvalid, NameTaken, OperationInProgress, ModelNotDeployable,
    ModelNotFound, CodeNotAllowed, CodeNotApproved, RolloutInvalid, RolloutInProgress."""
    with transaction.atomic():
        version, revision, allowed = resolve_to_run(spec)
        row = endpoint_lock(endpoint)
        if row is None:
            raise EndpointNotFound(f"There is no endpoint called {endpoint}.")
        not_deleting(row)
        if _moves_traffic(spec):
            nothing_active(endpoint)
        chosen = name or colour_free(row, operations_active(endpoint))
        rollout_check(row, chosen, spec.rollout)
        operation = deployment_place(
            row, chosen, spec, version, revision, allowed, actor, now,
            replace=replace, golden=golden,
        )  # fmt: skip
    return operation_advance(operation, now=now)


def _moves_traffic(spec: Spec) -> bool:
    return spec.traffic > 0 or spec.rollout is not None


def deployment_scale(
    *, endpoint: str, name: str, instance_count: int, actor: str, now: datetime
) -> Operation:
    """Raises EndpointNotFound, DeploymentNotFound, OperationInProgress, Conflict."""
    with transaction.atomic():
        endpoint_lock(endpoint)
        row = deployment_get(endpoint, name)
        nothing_active(endpoint, name)
        count_within(row.autoscale, instance_count)
        if row.provisioning_state != DeploymentState.SUCCEEDED:
            raise Conflict(
                f"{name} is {row.provisioning_state}; only a deployment that works can be scaled.",
                hints=("Retry its deployment first.",),
            )
        operation = scaling_open(row, instance_count, actor, now)
    return operation_advance(operation, now=now)


def deployment_pause(
    *, endpoint: str, name: str, force: bool, actor: str, now: datetime
) -> Operation:
    """Stop every replica and keep the deployment, to be resumed as it was.

    Raises EndpointNotFound, DeploymentNotFound, DeploymentHasTraffic (unless ``force``),
    OperationInProgress, Conflict.
    """
    with transaction.atomic():
        endpoint_lock(endpoint)
        row = deployment_get(endpoint, name)
        settled_check(row)
        percent = row.endpoint.traffic.get(name, 0)
        if percent and not force:
            raise DeploymentHasTraffic(
                f"{name} answers {percent} % of the requests.",
                hints=("Give its traffic to another deployment first, or pause it by force.",),
            )
        unruled_check(row, force=force)
        if row.paused:
            raise AsItIs(f"{name} is paused already.")
        operation = scaling_open(row, 0, actor, now)
    return operation_advance(operation, now=now)


def deployment_resume(*, endpoint: str, name: str, actor: str, now: datetime) -> Operation:
    """As many replicas as before the pause. Raises what ``deployment_pause`` raises."""
    with transaction.atomic():
        endpoint_lock(endpoint)
        row = deployment_get(endpoint, name)
        settled_check(row)
        if row.instance_count:
            raise AsItIs(f"{name} is not paused.")
        operation = scaling_open(row, row.paused_count or 1, actor, now)
    return operation_advance(operation, now=now)


def deployment_confirm(*, endpoint: str, name: str, actor: str, now: datetime) -> Operation:
    """An operation that ends once what the deployment asks for now serves, and changes nothing.

    For who went back to what ran before by superseding the change that was under way.
    Raises EndpointNotFound, DeploymentNotFound, OperationInProgress, Conflict.
    """
    with transaction.atomic():
        endpoint_lock(endpoint)
        row = deployment_get(endpoint, name)
        settled_check(row)
        kind = OperationKind.DEPLOY if row.instance_count else OperationKind.SCALE
        operation = scaling_open(
            row, row.instance_count, actor, now, kind=kind, idle=not row.paused
        )
    return operation_advance(operation, now=now)


@transaction.atomic
def deployment_put(
    *,
    endpoint: str,
    name: str,
    spec: Spec,
    actor: str,
    now: datetime,
    golden: GoldenGate = GoldenGate.ASK,
) -> Put:
    """Made when missing, brought up afresh when broken, otherwise changed without a gap.

    Its share of the traffic stays. Raises what ``deployment_create`` and ``deployment_roll`` raise.
    """
    row = endpoint_lock(endpoint)
    if row is None:
        raise EndpointNotFound(f"There is no endpoint called {endpoint}.")
    not_deleting(row)
    nothing_active(endpoint, name)
    existing = row.deployments.filter(name=name).first()
    if existing is None or existing.provisioning_state in BROKEN:
        _count_check(spec.count(), paused=False)
        operation = deployment_create(
            endpoint=endpoint, name=name, spec=spec, actor=actor, now=now,
            replace=True, golden=golden,
        )  # fmt: skip
        return Put(created=existing is None, operation=operation)
    wanted = spec.count(existing.instance_count)
    _count_check(wanted, paused=existing.instance_count == 0)
    count_within(spec.autoscale, wanted)
    at_once = {word: getattr(spec, word) for word in (*DESCRIPTIVE, *ROUTED)}  # no replica notices
    deployment_update(endpoint=endpoint, name=name, actor=actor, **at_once)
    changes = _changes(existing, spec)
    counted = wanted != existing.instance_count
    if changes:
        count = wanted if counted else None
        operation = deployment_roll(
            endpoint=endpoint, name=name, actor=actor, now=now,
            instance_count=count, golden=golden, **changes,
        )  # fmt: skip
    elif counted:
        operation = deployment_scale(
            endpoint=endpoint,
            name=name,
            instance_count=wanted,
            actor=actor,
            now=now,
        )
    else:
        return Put(created=False)
    return Put(created=False, operation=operation)


@transaction.atomic
def deployment_patch(
    *,
    endpoint: str,
    name: str,
    actor: str,
    now: datetime,
    instance_count: int | None = None,
    golden: GoldenGate = GoldenGate.ASK,
    **changes: Any,
) -> Operation | None:
    """Change what is said, all of it or nothing; None when no replica has to start or to go.

    ``changes``: model, version, config_revision, and settings of ``spec.SETTINGS``. Raises what
    ``deployment_roll`` and ``deployment_scale`` raise but AsItIs; OperationInProgress unless only
    words and request settings are said.
    """
    endpoint_lock(endpoint)
    at_once = {word: changes.pop(word) for word in (*DESCRIPTIVE, *ROUTED) if word in changes}
    row = deployment_update(endpoint=endpoint, name=name, actor=actor, **at_once)
    if not changes.get("secret_environment"):
        changes.pop("secret_environment", None)
    if not changes and instance_count is None:
        return None
    nothing_active(endpoint, name)
    counted = instance_count not in (None, row.instance_count)
    if counted and instance_count is not None:
        _count_check(instance_count, paused=row.instance_count == 0)
        count_within(row.autoscale, instance_count)
    if changes:
        try:
            return deployment_roll(
                endpoint=endpoint,
                name=name,
                actor=actor,
                now=now,
                instance_count=instance_count if counted else None,
                golden=golden,
                **_renamed(row, changes),
            )
        except AsItIs:
            pass  # nothing but the count may differ
    working = row.provisioning_state == DeploymentState.SUCCEEDED
    if instance_count is None or (working and not counted):
        return None
    return deployment_scale(
        endpoint=endpoint, name=name, instance_count=instance_count, actor=actor, now=now
    )


def _renamed(row: Deployment, changes: dict[str, Any]) -> dict[str, Any]:
    """``changes`` without the name of what runs already: that may be archived by now, and a newer
    configuration is another change."""
    version, revision = row.revision.model_version, row.revision.config_revision
    number = revision.number if revision else 0
    same = (
        changes.get("model", version.model.name) == version.model.name
        and changes.get("version", None if "model" in changes else str(version.version))
        == str(version.version)
        and changes.get("config_revision", number) == number
    )
    naming = ("model", "version", "config_revision") if same else ()
    return {name: value for name, value in changes.items() if name not in naming}


def _count_check(count: int, *, paused: bool) -> None:
    if count == 0 and not paused:
        raise Invalid(
            "instance_count: 0, expected 1 or more.",
            field="instance_count",
            hints=("`POST .../stop` pauses a deployment.",),
        )


def _changes(row: Deployment, spec: Spec) -> dict[str, Any]:
    """What makes replicas start anew, as ``deployment_roll`` takes it; empty when nothing does."""
    runs = row.revision
    version, revision = runs.model_version, runs.config_revision
    as_it_is = (spec.model, spec.version) == (version.model.name, str(version.version)) and (
        spec.config_revision == (revision.number if revision else 0)
    )
    if not as_it_is:  # else it may be archived by now
        version, revision = resolve(spec)
    kind = instance_type_of(spec)
    settings = run_settings(spec)
    wanted = {
        "model_version_id": version.pk,
        "config_revision_id": revision.pk if revision else None,
        "instance_type_id": kind.pk if kind else None,
    }
    same = settings == runs.settings and all(
        getattr(runs, name) == value for name, value in wanted.items()
    )
    if same and not spec.secret_environment:
        return {}
    changes = {
        **settings_to_json(settings),
        "instance_type": kind.name if kind else "",
        "secret_environment": spec.secret_environment,
    }
    if not as_it_is:
        changes |= {
            "model": version.model.name,
            "version": str(version.version),
            "config_revision": revision.number if revision else 0,
        }
    return changes
