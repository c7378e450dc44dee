"""Online endpoints: a stable address, and how its requests are shared out."""

from dataclasses import dataclass
from typing import Any

from shoal.entities.base import Block, Entity, Values


@dataclass
class ManagedIdentityConfiguration(Block):
    client_id: str | None = None
    resource_id: str | None = None
    object_id: str | None = None
    principal_id: str | None = None


@dataclass(kw_only=True)
class IdentityConfiguration(Block):
    type: str
    user_assigned_identities: list[Any] | None = None
    principal_id: str | None = None
    tenant_id: str | None = None

    def __post_init__(self) -> None:
        if self.user_assigned_identities is not None:
            self.user_assigned_identities = [
                ManagedIdentityConfiguration._of(item) for item in self.user_assigned_identities
            ]


@dataclass(kw_only=True)
class Objective(Block):
    """What share of the requests shall be good, as REST has it; not in Azure's SDK.

    ``kind`` is ``availability``, or ``latency`` with ``threshold_ms``.
    """

    name: str
    kind: str
    target_percent: float
    window_days: int = 28
    threshold_ms: float | None = None


@dataclass(kw_only=True)
class OnlineEndpoint(Entity):
    """``traffic`` maps deployments to percent; the sum is 100, or 0 to answer nobody.

    ``traffic_rules`` go before it: ``{"header": "x-group", "exact": "testers", "deployment":
    "green"}``, or ``prefix``, ``regex``, ``present``. ``sticky`` (``{"header": ...}`` or
    ``{"cookie": ...}``) keeps each client with one deployment. Of these and of limits None stays as
    it is; ``[]``, 0 and ``{}`` take them away. ``objectives`` are the whole list, likewise.
    """

    auth_mode: str = "key"
    location: str | None = None
    traffic: dict[str, int] | None = None
    mirror_traffic: dict[str, int] | None = None
    identity: IdentityConfiguration | None = None
    kind: str | None = None
    public_network_access: str | None = None
    compute: str | None = None
    cors_origins: list[str] | None = None
    max_request_bytes: int | None = None
    rate_limit: dict[str, Any] | None = None
    sticky: dict[str, Any] | None = None
    traffic_rules: list[dict[str, Any]] | None = None
    objectives: list[Objective] | None = None
    project: str | None = None  # of a new one; what is there stays where it is

    def __post_init__(self) -> None:
        super().__post_init__()
        self.auth_mode = (self.auth_mode or "key").lower()
        self.traffic = dict(self.traffic or {})
        self.mirror_traffic = dict(self.mirror_traffic or {})
        # as the installation writes them, so that nothing differs by capitals alone
        if self.traffic_rules is not None:
            self.traffic_rules = [_lower_header(rule) for rule in self.traffic_rules]
        if self.sticky is not None:
            self.sticky = _lower_header(self.sticky)
        if self.objectives is not None:
            given: list[Any] = self.objectives  # files and callers may give plain values
            made = [one if isinstance(one, Objective) else Objective(**one) for one in given]
            self.objectives = sorted(made, key=lambda one: one.name)
        self.identity = IdentityConfiguration._of(self.identity)
        # what the installation says about it
        self.scoring_uri: str | None = None
        self.openapi_uri: str | None = None
        self.provisioning_state: str | None = None
        self.shown: Values = {}  # the whole answer of the REST API


@dataclass(kw_only=True)
class ManagedOnlineEndpoint(OnlineEndpoint):
    pass


@dataclass(kw_only=True)
class KubernetesOnlineEndpoint(OnlineEndpoint):
    """Accepted for the files that say so; here it is an endpoint as any other."""


def _lower_header(value: dict[str, Any]) -> dict[str, Any]:
    return {**value, "header": str(value["header"]).lower()} if "header" in value else dict(value)
