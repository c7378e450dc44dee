"""The settings of a configuration that say how it carries load: instances, batches, delay.

Read of the complete configuration, written into somebody's text, of which the rest stays.
"""

import re
from typing import Any, Final

from worker_runtime.inspection.edits import line_added, removed, value_replaced
from worker_runtime.repository.pbtxt import parse, places

DELAY: Final = "dynamic_batching[0].max_queue_delay_microseconds"
PREFERRED: Final = "dynamic_batching[0].preferred_batch_size"


def load_settings(effective: str) -> dict[str, Any]:
    """``effective``: the complete configuration. ``why_not``: why they cannot be chosen for it;
    ``fixed``: why its instances cannot."""
    config = parse(effective)
    groups = config.instance_group
    batching = config.WhichOneof("scheduling_choice")
    why_not = ""
    if config.platform == "ensemble" or batching == "ensemble_scheduling":
        why_not = "it is an ensemble: its steps have instances and batches, it has none"
    elif batching == "sequence_batching":
        why_not = "it keeps sequences, and a load test sends single requests"
    elif config.model_transaction_policy.decoupled:
        why_not = "it answers in streams, which a load test does not read"
    return {
        "instances": sum(group.count for group in groups) or 1,
        "batch": config.max_batch_size,
        "delay_us": config.dynamic_batching.max_queue_delay_microseconds,
        "why_not": why_not,
        "fixed": f"it has {len(groups)} instance groups" if len(groups) > 1 else "",
    }


def with_load_settings(text: str, *, instances: int | None, batch: int, delay_us: int) -> str:
    """``instances`` None: as they are; ``batch`` 0: it takes none, and nothing of that changes.

    Raises ConfigInvalid for a text without a sense.
    """
    parse(text)
    if instances is not None:
        text = _with_count(text, instances)
    if not batch:
        return text
    text = _with_scalar(text, "max_batch_size", batch)
    while shorter := removed(text, PREFERRED):  # sizes of another max_batch_size
        text = shorter
    if "dynamic_batching" not in places(text):
        block = f"dynamic_batching {{\n  max_queue_delay_microseconds: {delay_us}\n}}"
        return _appended(text, block) if batch > 1 else text
    return _with_inner(text, "dynamic_batching", DELAY, delay_us if batch > 1 else 0)


def _with_count(text: str, count: int) -> str:
    found = places(text)
    if "instance_group[0]" not in found:
        # why removed: an empty list is no group, and stands in the way of one
        text = removed(text, "instance_group") or text
        return _appended(text, f"instance_group [\n  {{\n    count: {count}\n  }}\n]")
    return _with_inner(text, "instance_group[0]", "instance_group[0].count", count)


def _with_scalar(text: str, field: str, value: int) -> str:
    return value_replaced(text, field, str(value)) or line_added(text, f"{field}: {value}")


def _with_inner(text: str, message: str, field: str, value: int) -> str:
    """A number in a message that is written."""
    if replaced := value_replaced(text, field, str(value)):
        return replaced
    opening = places(text)[message].end
    line = text.rfind("\n", 0, opening) + 1
    indent = re.match(r"[ \t]*", text[line:])
    room = indent[0] if indent else ""
    name = field.rpartition(".")[2]
    rest = text[opening:]
    if rest.lstrip(" \t").startswith("\n"):
        return f"{text[:opening]}\n{room}  {name}: {value}{rest}"
    return f"{text[:opening]} {name}: {value} {rest.lstrip(' ')}"


def _appended(text: str, block: str) -> str:
    return f"{text.rstrip()}\n{block}\n" if text.strip() else f"{block}\n"
