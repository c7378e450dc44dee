"""Endpoints: made, described, limited."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from controlplane.accounts.projects import project_for
from controlplane.core import events
from controlplane.core.changes import change, given
from controlplane.core.names import name_check
from controlplane.deployments.errors import NameTaken
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.services.generations import endpoint_generation_raise
from controlplane.deployments.services.keys import keys_create
from controlplane.deployments.types import AuthMode
from controlplane.nodes import wake_ups

LIMITS: Final = ("cors_origins", "max_request_bytes", "rate_limit", "sticky")


@transaction.atomic(savepoint=False)
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
    project: str = "",
    field: str = "name",
) -> Endpoint:
    """An endpoint with two keys and no deployment yet; ``field`` is where the caller's name for it
    stands, for the refusal. Raises NameInvalid, NameTaken, ProjectNotFound, ProjectArchived."""
    name_check(name, field=field)
    # why of everything: gateways and clients know endpoints by their names alone
    known = Endpoint.everything.filter(name__iexact=name).values_list("name", flat=True).first()
    if known is not None:
        alike = "" if known == name else f" {name} differs from it only by upper and lower case."
        raise NameTaken(f"There is an endpoint called {known} already.{alike}", field=field)
    endpoint = Endpoint.objects.create(
        name=name,
        project_id=project_for(project),
        description=description,
        tags=tags or {},
        declared=declared or {},
        auth_mode=auth_mode,
        **(limits or {}),
        generation=int(now.timestamp() * 1000),
        created_by=actor,
    )
    keys_create(endpoint)
    wake_ups.gateways_wake_on_commit()
    events.record(
        actor=actor,
        verb="endpoint.created",
        subject=f"endpoint/{name}",
        message=f"{actor} created endpoint {name}",
    )
    return endpoint


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
        endpoint_generation_raise([endpoint.pk], auth_mode=auth_mode)
        events.record(
            actor=actor,
            verb="endpoint.auth_mode_changed",
            subject=f"endpoint/{name}",
            message=f"{name} is now opened by {auth_mode}",
            data={"auth_mode": auth_mode, "before": endpoint.auth_mode},
        )
        endpoint.refresh_from_db(fields=["auth_mode", "generation"])
    limits_change(endpoint=endpoint, limits=limits or {}, actor=actor)
    metadata = given(description=description, tags=tags, declared=declared)
    subject = f"endpoint/{name}"
    change(endpoint, metadata, actor=actor, verb="endpoint.updated", subject=subject, named=name)
    return endpoint


def limits_change(*, endpoint: Endpoint, limits: Mapping[str, Any], actor: str) -> None:
    """Inside the caller's transaction. ``limits`` holds checked values of any of ``LIMITS``."""
    after = {name: value for name, value in limits.items() if value != getattr(endpoint, name)}
    if not after:
        return
    before = {name: getattr(endpoint, name) for name in after}
    endpoint_generation_raise([endpoint.pk], **after)
    endpoint.refresh_from_db(fields=[*after, "generation"])
    events.record(
        actor=actor,
        verb="endpoint.limits_changed",
        subject=f"endpoint/{endpoint.name}",
        message=f"{actor} changed {', '.join(sorted(after))} of {endpoint.name}",
        before=before,
        after=after,
    )
