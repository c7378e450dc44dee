"""The repository index: rows of what lies on disk, with what is known about it."""

from collections.abc import Mapping
from pathlib import Path

from worker_runtime.core.lifecycle.records import ModelRecord
from worker_runtime.types.identity import name_of
from worker_runtime.types.states import ModelState

_DUPLICATE = "model appears in two or more repositories"


def index_rows(
    paths: Mapping[str, list[Path]],
    records: Mapping[str, ModelRecord],
    reasons: Mapping[str, str] | None,
) -> list[dict[str, str]]:
    """Rows by name and version, with the keys that are known; ``paths`` are by model key.

    With ``reasons`` (why models could not be read or have no version) they get a row too.
    """
    rows: list[dict[str, str]] = []
    for key, places in sorted(paths.items()):
        name = name_of(key)
        unavailable = {"name": name, "state": str(ModelState.UNAVAILABLE)}
        record = records.get(key)
        if len(places) > 1:
            rows.append({**unavailable, "reason": _DUPLICATE})
        elif record is not None and record.versions:
            rows.extend(_versions(record))
        elif reasons and key in reasons:
            rows.append({**unavailable, "reason": reasons[key]})
        elif record is None:
            rows.append({"name": name})
    return rows


def _versions(record: ModelRecord) -> list[dict[str, str]]:
    rows = []
    for version, held in sorted(record.versions.items()):
        row = {"name": name_of(record.name), "version": str(version), "state": str(held.state)}
        if held.reason:
            row["reason"] = held.reason
        rows.append(row)
    return rows
