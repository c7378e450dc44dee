"""Numbers as the studio shows them: three significant figures, binary bytes, relative times."""

from datetime import UTC, datetime

_DAY_S = 86_400


def significant(value: float) -> str:
    """4.39, 10.7, 766: never more than three figures, never an exponent."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def byte_count(count: float) -> str:
    if count < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if count < 1000:
            return f"{significant(count)} {unit}"
    return f"{significant(count / 1024)} TiB"


def duration(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{significant(seconds * 1e3)} ms"
    if seconds < 60:
        return f"{significant(seconds)} s"
    return f"{significant(seconds / 60)} min"


def moment(text: str | None, now: datetime | None = None) -> str:
    """An RFC 3339 time as "4 min ago", or as a date when it is older than a day."""
    if not text:
        return "–"
    at = datetime.fromisoformat(text)
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    age_s = ((now or datetime.now(UTC)) - at).total_seconds()
    if not 0 <= age_s < _DAY_S:
        return at.astimezone().strftime("%Y-%m-%d %H:%M")
    if age_s < 60:
        return f"{age_s:.0f} s ago"
    return f"{age_s / 60:.0f} min ago" if age_s < 3600 else f"{age_s / 3600:.0f} h ago"
