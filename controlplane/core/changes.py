"""Fields of a row changed together with the event that tells of it."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Model

from controlplane.core import events


def change(
    row: Model,
    values: Mapping[str, Any],
    *,
    actor: str,
    verb: str,
    subject: str,
    named: str,
    data: Mapping[str, Any] | None = None,
) -> list[str]:
    """Give the row those values that it has not yet, inside the caller's transaction.

    ``named`` is what the event's message calls the row. Returns the fields that changed; where none
    did, nothing is saved and nothing is told.
    """
    after = {key: values[key] for key in sorted(values) if values[key] != getattr(row, key)}
    before = {key: getattr(row, key) for key in after}
    for key, value in after.items():
        setattr(row, key, value)
    changed = list(after)
    if changed:
        row.save(update_fields=[*changed, "updated_at"])
        events.record(
            actor=actor,
            verb=verb,
            subject=subject,
            message=f"{actor} changed {', '.join(changed)} of {named}",
            data={**(data or {}), "changed": changed},
            before=before,
            after=after,
        )
    return changed


def given(**values: Any) -> dict[str, Any]:
    """Those that are not None, which stands for what a caller left out."""
    return {key: value for key, value in values.items() if value is not None}
