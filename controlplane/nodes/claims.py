"""What nodes and gateways say, before anybody believes it: cut to size, held against what is known.

A node that joined may be broken, or somebody else's by now. What it says reaches gateways, charts,
events and browsers, so nothing of it may be endless, unprintable, or about somebody else.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeVar

import psutil

from controlplane.nodes import selectors
from controlplane.nodes.models import Node
from controlplane.nodes.types import out_of_reach
from wire.addresses import host_address
from wire.messages import NodeInfo

T = TypeVar("T")
NAME_CHARS: Final = 256
STREAM_CHARS: Final = 32
NODE_NAME_CHARS: Final = 100
TEXT_CHARS: Final = 65_536
# Texts of several lines, by the field that holds them; all others are names of something.
TEXTS: Final = {
    "message": 4096, "reason": 4096, "hints": 1024, "detail": TEXT_CHARS, "log": TEXT_CHARS,
    "text": TEXT_CHARS, "configs": TEXT_CHARS,
}  # fmt: skip
MOST: Final = {
    "gpus": 64, "labels": 64, "backends": 64, "hints": 16, "request_failure": 32,
    "batch_counts": 512, "batch_compute_us": 512, "first_response": 64, "left_out": 1000,
    "calls": 128, "call_failures": 128, "call_us": 128, "last_call": 128,
    "host_health": 20_000, "replicas": 2000, "samples": 2000, "models": 1000, "configs": 1000,
    "loads": 8, "points": 32, "errors": 32,
}  # fmt: skip
MOST_OTHERS: Final = 100_000
NUMBERED: Final = ("batch_counts", "batch_compute_us", "first_response")  # their keys are numbers
BELOW_ZERO: Final = ("temperature_c",)
FURTHEST: Final = 2**53  # what JavaScript and JSON still count exactly
LAST_MOMENT: Final = 2**33  # in the year 2242
SHOWN_CHARS: Final = 80
FORGOTTEN_S: Final = 3600.0
MOST_SHOWN: Final = 5  # violations, to who asks about a node
MOST_TOLD: Final = 20  # fields of one node, within that time


@dataclasses.dataclass(frozen=True, slots=True)
class Violation:
    """About one field of a message that is not believed."""

    field: str
    value: Any
    expected: str

    def __str__(self) -> str:
        shown = repr(self.value)
        shown = shown if len(shown) <= SHOWN_CHARS else f"{shown[:SHOWN_CHARS]}…"
        return f"{self.field}={shown}: expected {self.expected}"


def tidied(message: T) -> tuple[T, list[Violation]]:
    """``message`` with nothing endless or unprintable in it, and what had to be changed for that.

    Texts of several lines are cut and cleaned without a violation: what models print is theirs.
    """
    found: list[Violation] = []
    return _tidy(message, "", type(message).__name__, found), found


def _tidy(value: Any, field: str, where: str, found: list[Violation]) -> Any:
    if isinstance(value, str):
        return _text(value, field, where, found)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value, field, where, found)
    if isinstance(value, dict):
        return _table(value, field, where, found)
    if isinstance(value, tuple | list):
        kept = value[: _most(len(value), field, where, found)]
        return type(value)(_tidy(v, field, f"{where}[{i}]", found) for i, v in enumerate(kept))
    changes = {}
    for name in _names(value.__class__):
        old = getattr(value, name)
        new = _tidy(old, name, f"{where}.{name}", found)
        if new is not old:
            changes[name] = new
    return dataclasses.replace(value, **changes) if changes else value


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(item.name for item in dataclasses.fields(kind))


def _text(value: str, field: str, where: str, found: list[Violation]) -> str:
    if most := TEXTS.get(field):
        value = value if len(value) <= most else value[:most]
        return value if value.isprintable() else "".join(map(_shown, value))
    most = STREAM_CHARS if field == "stream" else NAME_CHARS
    if len(value) <= most and value.isprintable():
        return value
    found.append(Violation(where, value, f"at most {most} printable characters"))
    return "".join(char if char.isprintable() else "\ufffd" for char in value[:most])


def _shown(char: str) -> str:
    """why not all that is unprintable: lines, tabs and the joints of emoji are what people write,
    but an escape is an order to the terminal of who reads the log."""
    control = char < " " or "\x7f" <= char < "\xa0"
    return "\ufffd" if control and char not in "\n\t" else char


def _number(value: float, field: str, where: str, found: list[Violation]) -> float:
    moment = field in ("at", "last_call") or field.endswith("_at")
    most = LAST_MOMENT if moment else FURTHEST
    least = -most if field in BELOW_ZERO else 0
    if least <= value <= most or field == "configs":
        return value
    found.append(Violation(where, value, f"a number from {least} to {most}"))
    return type(value)(min(max(value, least), most))


def _table(value: dict[str, Any], field: str, where: str, found: list[Violation]) -> dict[str, Any]:
    most = _most(len(value), field, where, found)
    kept = {}
    for name, inner in list(value.items())[:most]:
        if field in NUMBERED and not _is_number(name):
            found.append(Violation(f"{where} has a key", name, "a number"))
            continue
        key = _text(name, "", f"{where} has a key", found)
        kept[key] = _tidy(inner, field, f"{where}.{key}", found)
    return kept


def _is_number(text: str) -> bool:
    try:
        return float(text) >= 0
    except ValueError:
        return False


def _most(count: int, field: str, where: str, found: list[Violation]) -> int:
    most = MOST.get(field, MOST_OTHERS)
    if count > most:
        found.append(Violation(f"length of {where}", count, f"at most {most}"))
    return most


def name_refused(name: str) -> str:
    """What a node's name should be instead; empty for one that it can have.

    It is part of addresses, labels of Prometheus and what people type.
    """
    marred = not name.isprintable() or "\ufffd" in name  # what ``tidied`` leaves of the former
    odd = name != name.strip() or name in (".", "..") or "/" in name
    if odd or marred or not 0 < len(name) <= NODE_NAME_CHARS:
        return "1 to 100 printable characters without '/', not blank at either end"
    return ""


def address_refused(node: Node, info: NodeInfo, now: datetime) -> str:
    """What was expected instead of the address at which ``info`` says that ``node`` is reached;
    empty for one that can be its own."""
    before: Mapping[str, Any] = node.info
    same = all(before.get(name) == getattr(info, name) for name in ("address", "boot_id"))
    if same and before.get("address_refused") == "":
        return ""  # nothing new: most reports of a large fleet
    try:
        address = host_address(info.address)
    except ValueError as error:
        return str(error).removeprefix("expected ")
    if out_of_reach(address, info.boot_id, selectors.machine_boot_id()):
        return "an address at which other machines reach it; loopback is each machine itself"
    if info.boot_id != selectors.machine_boot_id() and address in _our_addresses():
        return "an address of its own machine, not of the control plane's"
    if holder := _holder(node, address, info.boot_id, now):
        return f"an address of its own machine, not of node {holder}"
    return ""


def _our_addresses() -> set[str]:
    return {a.address for found in psutil.net_if_addrs().values() for a in found}


def _holder(node: Node, address: str, boot_id: str, now: datetime) -> str:
    """The node on another machine that is found there, and reports."""
    others = Node.objects.exclude(pk=node.pk).filter(address=address)
    for other in others:
        told = other.info
        if told.get("boot_id") == boot_id or told.get("address_refused"):
            continue
        if selectors.node_state(other, now) != "offline":
            return other.name
    return ""


def violations_new(
    before: Mapping[str, Any], violations: Iterable[Violation], now: datetime
) -> tuple[list[Violation], dict[str, float]]:
    """Those that nobody was told of within the hour, and when each field was last told of.

    A node that lies anew with each report is one event, not one every five seconds.
    """
    at = now.timestamp()
    told = {name: when for name, when in before.items() if at - when < FORGOTTEN_S}
    new = []
    for violation in violations:
        if violation.field not in told and len(told) < MOST_TOLD:
            told[violation.field] = at
            new.append(violation)
    return new, told
