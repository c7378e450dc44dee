"""Reads of single requests: of the few that gateways tell of."""

from dataclasses import dataclass
from typing import Any, Final

from controlplane.core.vault import derived
from controlplane.metrics.models import RequestSample, RequestTrace

MOST_REQUESTS: Final = 500
MOST_OF_ONE_ID: Final = 20  # clients may choose ids, and the same for all
MOST_SHARING: Final = 16
SHARED_WITHIN_S: Final = 600.0  # a number of an execution may come again in another process
SALT_PURPOSE: Final = "request-salt"
OWN_PURPOSE: Final = "own-requests"
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


def requests_of_id(endpoint: str, request_id: str, since: float) -> list[Any]:
    """As ``requests_seen``: those with exactly this id, the newest first."""
    rows = RequestSample.objects.filter(endpoint=endpoint, request_id=request_id, at__gt=since)
    return list(rows.order_by("-at", "-id").values_list("data", flat=True)[:MOST_OF_ONE_ID])


def traces_of_id(endpoint: str, request_id: str, since: float) -> list[RequestTrace]:
    """What replicas kept of requests with exactly this id, the newest first."""
    rows = RequestTrace.objects.filter(endpoint=endpoint, request_id=request_id, at__gt=since)
    return list(rows.order_by("-at", "-id")[:MOST_OF_ONE_ID])


def traces_sharing(traces: list[RequestTrace]) -> dict[int, list[str]]:
    """Row -> ids of the others that were executed with it, as far as they are kept."""
    known = [trace for trace in traces if trace.execution]
    if not known:
        return {}
    rows = RequestTrace.objects.filter(
        replica_id__in={trace.replica_id for trace in known},
        execution__in={trace.execution for trace in known},
    ).order_by("at", "id")
    others = list(rows.values_list("pk", "replica_id", "execution", "request_id", "at"))
    return {
        trace.pk: [
            request_id
            for pk, replica_id, execution, request_id, at in others
            if pk != trace.pk
            and (replica_id, execution) == (trace.replica_id, trace.execution)
            and abs(at - trace.at) < SHARED_WITHIN_S
        ][:MOST_SHARING]
        for trace in known
    }


def request_salt() -> int:
    """What ``wire.samples.rank`` depends on: of the installation, and no client's business."""
    return int.from_bytes(derived(SALT_PURPOSE)[:4])


def own_requests_key() -> str:
    """What ``wire.own_requests`` signs with: of the installation, for its gateways alone."""
    return derived(OWN_PURPOSE).hex()
