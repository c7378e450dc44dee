"""Pure: probes as rows keep them, as agents are told, and as Azure's YAML declares them."""

from collections.abc import Mapping
from typing import Any, Final

from controlplane.deployments.errors import ProbeInvalid
from wire.messages import ProbeRule

Probe = dict[str, int]

# Azure's defaults; seconds and counts. Each with the least and the most that makes sense.
DEFAULTS: Final[Probe] = {
    "initial_delay": 10,
    "period": 10,
    "timeout": 2,
    "success_threshold": 1,
    "failure_threshold": 30,
}
LONGEST_S: Final = 3600


def probe_declared(declared: Mapping[str, Any] | None, name: str) -> Probe | None:
    """What a file for Azure says as ``name``, completed; None when it says nothing.

    Raises ProbeInvalid, which names the value at fault.
    """
    said = (declared or {}).get(name)
    if not isinstance(said, Mapping) or not said:
        return None
    return {key: _value(name, key, said.get(key), default) for key, default in DEFAULTS.items()}


def _value(name: str, key: str, value: Any, default: int) -> int:
    if value is None:
        return default
    least = 0 if key == "initial_delay" else 1
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and least <= value <= LONGEST_S:
        return int(value)
    raise ProbeInvalid(
        f"{value!r} is no {key} of a probe.",
        field=f"declared.{name}.{key}",
        hints=(f"A whole number from {least} to {LONGEST_S}.",),
    )


def rule_of(probe: Mapping[str, int] | None) -> ProbeRule | None:
    """As the node's agent is told."""
    if probe is None:
        return None
    return ProbeRule(
        initial_delay_s=probe["initial_delay"],
        period_s=probe["period"],
        timeout_s=probe["timeout"],
        success_threshold=probe["success_threshold"],
        failure_threshold=probe["failure_threshold"],
    )


def allowance_s(rule: ProbeRule | None) -> float:
    """How much longer a replica may take to become ready when it is asked by this rule."""
    if rule is None:
        return 0.0
    return rule.initial_delay_s + rule.success_threshold * (rule.period_s + rule.timeout_s)
