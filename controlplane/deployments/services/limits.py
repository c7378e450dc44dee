"""What an endpoint's gateways hold its callers to."""

from collections.abc import Mapping
from typing import Any

from django.db.models import F

from controlplane.core import events
from controlplane.deployments.models import Endpoint

LIMITS = ("cors_origins", "max_request_bytes", "rate_limit")


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
