"""Reads of log lines."""

from controlplane.metrics.models import LogLine


def log_lines(
    *,
    endpoint: str,
    deployment: str,
    tail: int,
    replica_id: str = "",
    stream: str = "",
    after: int | None = None,
    before: int | None = None,
    since: float = 0.0,
) -> list[LogLine]:
    """The last ``tail`` lines in order, or the last before the id ``before``; with ``after`` the
    first ``tail`` behind that id. ``since`` is in Unix seconds."""
    lines = LogLine.objects.filter(endpoint=endpoint, deployment=deployment)
    if replica_id:
        lines = lines.filter(replica_id=replica_id)
    if stream:
        lines = lines.filter(stream=stream)
    if since:
        lines = lines.filter(at__gte=since)
    if after is not None:
        return list(lines.filter(id__gt=after).order_by("id")[:tail])
    if before is not None:
        lines = lines.filter(id__lt=before)
    return list(lines.order_by("-id")[:tail])[::-1]


def log_owners() -> list[tuple[str, str]]:
    """Endpoint and deployment of everything that has log lines."""
    return list(LogLine.objects.values_list("endpoint", "deployment").distinct().order_by())
