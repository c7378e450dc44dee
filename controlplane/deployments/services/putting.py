"""`PUT`: an endpoint or a deployment as it is said, whether it exists or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from controlplane.core.errors import Invalid
from controlplane.deployments.errors import EndpointNotFound
from controlplane.deployments.models import Deployment, Operation
from controlplane.deployments.probes import probe_declared
from controlplane.deployments.services.deployments import (
    deployment_create,
    deployment_roll,
    deployment_scale,
    deployment_update,
)
from controlplane.deployments.services.endpoints import (
    endpoint_create,
    endpoint_update,
    mirror_set,
    traffic_set,
)
from controlplane.deployments.services.operations import nothing_active
from controlplane.deployments.services.starting import (
    BROKEN,
    Spec,
    instance_type_of,
    locked,
    not_deleting,
    resolve,
)

WORDS = (
    "description", "tags", "declared", "request_timeout_ms", "retries",
    "max_concurrent_requests_per_instance",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Put:
    """What came of it: ``operation`` is under way, unless nothing has to start anew."""

    created: bool
    operation: Operation | None = None


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


@transaction.atomic
def deployment_put(*, endpoint: str, name: str, spec: Spec, actor: str, now: datetime) -> Put:
    """Made when missing, brought up afresh when broken, otherwise changed without a gap.

    Its share of the traffic stays. Raises what ``deployment_create`` and ``deployment_roll`` raise.
    """
    row = locked(endpoint)
    if row is None:
        raise EndpointNotFound(f"There is no endpoint called {endpoint}.")
    not_deleting(row)
    nothing_active(endpoint, name)
    existing = row.deployments.filter(name=name).first()
    if existing is None or existing.provisioning_state in BROKEN:
        _count_check(spec.instance_count, paused=False)
        operation = deployment_create(
            endpoint=endpoint, name=name, spec=spec, actor=actor, now=now, replace=True
        )
        return Put(created=existing is None, operation=operation)
    _count_check(spec.instance_count, paused=existing.instance_count == 0)
    deployment_update(endpoint=endpoint, name=name, actor=actor, **_words(spec))
    changes = _changes(existing, spec)
    counted = spec.instance_count != existing.instance_count
    if changes:
        count = spec.instance_count if counted else None
        operation = deployment_roll(
            endpoint=endpoint, name=name, actor=actor, now=now, instance_count=count, **changes
        )
    elif counted:
        operation = deployment_scale(
            endpoint=endpoint,
            name=name,
            instance_count=spec.instance_count,
            actor=actor,
            now=now,
        )
    else:
        return Put(created=False)
    return Put(created=False, operation=operation)


def _words(spec: Spec) -> dict[str, Any]:
    """What is changed at once: no replica notices."""
    said = {word: getattr(spec, word) for word in WORDS}
    return {**said, "tags": spec.tags or {}, "declared": spec.declared or {}}


def _count_check(count: int, *, paused: bool) -> None:
    if count == 0 and not paused:
        raise Invalid(
            "instance_count: 0, expected 1 or more.",
            field="instance_count",
            hints=("`POST .../stop` pauses a deployment.",),
        )


def _changes(row: Deployment, spec: Spec) -> dict[str, Any]:
    """What makes replicas start anew, as ``deployment_roll`` takes it; empty when nothing does."""
    version, revision = row.model_version, row.config_revision
    as_it_is = (spec.model, spec.version) == (version.model.name, str(version.version)) and (
        spec.config_revision == (revision.number if revision else 0)
    )
    if not as_it_is:  # else it may be archived by now
        version, revision = resolve(spec)
    kind = instance_type_of(spec)
    wanted = {
        "model_version_id": version.pk,
        "config_revision_id": revision.pk if revision else None,
        "environment": spec.environment or {},
        "node_labels": spec.node_labels or {},
        "instance_type_id": kind.pk if kind else None,
        "anti_affinity": spec.anti_affinity,
        "liveness_probe": spec.liveness_probe or probe_declared(spec.declared, "liveness_probe"),
        "readiness_probe": spec.readiness_probe or probe_declared(spec.declared, "readiness_probe"),
        "max_queue_wait_ms": spec.max_queue_wait_ms,
    }
    same = all(getattr(row, name) == value for name, value in wanted.items())
    if same and not spec.secret_environment:
        return {}
    changes: dict[str, Any] = {
        name: wanted[name]
        for name in (
            "environment", "node_labels", "anti_affinity", "liveness_probe", "readiness_probe",
            "max_queue_wait_ms",
        )
    }  # fmt: skip
    changes["instance_type"] = kind.name if kind else ""
    changes["secret_environment"] = spec.secret_environment or {}
    if not as_it_is:
        changes |= {
            "model": version.model.name,
            "version": str(version.version),
            "config_revision": revision.number if revision else 0,
        }
    return changes
