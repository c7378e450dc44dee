"""The last change of an endpoint's traffic in words: whose it is, how it does, and the way back."""

import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from shoal.display.units import moment


def traffic_change_lines(watch: Any) -> Iterator[str]:
    """``watch``: what the server found, with a change."""
    change, found = watch["change"], watch["found"]
    before, after = change["before"], change["after"]
    parts = []
    if _shares(before) != _shares(after):
        parts.append(f"{_shares(before)} -> {_shares(after)}")
    if before["traffic_rules"] != after["traffic_rules"]:
        parts.append("other rules")
    made = ", ".join(parts)
    yield f"Traffic was changed by {change['actor']} {moment(change['changed_at'])}: {made}"
    if change["state"] == "undone":
        yield f"  {change['undone_by']} took that back {moment(change['undone_at'])}"
        return
    if change["state"] == "routing":
        yield "  Gateways have not confirmed it yet."
    elif watch["left_s"] is not None:
        yield f"  It is watched for {math.ceil(watch['left_s'])} s more."
    if change["state"] != "routing":
        yield f"  {found['text']}"
    if told := _way_back(watch["endpoint"], change["undo"]):
        yield f"  Take it back: {told}"


def _shares(shares: Mapping[str, Any]) -> str:
    told = (f"{name} {percent} %" for name, percent in shares["traffic"].items() if percent)
    return ", ".join(told) or "nobody"


def _way_back(endpoint: str, undo: Mapping[str, Any] | None) -> str:
    """As a command; rules of before are put back in the studio, with a click."""
    if undo is None or undo.get("traffic_rules") or not undo.get("traffic", True):
        return ""
    words = [f"{name}={percent}" for name, percent in undo.get("traffic", {}).items()]
    for name, percent in undo.get("mirror_traffic", {}).items():
        words += ["--mirror", f"{name}={percent}"]
    if "traffic_rules" in undo:
        words.append("--no-rules")
    return shlex.join(["shoal", "traffic", endpoint, *words])
