"""The event log taken away: NDJSON, or CSV that no spreadsheet takes for formulas."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any, Final

from django.db.models import QuerySet

from controlplane.core.models import Event

BATCH: Final = 500
COLUMNS: Final = (
    "seq", "at", "actor", "verb", "subject", "severity", "message", "data", "link", "digest",
)  # fmt: skip


def in_order(events: QuerySet[Event]) -> Iterator[Event]:
    """Of the database, in order of their numbers."""
    return events.order_by("seq").iterator(BATCH)


def export_rows(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Events as they are exported."""
    for event in events:
        row = {name: getattr(event, name) for name in COLUMNS}
        yield row | {"at": event.at.astimezone(UTC).isoformat(), "severity": str(event.severity)}


def export_ndjson(events: Iterable[Event]) -> Iterator[str]:
    for row in export_rows(events):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def export_csv(events: Iterable[Event]) -> Iterator[str]:
    """With a head line; ``data`` is JSON in its cell."""
    yield _line(COLUMNS)
    for row in export_rows(events):
        row["data"] = json.dumps(row["data"], ensure_ascii=False, sort_keys=True)
        yield _line([_cell(row[name]) for name in COLUMNS])


def _cell(value: Any) -> str:
    """Text that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _line(cells: Iterable[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerow(cells)
    return stream.getvalue()
