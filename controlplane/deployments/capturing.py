"""What of a deployment's requests is captured, checked once; rows keep it as JSON.

How it is done: docs/data.md.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from controlplane.core.errors import Invalid

COLLECTIONS: Final = ("model_inputs", "model_outputs")  # as Azure calls them
MOST_FIELDS: Final = 256
LONGEST_NAME: Final = 255
RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "max_request_bytes": (1, 2**20),
    "roll_seconds": (5, 3600),
    "keep_days": (1, 365),
    "keep_bytes": (2**20, 2**40),
}
KEPT_BY_US: Final = frozenset({"collections", "keep_days", "keep_bytes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """``fields``: the inputs and outputs that are captured, empty: all. Of those ``drop`` are left
    out, and of ``hash`` only keyed digests are kept. Raises Invalid, which names the field, its
    value and what was expected."""

    sampling_rate: float = 0.01
    collections: tuple[str, ...] = COLLECTIONS
    fields: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    hash: tuple[str, ...] = ()
    max_request_bytes: int = 65_536
    roll_seconds: int = 60
    keep_days: int = 30
    keep_bytes: int = 2**30

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise _invalid(
                "sampling_rate", f"{self.sampling_rate:g}, expected a number above 0, 1 at most"
            )
        wrong = sorted(set(self.collections) - set(COLLECTIONS))
        if wrong or not self.collections:
            told = ", ".join(wrong) or "empty"
            raise _invalid("collections", f"{told}, expected {' or '.join(COLLECTIONS)}, or both")
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise _invalid(name, f"{value} is out of range: expected {least} to {most}")
        for name in ("fields", "drop", "hash"):
            self._check_names(name)
        if both := sorted(set(self.drop) & set(self.hash)):
            raise _invalid("hash", f"{', '.join(both)} cannot be dropped and hashed, expected one")

    def _check_names(self, name: str) -> None:
        said = getattr(self, name)
        if len(said) > MOST_FIELDS:
            raise _invalid(name, f"{len(said)} names, expected {MOST_FIELDS} at most")
        for one in said:
            if not 0 < len(one) <= LONGEST_NAME:
                raise _invalid(
                    name, f"{one[:40]!r}, expected a name of 1 to {LONGEST_NAME} characters"
                )

    def for_runtime(self) -> dict[str, Any]:
        """The same, as the runtime's ``--capture-config`` takes it."""
        said = {name: value for name, value in asdict(self).items() if name not in KEPT_BY_US}
        return {**said, **{name: name in self.collections for name in COLLECTIONS}}


def capture_from_json(kept: Mapping[str, Any]) -> Capture:
    """What rows keep, or REST has taken. Raises Invalid."""
    lists = {"collections", "fields", "drop", "hash"}
    known = {part.name for part in fields(Capture)}
    said: dict[str, Any] = {
        name: tuple(value) if name in lists else value
        for name, value in kept.items()
        if name in known
    }
    return Capture(**said)


def capture_to_json(capture: Capture) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(capture).items()
    }


def _invalid(name: str, why: str) -> Invalid:
    return Invalid(f"capture.{name}: {why}.", field=f"capture.{name}")
