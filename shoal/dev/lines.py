"""What ``shoal dev`` prints: the server's words and its requests, a line each."""

import json
import re
from datetime import datetime
from typing import Any

# The runtime's own lines: I1126 12:18:23.271974 22588 serving.py:74] "loading: digits:1"
_LINE = re.compile(r'([IWEF])\d{4} (\d\d:\d\d:\d\d)\.\d+ +\d+ \S+\] "?(.*?)"?$')
_CHANGES = ("loading:", "successfully loaded", "successfully unloaded")
_MOST_VALUES = 64  # that a line of an example has
_COLOURS = {"W": "yellow", "E": "red", "F": "red"}


def server_line(line: str, *, everything: bool = False) -> tuple[str, str | None] | None:
    """A line of the server's log as text and colour; None for what only concerns operators.

    Lines in another form (tracebacks, the output of models) are what somebody wants to see.
    """
    found = _LINE.match(line)
    if found is None:
        return (line, None) if line.strip() and not line.startswith(("+", "|")) else None
    level, time, text = found.groups()
    if level == "I" and not everything and not text.startswith(_CHANGES):
        return None
    shown = text.replace('\\"', '"').replace("\\n", "\n")
    return f"{time}  {shown}", _COLOURS.get(level)


def request_line(line: str) -> tuple[str, str | None]:
    """An entry of the access log as text and colour."""
    entry: dict[str, Any] = json.loads(line)
    time = datetime.fromtimestamp(entry["time"]).strftime("%H:%M:%S")  # noqa: DTZ006 # a person's
    name = f"{entry['model']}:{entry['version']}"
    took = f"{entry['total_us'] / 1000:.2f} ms"
    parts = [
        f"{word} {entry[key] / 1000:.2f}"
        for word, key in (("queue", "queue_us"), ("compute", "compute_infer_us"))
        if key in entry
    ]
    if parts:
        took += f" ({', '.join(parts)})"
    rows = f"{entry['rows']} row{'' if entry['rows'] == 1 else 's'}"
    good = entry["status"] == "OK"
    text = f"{time}  {name}  {entry['protocol']}  {entry['status']}  {rows}  {took}"
    if entry["responses"] > 1:
        text += f"  {entry['responses']} answers"
    return text, "green" if good else "red"


def model_lines(metadata: dict[str, Any], http: str) -> list[str]:
    """What a model takes and gives, and a call of it to start from."""
    name = metadata["name"]
    if not metadata["inputs"]:
        return [
            f"{name} is loaded, but its file does not tell what it takes and gives: nobody can "
            f"call it before {name}/config.pbtxt says so"
        ]
    lines = [f"{name} is served:"]
    for word, tensors in (("takes", metadata["inputs"]), ("gives", metadata["outputs"])):
        lines += [
            f"  {word} {item['name']}: {item['datatype']} {_shape(item['shape'])}"
            for item in tensors
        ]
    body = {"inputs": [_example(item) for item in metadata["inputs"]]}
    lines.append(f"  curl -d '{json.dumps(body)}' http://{http}/v2/models/{name}/infer")
    return lines


def _shape(shape: list[int]) -> str:
    return "[" + ", ".join("any" if size < 0 else str(size) for size in shape) + "]"


def _example(tensor: dict[str, Any]) -> dict[str, Any]:
    """One row of zeros, as far as a line holds it."""
    shape = [max(1, int(size)) for size in tensor["shape"]]
    count = 1
    for size in shape:
        count *= size
    value: Any = {"BYTES": "text", "BOOL": False}.get(tensor["datatype"], 0)
    data = [value] * count if count <= _MOST_VALUES else ["..."]
    return {"name": tensor["name"], "datatype": tensor["datatype"], "shape": shape, "data": data}
