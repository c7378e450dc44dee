"""Endpoints: made, described, given traffic, deleted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import F

from controlplane.core import events
from controlplane.deployments.errors import NameTaken
from controlplane.deployments.models import Endpoint, Operation
from controlplane.deployments.naming import name_check
from controlplane.deployments.selectors import endpoint_get, operations_active
from controlplane.deployments.services import completion
from controlplane.deployments.services.advance import operation_advance
from controlplane.deployments.services.keys import keys_create
from controlplane.deployments.services.operations import (
    describe,
    in_the_way,
    not_deleting,
    operation_open,
)
from controlplane.deployments.services.starting import Put
from controlplane.deployments.services.traffic import mirror_record, ready_deployments, shares_write
from controlplane.deployments.states import DEPLOYMENTS, DeploymentCause
from controlplane.deployments.traffic import mirror_check, traffic_check
from controlplane.deployments.types import (
    AuthMode,
    EndpointState,
    OperationKind,
)

LIMITS: Final = ("cors_origins", "max_request_bytes", "rate_limit")


def locked(endpoint: str) -> Endpoint | None:
    """The row, held until the transaction ends: two deployments at once take different colours."""
    return Endpoint.objects.select_for_update().filter(name=endpoint).first()


@transaction.atomic
def endpoint_create(
    *,
    name: str,
    actor: str,
    now: datetime,
    description: str = "",
    tags: dict[str, str] | None = None,
    declared: dict[str, Any] | None = None,
    auth_mode: str = AuthMode.KEY,
    limits: Mapping[str, Any] | None = None,
    field: str = "name",
) -> Endpoint:
    """An endpoint with two keys and no deployment yet; ``field`` is where the caller's name for it
    stands, for the refusal. Raises NameInvalid, NameTaken."""
    name_check(name, field=field)
    if Endpoint.objects.filter(name=name).exists():
        raise NameTaken(f"There is an endpoint called {name} already.", field=field)
    endpoint = Endpoint.objects.create(
        name=name,
        description=description,
        tags=tags or {},
        declared=declared or {},
        auth_mode=auth_mode,
        **(limits or {}),
        generation=int(now.timestamp() * 1000),
        created_by=actor,
    )
    keys_create(endpoint)
    events.record(
        actor=actor,
        verb="endpoint.created",
        subject=f"endpoint/{name}",
        message=f"{actor} created endpoint {name}",
    )
    return endpoint_get(name)


@transaction.atomic
def endpoint_update(
    *,
    name: str,
    actor: str,
    description: str | None = None,
    tags: dict[str, str] | None = None,
    declared: dict[str, Any] | None = None,
    auth_mode: str | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Endpoint:
    """Change the words about it, what opens it and its limits. Raises EndpointNotFound."""
    endpoint = endpoint_get(name)
    if auth_mode is not None and auth_mode != endpoint.auth_mode:
        Endpoint.objects.filter(pk=endpoint.pk).update(
            auth_mode=auth_mode, generation=F("generation") + 1
        )
        events.record(
            actor=actor,
            verb="endpoint.auth_mode_changed",
            subject=f"endpoint/{name}",
            message=f"{name} is now opened by {auth_mode}",
            data={"auth_mode": auth_mode, "before": endpoint.auth_mode},
        )
        endpoint.refresh_from_db(fields=["auth_mode", "generation"])
    limits_change(endpoint=endpoint, limits=limits or {}, actor=actor)
    words = {"description": description, "tags": tags, "declared": declared}
    after = {k: v for k, v in words.items() if v is not None and v != getattr(endpoint, k)}
    before = {key: getattr(endpoint, key) for key in after}
    for key, value in after.items():
        setattr(endpoint, key, value)
    if after:
        endpoint.save(update_fields=[*after, "updated_at"])
        events.record(
            actor=actor,
            verb="endpoint.updated",
            subject=f"endpoint/{name}",
            message=f"{actor} changed {', '.join(sorted(after))} of {name}",
            before=before,
            after=after,
        )
    return endpoint


def limits_change(*, endpoint: Endpoint, limits: Mapping[str, Any], actor: str) -> None:
    """Inside the caller's transaction. ``limits`` holds checked values of any of ``LIMITS``."""
    after = {name: value for name, value in limits.items() if value != getattr(endpoint, name)}
    if not after:
        return
    before = {name: getattr(endpoint, name) for name in after}
    Endpoint.objects.filter(pk=endpoint.pk).update(**after, generation=F("generation") + 1)
    endpoint.refresh_from_db(fields=[*after, "generation"])
    events.record(
        actor=actor,
        verb="endpoint.limits_changed",
        subject=f"endpoint/{endpoint.name}",
        message=f"{actor} changed {', '.join(sorted(after))} of {endpoint.name}",
        before=before,
        after=after,
    )


