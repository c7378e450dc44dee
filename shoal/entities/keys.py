"""Tables of keys: which a file may have, of what kind, and what becomes of each.

A table maps keys to ``Key``; ``check`` walks values along it, cleans them, and collects every fault
and every note instead of stopping at the first.
"""

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

from shoal.entities.errors import Fault


class Use(Enum):
    HONOUR = "honoured"
    MAP = "mapped"
    KEEP = "kept, without effect"
    REJECT = "rejected"


@dataclass
class Walk:
    """Where a check stands, and what it found."""

    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fault(self, where: str, text: str, hint: str = "") -> None:
        self.faults.append(Fault(where, text, hint))


Kind = Callable[[Any, str, Walk], Any]
THRESHOLD_KINDS: Final = ("project", "endpoint", "node")


@dataclass(frozen=True, slots=True)
class Key:
    kind: Kind
    use: Use = Use.HONOUR
    why: str = ""  # what a note or a refusal says


Table = Mapping[str, Key]


def check(values: object, table: Table, where: str, walk: Walk) -> dict[str, Any]:
    """``values`` cleaned; faults and notes are added to ``walk``."""
    if not isinstance(values, Mapping):
        walk.fault(where or "the file", f"expected keys and values, not {_shown(values)}")
        return {}
    cleaned: dict[str, Any] = {}
    for name, value in values.items():
        path = f"{where}.{name}" if where else str(name)
        key = table.get(str(name))
        if key is None:
            walk.fault(path, "there is no such key here", _nearest(str(name), table))
        elif key.use is Use.REJECT:
            walk.fault(path, key.why)
        elif value is not None:
            cleaned[str(name)] = key.kind(value, path, walk)
            if key.use in (Use.KEEP, Use.MAP) and key.why:
                walk.notes.append(f"{path}: {key.why}")
    return cleaned


def _nearest(name: str, table: Table) -> str:
    close = difflib.get_close_matches(name, list(table), n=1, cutoff=0.6)
    if close:
        return f"{name}: did you mean {close[0]}?"
    return f"{name}: the keys are {', '.join(sorted(key for key in table if key != '$schema'))}."


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# kinds ------------------------------------------------------------------------------------------


def text(value: Any, where: str, walk: Walk) -> str:
    if isinstance(value, Mapping | list):
        walk.fault(where, f"expected a text, not {_shown(value)}")
    return str(value)


def integer(value: Any, where: str, walk: Walk) -> int:
    try:
        if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
            raise ValueError
        return int(value)
    except (TypeError, ValueError, OverflowError):
        walk.fault(where, f"expected a whole number, not {_shown(value)}")
        return 0


def number(value: Any, where: str, walk: Walk) -> float:
    try:
        # why: true is 1 to Python, and JSON has neither infinity nor what is no number
        if isinstance(value, bool) or not math.isfinite(float(value)):
            raise ValueError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        walk.fault(where, f"expected a number, not {_shown(value)}")
        return 0.0


def boolean(value: Any, where: str, walk: Walk) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if str(value).lower() in known:
        return known[str(value).lower()]
    walk.fault(where, f"expected true or false, not {_shown(value)}")
    return False


def switch(value: Any, where: str, walk: Walk) -> str:
    """A truth value that the files write as a text: 'True', true, "false"."""
    return str(boolean(value, where, walk)).lower()


def anything(value: Any, where: str, walk: Walk) -> Any:
    del where, walk
    return value


def string_map(value: Any, where: str, walk: Walk) -> dict[str, Any]:
    """Names and plain values, as tags and environment variables are."""
    if not isinstance(value, Mapping):
        walk.fault(where, f"expected names and values, not {_shown(value)}")
        return {}
    for name, item in value.items():
        if isinstance(item, Mapping | list):
            walk.fault(f"{where}.{name}", "expected a plain value")
    return {str(name): item for name, item in value.items()}


def shares(value: Any, where: str, walk: Walk) -> dict[str, int]:
    if not isinstance(value, Mapping):
        walk.fault(where, f"expected deployments and percentages, not {_shown(value)}")
        return {}
    found = {}
    for name, item in value.items():
        percent = integer(item, f"{where}.{name}", walk)
        if not 0 <= percent <= 100:
            walk.fault(f"{where}.{name}", f"{percent} is no percentage")
        found[str(name)] = percent
    return found


def choice(*allowed: str) -> Kind:
    """One of ``allowed``, in any case; ``SystemAssigned`` is ``system_assigned``."""
    plain = {_plain(item): item for item in allowed}

    def kind(value: Any, where: str, walk: Walk) -> str:
        found = plain.get(_plain(str(value)))
        if found is None:
            close = difflib.get_close_matches(str(value).lower(), allowed, n=1, cutoff=0.5)
            walk.fault(
                where,
                f"{value!r} is none of {', '.join(allowed)}",
                f"{where}: did you mean {close[0]}?" if close else "",
            )
        return found or str(value)

    return kind


def _plain(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def block(table: Table) -> Kind:
    def kind(value: Any, where: str, walk: Walk) -> dict[str, Any]:
        return check(value, table, where, walk)

    return kind


def listing(item: Kind) -> Kind:
    def kind(value: Any, where: str, walk: Walk) -> list[Any]:
        if not isinstance(value, list):
            walk.fault(where, f"expected a list, not {_shown(value)}")
            return []
        return [item(one, f"{where}[{place}]", walk) for place, one in enumerate(value)]

    return kind


def mapping(item: Kind) -> Kind:
    def kind(value: Any, where: str, walk: Walk) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            walk.fault(where, f"expected names and blocks, not {_shown(value)}")
            return {}
        return {str(name): item(one, f"{where}.{name}", walk) for name, one in value.items()}

    return kind


def or_none(item: Kind) -> Kind:
    """Of what null says something, too."""

    def kind(value: Any, where: str, walk: Walk) -> Any:
        return None if value is None else item(value, where, walk)

    return kind


def moment(value: Any, where: str, walk: Walk) -> str:
    """ISO 8601; without a time zone it is UTC. YAML makes a time of what stands without quotes."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        walk.fault(where, f"expected a time such as 2026-11-28T06:00:00Z, not {_shown(value)}")
        return ""
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()


def threshold_about(value: Any, where: str, walk: Walk) -> str:
    """What has a threshold of its own."""
    kind, _, name = str(value).partition("/")
    if kind not in THRESHOLD_KINDS or not name:
        told = ", ".join(f"{one}/NAME" for one in THRESHOLD_KINDS)
        walk.fault(where, f"expected one of {told}, not {_shown(value)}")
    return str(value)


def reference(value: Any, where: str, walk: Walk) -> dict[str, str] | None:
    """Where something secret is. What else stands there is never repeated: it may be the secret."""
    if not isinstance(value, Mapping) or len(value) != 1 or not {"env", "file"} >= set(value):
        told = type(value).__name__ if not isinstance(value, Mapping) else "other keys"
        walk.fault(
            where,
            f"expected {{env: NAME}} or {{file: PATH}}, not {told}",
            f"{where}: what is secret is kept out of the file; name the variable or file it is in.",
        )
        return None
    return {str(name): text(item, f"{where}.{name}", walk) for name, item in value.items()}


def text_or(other: Kind) -> Kind:
    """A reference such as ``azureml:name:1``, or the thing itself."""

    def kind(value: Any, where: str, walk: Walk) -> Any:
        return other(value, where, walk) if isinstance(value, Mapping) else text(value, where, walk)

    return kind
