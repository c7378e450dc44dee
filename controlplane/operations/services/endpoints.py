"""Endpoints where operations have a say: put, given traffic, deleted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from controlplane.accounts.projects import project_stays
from controlplane.deployments.models import Endpoint
from controlplane.deployments.rules import rules_check
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.services.endpoints import endpoint_create, endpoint_update
from controlplane.deployments.services.generations import endpoint_generation_raise
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.services.traffic import (
    mirror_record,
    rules_record,
    shares_write,
    unready_deployments,
)
from controlplane.deployments.services.traffic_changes import traffic_change_note
from controlplane.deployments.states import DEPLOYMENTS, DeploymentCause
from controlplane.deployments.traffic import mirror_check, traffic_check
from controlplane.deployments.types import EndpointState
from controlplane.operations.models import Operation
from controlplane.operations.selectors import copies_roll, operations_active
from controlplane.operations.services import completion
from controlplane.operations.services.advance import operation_advance
from controlplane.operations.services.operations import (
    in_the_way,
    not_deleting,
    nothing_moves,
    nothing_rolls,
    operation_open,
)
from controlplane.operations.services.rollout_ends import rollout_supersede
from controlplane.operations.services.starting import Put
from controlplane.operations.types import OperationKind


@transaction.atomic
def traffic_set(*, name: str, traffic: dict[str, int], actor: str, now: datetime) -> Endpoint:
    """Replace the whole map; who answers from now on gets no copies any more.

    Raises EndpointNotFound, TrafficInvalid, OperationInProgress, RolloutInProgress.
    """
    held = endpoint_lock(name)
    endpoint = endpoint_get(name)
    if held is not None and held.provisioning_state == EndpointState.DELETING:
        raise in_the_way(f"{name} is being deleted.", operations_active(name).first())
    nothing_moves(name)
    nothing_rolls(name)
    kept = traffic_check(
        traffic,
        deployments=[deployment.name for deployment in endpoint.deployments.all()],
        unready=unready_deployments(endpoint),
    )
    if kept != endpoint.traffic:
        shares_write(endpoint, kept, actor=actor, now=now)
    return endpoint_get(name)


@transaction.atomic
def mirror_set(*, name: str, mirror_traffic: dict[str, int], actor: str, now: datetime) -> Endpoint:
    """Replace the map; nobody reads the copies' answers.

    Raises EndpointNotFound, MirrorInvalid, OperationInProgress, RolloutInProgress."""
    # why locked: traffic may just be on its way to the same deployment
    endpoint_lock(name)
    endpoint = endpoint_get(name)
    kept = mirror_check(
        mirror_traffic,
        deployments=[deployment.name for deployment in endpoint.deployments.all()],
        traffic=endpoint.traffic,
    )
    if copies_roll(name):
        nothing_rolls(name)
    for copied in kept:  # one that gets copies must not be about to answer itself
        nothing_moves(name, copied)
    if kept != endpoint.mirror_traffic:
        endpoint_generation_raise([endpoint.pk], mirror_traffic=kept, updated_at=now)
        mirror_record(endpoint, kept, actor=actor)
    return endpoint_get(name)


@transaction.atomic
def rules_set(
    *, name: str, traffic_rules: list[dict[str, Any]], actor: str, now: datetime
) -> Endpoint:
    """Replace the list; shares and what rollouts do with them stay as they are.

    Raises EndpointNotFound, RuleInvalid, OperationInProgress."""
    # why locked: a deployment that is named may just be on its way out
    endpoint_lock(name)
    endpoint = endpoint_get(name)
    not_deleting(endpoint)
    kept = rules_check(
        traffic_rules,
        endpoint.traffic_rules,
        deployments=[deployment.name for deployment in endpoint.deployments.all()],
        unready=unready_deployments(endpoint),
    )
    if kept != endpoint.traffic_rules:
        endpoint_generation_raise([endpoint.pk], traffic_rules=kept, updated_at=now)
        traffic_change_note(endpoint, actor=actor, now=now, traffic_rules=kept)
        rules_record(endpoint, kept, actor=actor)
    return endpoint_get(name)


def endpoint_delete(*, name: str, actor: str, now: datetime) -> Operation:
    """Delete it with its deployments, whatever is under way there; models stay.

    Raises EndpointNotFound.
    """
    with transaction.atomic():
        # why locked: what somebody is just deploying there must be seen, and end
        endpoint_lock(name)
        endpoint = endpoint_get(name)
        for running in operations_active(name):
            if running.kind == OperationKind.DELETE_ENDPOINT:
                return running
            completion.operation_supersede(running, now)
        rollout_supersede(name, actor=actor, now=now)
        DEPLOYMENTS.write(endpoint.deployments.all(), DeploymentCause.DELETE)
        operation = operation_open(
            kind=OperationKind.DELETE_ENDPOINT,
            endpoint=endpoint,
            deployment=None,
            parameters={},
            actor=actor,
            now=now,
        )
    return operation_advance(operation, now=now)


@transaction.atomic
def endpoint_put(
    *, name: str, values: Mapping[str, Any], limits: Mapping[str, Any], actor: str, now: datetime
) -> Put:
    """``values``: words, auth_mode, and perhaps project, traffic, mirror_traffic and traffic_rules.

    Raises NameInvalid, NameTaken, OperationInProgress, TrafficInvalid, MirrorInvalid, RuleInvalid,
    Invalid for another project than its own.
    """
    fields = dict(values)
    project = fields.pop("project", "")
    shares = _shares_of(fields)
    existing = endpoint_lock(name)
    if existing is None:
        row = endpoint_create(
            name=name, project=project, actor=actor, now=now, limits=limits, **fields
        )
    else:
        project_stays(values, lambda: existing.project_name)
        not_deleting(existing)
        row = endpoint_update(name=name, actor=actor, limits=limits, **fields)
    _shares_set(row, **shares, actor=actor, now=now)
    return Put(created=existing is None)


@transaction.atomic
def endpoint_patch(
    *, name: str, values: Mapping[str, Any], limits: Mapping[str, Any], actor: str, now: datetime
) -> Endpoint:
    """Change what ``values`` say, as ``endpoint_put`` takes them, all of it or nothing.

    Raises EndpointNotFound, OperationInProgress, TrafficInvalid, MirrorInvalid, RuleInvalid.
    """
    fields = dict(values)
    shares = _shares_of(fields)
    endpoint_lock(name)
    row = endpoint_update(name=name, actor=actor, limits=limits, **fields)
    _shares_set(row, **shares, actor=actor, now=now)
    return endpoint_get(name)


def _shares_of(fields: dict[str, Any]) -> dict[str, Any]:
    """Taken out of ``fields``; None is what they do not say."""
    names = {"traffic": "traffic", "mirror": "mirror_traffic", "rules": "traffic_rules"}
    return {name: fields.pop(field, None) for name, field in names.items()}


def _shares_set(
    row: Endpoint,
    *,
    traffic: dict[str, int] | None,
    mirror: dict[str, int] | None,
    rules: list[dict[str, Any]] | None,
    actor: str,
    now: datetime,
) -> None:
    """Each replaced as a whole, or left alone where it is None."""
    if mirror is not None and mirror != row.mirror_traffic and row.mirror_traffic:
        # before its deployment gets traffic
        row = mirror_set(name=row.name, mirror_traffic={}, actor=actor, now=now)
    if traffic is not None and traffic != row.traffic:
        row = traffic_set(name=row.name, traffic=traffic, actor=actor, now=now)
    if mirror is not None and mirror != row.mirror_traffic:
        mirror_set(name=row.name, mirror_traffic=mirror, actor=actor, now=now)
    if rules is not None and rules != row.traffic_rules:
        rules_set(name=row.name, traffic_rules=rules, actor=actor, now=now)
