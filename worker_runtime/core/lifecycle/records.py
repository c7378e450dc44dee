"""What is remembered about models, and the rows of the repository index that tell it."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from worker_runtime.core.loading import ModelPlan
from worker_runtime.core.model import ModelVersion
from worker_runtime.errors import (
    AlreadyExists,
    Cancelled,
    InvalidArgument,
    LoadFailed,
    NotFound,
    Unavailable,
    Unsupported,
)
from worker_runtime.repository.fingerprint import Fingerprint
from worker_runtime.types.repository import ModelState, name_of

_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (InvalidArgument, "Invalid argument"),
    (NotFound, "Not found"),
    (AlreadyExists, "Already exists"),
    (Cancelled, "Cancelled"),
    (Unsupported, "Unsupported"),
    (Unavailable, "Unavailable"),
)
_DUPLICATE = "model appears in two or more repositories"


class VersionState(Struct):
    """``plan`` is what the model was loaded by; it keeps the files of a request alive."""

    state: ModelState
    reason: str = ""
    model: ModelVersion | None = None
    plan: ModelPlan | None = None


class ModelRecord(Struct):
    """A model that was to be served at least once; no ``versions``: none could even be tried."""

    name: str
    versions: dict[int, VersionState] = field(default_factory=dict)

    @property
    def ready(self) -> dict[int, ModelVersion]:
        """The versions that serve, ascending."""
        return {
            version: held.model
            for version, held in sorted(self.versions.items())
            if held.model is not None and held.state is ModelState.READY
        }


class Known(Struct):
    """A model as it was last read and accepted.

    ``explicit``: somebody asked for it by name, rather than for an ensemble that needs it.
    ``loaded_from`` is what it looked like when it was last loaded, None before: a load that fails
    leaves it, so that the next attempt finds a difference.
    """

    plan: ModelPlan
    explicit: bool = True
    loaded_from: Fingerprint | None = None

    @property
    def seen(self) -> Fingerprint:
        return self.plan.seen


def status_text(error: Exception) -> str:
    """A failure as reasons of versions tell it: ``Invalid argument: the reason``.

    Anything without a kind of its own is internal.
    """
    if isinstance(error, LoadFailed):
        return f"{error.kind}: {error}"
    kind = next((name for kind, name in _KINDS if isinstance(error, kind)), "Internal")
    return f"{kind}: {str(error) or type(error).__name__}"


def index_rows(
    paths: Mapping[str, list[Path]],
    records: Mapping[str, ModelRecord],
    reasons: Mapping[str, str] | None,
) -> list[dict[str, str]]:
    """The repository index: rows of what lies on disk, with what is known about it.

    They go by name and version, with the keys that are known; ``paths`` are by model key.

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
