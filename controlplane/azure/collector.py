"""Pure: `dataCollector` of a deployment, between Azure's words, those of files, and `capture`."""

from collections.abc import Mapping
from typing import Any, Final

from controlplane.azure.errors import AzureInvalid, object_of
from controlplane.azure.types import Values
from wire.data_collector import ROLLING_S, NotCollected, captured, enabled

FIELD: Final = "properties.dataCollector"
KEPT: Final = "data_collector"
# Where a fault lies: as files say it, and as Azure does.
_WHERE: Final = {
    "rolling_rate": "rollingRate",
    "request_logging.capture_headers": "requestLogging.captureHeaders",
}
_MODES: Final = ("enabled", "disabled")
_EACH: Final = {"clientId": "client_id", "dataId": "data"}  # kept
# ... and given back. Not the other: the package fails on it where it sends what it has read.
_SHOWN: Final = {"clientId": "client_id"}
_MOST: Final = 16
_ROLLING: Final = {seconds: name.capitalize() for name, seconds in ROLLING_S.items()}


def collector_values(given: object) -> tuple[Values | None, Values]:
    """`capture` as REST takes it, None to end it; and the block to keep, as files have it.

    Raises AzureInvalid.
    """
    block = _block(object_of(given, FIELD))
    try:
        capture = captured(block)
    except NotCollected as error:
        where, what = error.faults[0]
        field = f"{FIELD}.{_WHERE.get(where, where)}"
        raise AzureInvalid(f"{field}: {what}.", field=field) from error
    return capture or None, block


def collector_over(values: Values, before: Mapping[str, Any] | None, kept: Values) -> Values:
    """``values`` of a deployment that is there and captures ``before``: what only Shoal has of it,
    as what is dropped or hashed, stays. What was said in Azure's words and is said no more ends."""
    if values.get("capture"):
        return {**values, "capture": {**(before or {}), **values["capture"]}}
    if "capture" not in values and KEPT in kept:
        return {**values, "capture": None}
    return values


def collector_shown(capture: Mapping[str, Any] | None, kept: object) -> Values | None:
    """What runs, with what was said beside it; None where there is neither."""
    said = kept if isinstance(kept, dict) else {}
    if capture is None and not said:
        return None
    on = capture["collections"] if capture else ()
    parts = {name: part or {} for name, part in (said.get("collections") or {}).items()}
    found: Values = {
        "collections": {
            name: {
                # why so: the package compares with that very word
                "dataCollectionMode": "Enabled" if name in on else "Disabled",
                **({"samplingRate": capture["sampling_rate"]} if capture else {}),
                **{azure: part[ours] for azure, ours in _SHOWN.items() if part.get(ours)},
            }
            for name, part in ({name: {} for name in on} | parts).items()
        }
    }
    rolling = _ROLLING.get(capture["roll_seconds"]) if capture else None
    return found | ({"rollingRate": rolling} if rolling else {})


def _block(given: Values) -> Values:
    """As files have it. Raises AzureInvalid."""
    collections = object_of(given.get("collections"), f"{FIELD}.collections")
    if len(collections) > _MOST:
        raise _invalid(f"{FIELD}.collections", f"{len(collections)} of them", f"at most {_MOST}")
    parts = {name: _part(part, name) for name, part in collections.items()}
    block: Values = {"collections": {name: part for name, (part, _) in parts.items()}}
    on = enabled(block)
    rates = {rate for name, (_, rate) in parts.items() if name in on}
    if len(rates) > 1:
        told = ", ".join(sorted(map(str, rates)))
        raise _invalid(f"{FIELD}.collections", f"samplingRate {told}", "the same for all")
    if rates and (rate := rates.pop()) is not None:
        block["sampling_rate"] = rate
    rolling = given.get("rollingRate")
    if rolling is not None:
        if not isinstance(rolling, str):
            raise _invalid(f"{FIELD}.rollingRate", repr(rolling)[:40], "a text")
        block["rolling_rate"] = rolling[:40].lower()
    logging = object_of(given.get("requestLogging"), f"{FIELD}.requestLogging")
    if logging.get("captureHeaders"):
        block["request_logging"] = {"capture_headers": str(logging["captureHeaders"])[:80]}
    return block


def _part(given: object, name: str) -> tuple[Values, float | None]:
    """One collection, and its rate, which files say once for all. Raises AzureInvalid."""
    field = f"{FIELD}.collections.{name[:60]}"
    found = object_of(given, field)
    mode, rate = found.get("dataCollectionMode"), found.get("samplingRate")
    if str(mode).lower() not in _MODES:
        raise _invalid(f"{field}.dataCollectionMode", repr(mode)[:40], "Enabled or Disabled")
    if isinstance(rate, bool) or not isinstance(rate, int | float | None):
        raise _invalid(f"{field}.samplingRate", repr(rate)[:40], "a number")
    part: Values = {"enabled": "true" if str(mode).lower() == "enabled" else "false"}
    for azure, ours in _EACH.items():
        if found.get(azure) is not None:
            part[ours] = str(found[azure])
    return part, rate


def _invalid(field: str, value: str, expected: str) -> AzureInvalid:
    return AzureInvalid(f"{field}: {value}, expected {expected}.", field=field)
