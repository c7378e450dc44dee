"""Azure's ``data_collector`` as what Shoal captures."""

from collections.abc import Iterator
from typing import Final

from shoal.entities import OnlineDeployment
from shoal.entities.base import Values
from shoal.entities.errors import EntityInvalid, Fault
from shoal.entities.settings import DataCollector

COLLECTIONS: Final = ("model_inputs", "model_outputs")
ROLLING_S: Final = {"minute": 60, "hour": 3600}
ALL_REQUESTS: Final = 1.0  # where a file for Azure does not say a rate
_ON: Final = frozenset({"true", "yes", "on", "1"})


def capture_of(deployment: OnlineDeployment) -> Values | None:
    """REST's ``capture``; empty: the file switches it off. None: it says nothing of it.

    Raises EntityInvalid, which names what Shoal does not collect.
    """
    if deployment.capture is not None:
        return dict(deployment.capture)
    return collected(deployment.data_collector)


def collected(collector: DataCollector | None) -> Values | None:
    """The same of the block alone."""
    if collector is None:
        return None
    if faults := list(_faults(collector)):
        raise EntityInvalid("The deployment", faults)
    wanted = _enabled(collector)
    if not wanted:
        return {}
    rate = collector.sampling_rate
    found: Values = {
        "collections": wanted,
        "sampling_rate": ALL_REQUESTS if rate is None else rate,
    }
    if collector.rolling_rate is not None:
        found["roll_seconds"] = ROLLING_S[collector.rolling_rate.lower()]
    return found


def _enabled(collector: DataCollector) -> list[str]:
    return [
        name
        for name, item in collector.collections.items()
        if item is not None and str(item.enabled).lower() in _ON
    ]


def _faults(collector: DataCollector) -> Iterator[Fault]:
    for name in _enabled(collector):
        if name not in COLLECTIONS:
            yield Fault(
                f"data_collector.collections.{name}",
                f"expected {' or '.join(COLLECTIONS)}: tensors are captured, no bodies of HTTP",
            )
    if collector.request_logging is not None and collector.request_logging.capture_headers:
        yield Fault(
            "data_collector.request_logging.capture_headers",
            f"{collector.request_logging.capture_headers}, expected none: headers are not captured",
        )
    rolling = collector.rolling_rate
    if rolling is not None and rolling.lower() not in ROLLING_S:
        yield Fault(
            "data_collector.rolling_rate",
            f"{rolling!r}, expected {' or '.join(ROLLING_S)}",
        )
