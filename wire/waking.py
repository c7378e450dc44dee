"""What gateways and the control plane say of deployments that are without a replica while idle."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HoldLimits:
    """Of one deployment at one gateway: how long a request waits for a replica, and how many may
    wait at a time."""

    timeout_s: int
    most: int


@dataclass(frozen=True, slots=True)
class WakeRequest:
    """A gateway holds requests of this deployment: it shall have a replica. Said again every few
    seconds for as long as it does."""

    endpoint: str
    deployment: str


@dataclass(frozen=True, slots=True)
class WakeReply:
    """``wakes``: a replica comes, or is there already. ``reason``: what stands in the way of it;
    without ``wakes`` there is nothing to wait for."""

    wakes: bool
    reason: str = ""
