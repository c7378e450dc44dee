"""Traces as the JSON elements of Triton's trace files."""

import json
from collections.abc import Iterator

from worker_runtime.observability.tracing.config import Level
from worker_runtime.observability.tracing.trace import Group, Trace


def elements(group: Group) -> list[str]:
    """A request's trace with its children, in order: each element one JSON object."""
    levels = group.setting.levels
    return [text for trace in group.members for text in _trace(trace, levels)]


def _trace(trace: Trace, levels: frozenset[Level]) -> Iterator[str]:
    stamps = Level.TIMESTAMPS in levels
    head: dict[str, object] = {
        "id": trace.id,
        "model_name": trace.model,
        "model_version": trace.version,
    }
    if trace.request_id:
        head["request_id"] = trace.request_id
    if trace.parent:
        head["parent_id"] = trace.parent
    # why in three parts: what the front end read comes before the request, as in Triton.
    begun = trace.core[0][1]
    if stamps:
        yield from (_stamp(trace, name, ns) for name, ns in trace.frontend if ns < begun)
    yield _text(head)
    if stamps:
        later = [*trace.core, *(stamp for stamp in trace.frontend if stamp[1] >= begun)]
        yield from (_stamp(trace, name, ns) for name, ns in sorted(later, key=lambda s: s[1]))
    for tensor in trace.tensors:
        shown = {
            "name": tensor.name,
            "data": tensor.data,
            "shape": ",".join(map(str, tensor.shape)),
            "dtype": tensor.datatype,
        }
        yield _text({"id": trace.id, "activity": tensor.activity, "tensor": shown})


def _stamp(trace: Trace, name: str, ns: int) -> str:
    return _text({"id": trace.id, "timestamps": [{"name": name, "ns": ns}]})


def _text(value: dict[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
