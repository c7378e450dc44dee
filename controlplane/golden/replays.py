"""Captured requests made into calls that can be asked again, or why they cannot. Pure.

Whoever sent them may have written anything into them, and a node may have made them up.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from controlplane.capture.replay import fault_of
from controlplane.console.inference import Call
from controlplane.console.models_served import Specification
from controlplane.console.reading import read_inputs
from controlplane.console.tensors import TensorError
from controlplane.deployments.capturing import Capture
from controlplane.golden.inputs import Input
from controlplane.rollouts import CAPTURED, Unusable, place
from wire.own_requests import OWN_REQUESTS

TRIED: Final = 20  # lines for each that is wanted: reading what cannot be asked takes time as well


@dataclass(frozen=True, slots=True)
class Drawn:
    """``unusable``: how many of the lines that were tried cannot be asked, by why."""

    inputs: tuple[Input, ...]
    unusable: Mapping[str, int]


def drawn(
    files: Iterable[tuple[str, Sequence[bytes]]],
    count: int,
    *,
    taken: Collection[str],
    models: Sequence[Specification],
    capture: Capture,
    most_bytes: int,
    rng: Random,
) -> Drawn:
    """``count`` of the files' lines at most, each as likely as any other, none that is ``taken``;
    ``most_bytes``: of all their tensors."""
    lines = [
        (file, number, line)
        for file, found in files
        for number, line in enumerate(found, 1)
        if place(file, number) not in taken
    ]
    tried = rng.sample(lines, min(len(lines), TRIED * count))
    return _usable(tried, count, models=models, capture=capture, most_bytes=most_bytes)


def newest(
    files: Iterable[tuple[str, Sequence[bytes]]],
    count: int,
    *,
    models: Sequence[Specification],
    capture: Capture,
    most_bytes: int,
) -> Drawn:
    """``count`` of the lines at most, the last ones first; ``files``: the newest first."""
    lines = (
        (file, number, found[number - 1])
        for file, found in files
        for number in range(len(found), 0, -1)
    )
    return _usable(lines, count, models=models, capture=capture, most_bytes=most_bytes)


def _usable(
    lines: Iterable[tuple[str, int, bytes]],
    count: int,
    *,
    models: Sequence[Specification],
    capture: Capture,
    most_bytes: int,
) -> Drawn:
    known = {model["name"]: model for model in models}
    inputs: list[Input] = []
    unusable: Counter[str] = Counter()
    for file, number, line in lines:
        if len(inputs) == count or len(inputs) + unusable.total() == TRIED * count:
            break
        # why ours are not counted: after some comparisons they would be all that is tried
        found = replayed(line, known, capture)
        if isinstance(found, Unusable):
            unusable[found] += 1
        elif found is not None:
            call, at = found
            most_bytes -= sum(len(tensor.raw) for tensor in call.inputs)
            if most_bytes < 0:
                break
            inputs.append(Input(CAPTURED, call.model, call, file, number, at))
    return Drawn(tuple(inputs), unusable)


def replayed(
    line: bytes, models: Mapping[str, Specification], capture: Capture
) -> tuple[Call, str] | Unusable | None:
    """The call, and when it was captured; None for what no client has asked."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return Unusable.UNREADABLE
    inputs = record.get("inputs") if isinstance(record, dict) else None
    if not isinstance(inputs, list) or not all(isinstance(one, dict) for one in inputs):
        return Unusable.UNREADABLE
    if str(record.get("id")) in OWN_REQUESTS:
        return None
    if "error" in record:
        return Unusable.FAILED
    model = models.get(str(record.get("model")))
    if model is None or model["decoupled"]:
        return Unusable.OTHER_MODEL
    fault = next((one for one in map(fault_of, inputs) if one), None)
    if fault is not None:
        return Unusable(fault.value)
    if _is_missing({str(one.get("name")) for one in inputs}, model, capture):
        return Unusable.LEFT_OUT
    try:
        call = Call(model=model["name"], inputs=read_inputs(inputs))
    except TensorError:
        return Unusable.UNREADABLE
    return call, str(record.get("time", ""))[:40]


def _is_missing(sent: Collection[str], model: Specification, capture: Capture) -> bool:
    """An optional input may have been left out by the client, unless it is never captured."""

    def is_captured(name: str) -> bool:
        return name not in capture.drop and (not capture.fields or name in capture.fields)

    return not sent or any(
        item["name"] not in sent and not (item.get("optional") and is_captured(item["name"]))
        for item in model["inputs"]
    )