@transaction.atomic
def traffic_set(*, name: str, traffic: dict[str, int], actor: str, now: datetime) -> Endpoint:
    """Replace the whole map; who answers from now on gets no copies any more.

    Raises EndpointNotFound, TrafficInvalid, OperationInProgress.
    """
    locked = Endpoint.objects.select_for_update().filter(name=name).first()
    endpoint = endpoint_get(name)
    if locked is not None and locked.provisioning_state == EndpointState.DELETING:
        raise in_the_way(f"{name} is being deleted.", operations_active(name).first())
    _nothing_moves(name)
    kept = traffic_check(
        traffic,
        deployments=[deployment.name for deployment in endpoint.deployments.all()],
        ready=ready_deployments(endpoint),
    )
    if kept != endpoint.traffic:
        shares_write(endpoint, kept, actor=actor, now=now)
    return endpoint_get(name)


@transaction.atomic
def mirror_set(*, name: str, mirror_traffic: dict[str, int], actor: str, now: datetime) -> Endpoint:
    """Replace the map; nobody reads the copies' answers.

    Raises EndpointNotFound, MirrorInvalid, OperationInProgress."""
    # why locked: traffic may just be on its way to the same deployment
    Endpoint.objects.select_for_update().filter(name=name).first()
    endpoint = endpoint_get(name)
    kept = mirror_check(
        mirror_traffic,
        deployments=[deployment.name for deployment in endpoint.deployments.all()],
        traffic=endpoint.traffic,
    )
    for copied in kept:  # one that gets copies must not be about to answer itself
        _nothing_moves(name, copied)
    if kept != endpoint.mirror_traffic:
        Endpoint.objects.filter(pk=endpoint.pk).update(
            mirror_traffic=kept, generation=F("generation") + 1, updated_at=now
        )
        mirror_record(endpoint, kept, actor=actor)
    return endpoint_get(name)


def _nothing_moves(name: str, deployment: str | None = None) -> None:
    """Raises OperationInProgress when something is about to move traffic (to ``deployment``)."""
    for operation in operations_active(name, deployment):
        if operation.parameters.get("traffic"):
            raise in_the_way(
                f"A deployment is about to move the traffic: {describe(operation)}.", operation
            )


def endpoint_delete(*, name: str, actor: str, now: datetime) -> Operation:
    """Delete it with its deployments, whatever is under way there; models stay.

    Raises EndpointNotFound.
    """
    with transaction.atomic():
        # why locked: what somebody is just deploying there must be seen, and end
        Endpoint.objects.select_for_update().filter(name=name).first()
        endpoint = endpoint_get(name)
        for running in operations_active(name):
            if running.kind == OperationKind.DELETE_ENDPOINT:
                return running
            completion.operation_supersede(running, now)
        DEPLOYMENTS.write(endpoint.deployments.all(), DeploymentCause.DELETE)
        operation = operation_open(
            kind=OperationKind.DELETE_ENDPOINT,
            endpoint=endpoint,
            deployment=None,
            parameters={},
            actor=actor,
            now=now,
        )
    operation_advance(operation_id=operation.pk, now=now)
    operation.refresh_from_db()
    return operation


@transaction.atomic
def endpoint_put(
    *, name: str, values: Mapping[str, Any], limits: Mapping[str, Any], actor: str, now: datetime
) -> Put:
    """``values``: words, auth_mode, and perhaps traffic and mirror_traffic.

    Raises NameInvalid, OperationInProgress, TrafficInvalid, MirrorInvalid.
    """
    words = dict(values)
    traffic, mirror = words.pop("traffic", None), words.pop("mirror_traffic", None)
    existing = locked(name)
    if existing is None:
        row = endpoint_create(name=name, actor=actor, now=now, limits=limits, **words)
    else:
        not_deleting(existing)
        row = endpoint_update(name=name, actor=actor, limits=limits, **words)
    if mirror is not None and mirror != row.mirror_traffic and row.mirror_traffic:
        # before its deployment gets traffic
        row = mirror_set(name=name, mirror_traffic={}, actor=actor, now=now)
    if traffic is not None and traffic != row.traffic:
        row = traffic_set(name=name, traffic=traffic, actor=actor, now=now)
    if mirror is not None and mirror != row.mirror_traffic:
        mirror_set(name=name, mirror_traffic=mirror, actor=actor, now=now)
    return Put(created=existing is None)
