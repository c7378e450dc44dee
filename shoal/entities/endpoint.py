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

    Limits that are None stay as they are; ``[]``, 0 and ``{}`` take them away. So do
    ``objectives``, which are the whole list.
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
    objectives: list[Objective] | None = None
    project: str | None = None  # of a new one; what is there stays where it is

    def __post_init__(self) -> None:
        super().__post_init__()
        self.auth_mode = (self.auth_mode or "key").lower()
        self.traffic = dict(self.traffic or {})
        self.mirror_traffic = dict(self.mirror_traffic or {})
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
