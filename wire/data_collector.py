"""Azure's ``data_collector`` of a deployment in the words of what Shoal captures.

Here because both sides read it: the client in files, the control plane in what Azure's clients
send.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

COLLECTIONS: Final = ("model_inputs", "model_outputs")
ROLLING_S: Final = {"minute": 60, "hour": 3600}
ALL_REQUESTS: Final = 1.0  # where nobody says a rate
_ON: Final = frozenset({"true", "yes", "on", "1"})


class NotCollected(ValueError):
    """``faults``: where in the block, and what is wrong there."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{where}: {what}" for where, what in faults))
        self.faults = faults


def captured(block: Mapping[str, Any]) -> dict[str, Any]:
    """REST's ``capture`` of a block as files have it; empty where it switches all off.

    Raises NotCollected, which names what Shoal does not collect.
    """
    if faults := list(_faults(block)):
        raise NotCollected(faults)
    wanted = enabled(block)
    if not wanted:
        return {}
    rate, rolling = block.get("sampling_rate"), block.get("rolling_rate")
    found: dict[str, Any] = {
        "collections": wanted,
        "sampling_rate": ALL_REQUESTS if rate is None else rate,
    }
    if rolling is not None:
        found["roll_seconds"] = ROLLING_S[rolling.lower()]
    return found


def enabled(block: Mapping[str, Any]) -> list[str]:
    return [
        name
        for name, item in (block.get("collections") or {}).items()
        if str((item or {}).get("enabled")).lower() in _ON
    ]


def _faults(block: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in enabled(block):
        if name not in COLLECTIONS:
            yield (
                f"collections.{name}",
                f"expected {' or '.join(COLLECTIONS)}: tensors are captured, no bodies of HTTP",
            )
    headers = (block.get("request_logging") or {}).get("capture_headers")
    if headers:
        text = f"{headers}, expected none: headers are not captured"
        yield "request_logging.capture_headers", text
    rolling = block.get("rolling_rate")
    if rolling is not None and rolling.lower() not in ROLLING_S:
        yield "rolling_rate", f"{rolling!r}, expected {' or '.join(ROLLING_S)}"
