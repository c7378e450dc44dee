"""Reads of log lines."""

from dataclasses import dataclass

from controlplane.metrics.log_levels import is_level
from controlplane.metrics.models import LogLine


@dataclass(frozen=True, slots=True)
class LogPage:
    """``last_id``: the newest line that was looked at, whether or not it is one of these."""

    lines: list[LogLine]
    last_id: int | None


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
    until: float = 0.0,
    q: str = "",
    level: str = "",
) -> LogPage:
    """The last ``tail`` lines in order, or the last before the id ``before``; with ``after`` the
    first ``tail`` behind that id. ``since`` and ``until`` are in Unix seconds, ``q`` is in the text
    without regard to case, and ``level`` the least of ``log_levels.LEVELS``.

    All lines that are kept of a deployment are looked at, KEEP_LOG_LINES and a few more.
    """
    chosen = {
        "replica_id": replica_id,
        "stream": stream,
        "at__gte": since,
        "at__lt": until,
    }
    lines = LogLine.objects.filter(endpoint=endpoint, deployment=deployment)
    lines = lines.filter(**{name: value for name, value in chosen.items() if value})
    if before is not None:
        lines = lines.filter(id__lt=before)
    if after is not None:
        lines = lines.filter(id__gt=after)
    rows = lines.order_by("-id" if after is None else "id")
    if not (q or level):
        rows = rows[:tail]
    # why not the database's search: one is blind to the case of what is not ASCII, none has levels
    needle, found, last_id = q.casefold(), list[LogLine](), None
    for line in rows.iterator():
        last_id = max(last_id or 0, line.pk)
        if needle in line.text.casefold() and is_level(line.text, level):
            found.append(line)
            if len(found) == tail:
                break
    return LogPage(found if after is not None else found[::-1], last_id)


def log_owners() -> list[tuple[str, str]]:
    """Endpoint and deployment of everything that has log lines."""
    return list(LogLine.objects.values_list("endpoint", "deployment").distinct().order_by())
