"""Reads of single requests: of the few that gateways tell of."""

from dataclasses import dataclass
from typing import Any, Final

from controlplane.metrics.models import RequestSample

MOST_REQUESTS: Final = 500
FAILED: Final = ("4xx", "5xx")


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Empty fields let everything through. Times are Unix seconds."""

    endpoint: str
    since: float
    until: float
    deployment: str = ""
    status_class: str = ""  # "failed" is 4xx and 5xx
    least_us: float = 0.0
    request_id: str = ""  # or how it begins


def requests_seen(wanted: RequestFilter, *, slowest: bool, limit: int) -> list[Any]:
    """``wire.samples.SeenRequest`` as parsed, the newest first, or the slowest."""
    rows = RequestSample.objects.filter(
        endpoint=wanted.endpoint, at__gt=wanted.since, at__lte=wanted.until
    )
    if wanted.deployment:
        rows = rows.filter(deployment=wanted.deployment)
    if wanted.status_class == "failed":
        rows = rows.filter(status_class__in=FAILED)
    elif wanted.status_class:
        rows = rows.filter(status_class=wanted.status_class)
    if wanted.least_us:
        rows = rows.filter(duration_us__gte=wanted.least_us)
    if wanted.request_id:
        rows = rows.filter(request_id__startswith=wanted.request_id)
    if slowest:
        rows = rows.exclude(duration_us=None).order_by("-duration_us", "-id")
    else:
        rows = rows.order_by("-at", "-id")
    return list(rows.values_list("data", flat=True)[:limit])
