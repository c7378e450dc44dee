"""Where the time of one request went, as bars of text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shoal.display.units import duration

WIDTH: Final = 40
LABELS: Final = {
    "receive": "client sends",
    "inside": "gateway, network and replica",
    "send": "client takes the answer",
    "accept": "decode",
    "queue": "queue",
    "input": "make the batch",
    "infer": "compute",
    "output": "split the batch",
    "answer": "answer",
}
VIA: Final = {"step": "step ", "call": "call of "}


def lines(bars: Sequence[Mapping[str, Any]], spans: Sequence[Mapping[str, Any]]) -> list[str]:
    """One for each bar: its label, how long it took, and where in the whole."""
    whole = max((bar["start_us"] + bar["took_us"] for bar in bars), default=0.0) or 1.0
    labels = [f"{'  ' * bar['depth']}{_label(bar, spans)}" for bar in bars]
    wide = max((len(label) for label in labels), default=0)
    found = []
    for bar, label in zip(bars, labels, strict=True):
        ends_us = bar["start_us"] + bar["took_us"]
        begin = min(WIDTH - 1, int(bar["start_us"] / whole * WIDTH))
        end = max(begin + 1, min(WIDTH, round(ends_us / whole * WIDTH)))
        drawn = f"{' ' * begin}{('█' if bar['leaf'] else '─') * (end - begin)}".ljust(WIDTH)
        told = " ".join(
            part for part in ("← slow" if bar["slow"] else "", _note(bar, spans)) if part
        )
        took = duration(bar["took_us"] / 1e6)
        found.append(f"{label.ljust(wide)}  {took:>8}  {drawn}  {told}".rstrip())
    return found


def _label(bar: Mapping[str, Any], spans: Sequence[Mapping[str, Any]]) -> str:
    if bar["what"] != "model":
        return LABELS.get(bar["what"], str(bar["what"]))
    span = spans[bar["span"]]
    return f"{VIA.get(span['via'], '')}{span['model']}, version {span['version']}"


def _note(bar: Mapping[str, Any], spans: Sequence[Mapping[str, Any]]) -> str:
    if bar["what"] != "model":
        return ""
    span = spans[bar["span"]]
    shared = f"in a batch of {span['batch']} requests" if span["batch"] > 1 else ""
    return ", ".join(part for part in (shared, span["error"]) if part)
