"""What gateways have to route: endpoints, hashes of keys, weights, and the replicas that answer.

Values only, and nothing of Envoy: the gateway app renders them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Prefetch, Q, Sum
from django.utils import timezone

from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.naming import held_out_name
from controlplane.deployments.rules import KINDS
from controlplane.deployments.slots import slots_shared
from controlplane.deployments.tokens import hashes_valid, window_at
from controlplane.deployments.types import (
    AuthMode,
    DeploymentState,
    Desired,
    EndpointState,
    ReplicaState,
)
from wire.addresses import host_address


@dataclass(frozen=True, slots=True)
class RoutedReplica:
    replica_id: str
    address: str
    http_port: int
    grpc_port: int
    draining: bool  # finish what is running there, send nothing new


@dataclass(frozen=True, slots=True)
class Hold:
    """Requests wait at the gateway while no replica runs; see ``autoscaling.Idle``."""

    timeout_s: int  # so long each of them waits at most
    most: int  # so many wait at a time, at each gateway


@dataclass(frozen=True, slots=True)
class RoutedDeployment:
    name: str
    weight: int  # percent of the endpoint's traffic, 0..100
    mirror_percent: int
    request_timeout_ms: int
    retries: bool  # stateless: a request whose connection broke may be sent to another replica
    replicas: tuple[RoutedReplica, ...]  # sorted by id; may be empty
    # what all of them together work on at a time; None: as much as comes
    max_concurrent_requests: int | None = None
    # seconds and counts by Azure's names; None: gateways ask often, by their own rule
    readiness_probe: dict[str, int] | None = None
    # what it takes to wake it, where it may be at zero; None: nothing does
    hold: Hold | None = None

    @property
    def asleep(self) -> bool:
        """Its requests are held: none of its replicas takes new ones, and a request brings one."""
        return self.hold is not None and all(replica.draining for replica in self.replicas)


@dataclass(frozen=True, slots=True)
class KeyHash:
    slot: str  # "primary", "secondary" or "aml_token"
    sha256: str  # lower-case hex


@dataclass(frozen=True, slots=True)
class RateLimit:
    requests_per_second: int
    burst: int  # how many may come at once after a pause
    per: str  # deployments.types.RateLimitPer: what has a count of its own


@dataclass(frozen=True, slots=True)
class Rule:
    """Requests with the header go to the deployment, whatever the shares say."""

    header: str  # lower case
    kind: str  # "exact", "prefix", "regex" or "present"
    value: str  # empty with "present"
    deployment: str


@dataclass(frozen=True, slots=True)
class Sticky:
    """Clients with the same value stay with one deployment while the shares stay."""

    kind: str  # "header" or "cookie"
    name: str
    max_age_s: int  # of a cookie that the gateway sets for who brings none
    slots: tuple[tuple[str, int], ...]  # whose which hundredth of them is; see ``slots``


@dataclass(frozen=True, slots=True)
class RoutedEndpoint:
    name: str
    generation: int  # confirm this number once every gateway has applied the view
    keys: tuple[KeyHash, ...]
    deployments: tuple[RoutedDeployment, ...]  # sorted by name
    cors_origins: tuple[str, ...] = ()  # exact, or "*" alone; none: browsers' pages may not call
    max_request_bytes: int | None = None  # of a body; None: no limit but the runtime's own
    rate_limit: RateLimit | None = None
    rules: tuple[Rule, ...] = ()  # the first that fits
    sticky: Sticky | None = None


@dataclass(frozen=True, slots=True)
class RoutingView:
    endpoints: tuple[RoutedEndpoint, ...]  # sorted by name

    def generations(self) -> dict[str, int]:
        return {endpoint.name: endpoint.generation for endpoint in self.endpoints}


@dataclass(frozen=True, slots=True)
class RoutingRevision:
    """Never the same again once anything has changed that gateways have to route.

    Of endpoints and deployments their number, the newest, and sums of what only rises in each of
    them. A change raises a sum. Where one that is gone makes up for that, its going changes the
    number, or the newest where another has come.
    """

    endpoints: tuple[Any, ...]
    deployments: tuple[Any, ...]
    token_window: int  # tokens open and expire with time, without a change of any row


def routing_revision() -> RoutingRevision:
    """That of now, in two queries that give a row each.

    Read it before the view that is kept under it: a change between the two then shows next time.
    """
    endpoints = Endpoint.objects.aggregate(
        Count("pk"), Max("pk"), Max("created_at"), Sum("generation")
    )
    # what changes of one raises its endpoint's generation only where replicas serve
    deleting = Q(provisioning_state=DeploymentState.DELETING)
    deployments = Deployment.objects.aggregate(
        Count("pk"),
        Max("pk"),
        Sum("generation"),
        Sum("revision_id"),
        deleting=Count("pk", filter=deleting),
    )
    return RoutingRevision(
        tuple(endpoints.values()), tuple(deployments.values()), window_at(timezone.now())
    )


def routing_view() -> RoutingView:
    """The view as of now, in four queries."""
    now = timezone.now()
    # why endpoints first: a generation read before its replicas can only be too old, never too new,
    # so that confirming it promises nothing that the view did not hold.
    live = Deployment.objects.select_related("revision").order_by("name")
    live = live.exclude(provisioning_state=DeploymentState.DELETING)
    endpoints = Endpoint.objects.order_by("name").prefetch_related(
        "keys",
        Prefetch("deployments", live),
        Prefetch("deployments__replicas", Replica.objects.order_by("id")),
    )
    return RoutingView(tuple(_endpoint(endpoint, now) for endpoint in endpoints))


def _endpoint(endpoint: Endpoint, now: datetime) -> RoutedEndpoint:
    keys = sorted(endpoint.keys.all(), key=lambda key: key.slot)
    # why one that is being deleted stays, empty: so that gateways can confirm its routes are gone
    deleting = endpoint.provisioning_state == EndpointState.DELETING
    opened_by = tuple(KeyHash(slot=key.slot, sha256=key.sha256) for key in keys)
    if endpoint.auth_mode == AuthMode.TOKEN:
        born = int(endpoint.created_at.timestamp() * 1000)
        valid = hashes_valid(endpoint.name, born, endpoint.token_epoch, now)
        opened_by = tuple(KeyHash(slot=AuthMode.TOKEN, sha256=sha256) for sha256 in valid)
    return RoutedEndpoint(
        name=endpoint.name,
        generation=endpoint.generation,
        keys=opened_by,
        deployments=()
        if deleting
        else tuple(
            routed
            for deployment in endpoint.deployments.all()
            for routed in (_deployment(endpoint, deployment), *_held_out(deployment))
        ),
        cors_origins=tuple(endpoint.cors_origins),
        max_request_bytes=endpoint.max_request_bytes,
        rate_limit=RateLimit(**endpoint.rate_limit) if endpoint.rate_limit else None,
        rules=tuple(map(_rule, endpoint.traffic_rules)),
        sticky=_sticky(endpoint),
    )


def _rule(rule: Mapping[str, Any]) -> Rule:
    kind = next(kind for kind in KINDS if kind in rule)
    value = "" if kind == "present" else rule[kind]
    return Rule(rule["header"], kind, value, rule["deployment"])


def _sticky(endpoint: Endpoint) -> Sticky | None:
    if endpoint.sticky is None:
        return None
    kind = next(kind for kind in ("header", "cookie") if kind in endpoint.sticky)
    # why not as they are stored: a control plane of before, and what takes a change back, write
    # the shares alone
    slots = slots_shared(endpoint.sticky_slots, endpoint.traffic)
    return Sticky(kind, endpoint.sticky[kind], endpoint.sticky.get("max_age_s", 0), tuple(slots))


def _deployment(endpoint: Endpoint, deployment: Deployment) -> RoutedDeployment:
    idle = deployment.idle_rule
    per_instance = deployment.max_concurrent_requests_per_instance
    routed = (_replica(replica) for replica in deployment.replicas.all() if not replica.held_out)
    return RoutedDeployment(
        name=deployment.name,
        weight=int(endpoint.traffic.get(deployment.name, 0)),
        mirror_percent=int(endpoint.mirror_traffic.get(deployment.name, 0)),
        request_timeout_ms=deployment.request_timeout_ms,
        retries=deployment.retries,
        replicas=tuple(replica for replica in routed if replica is not None),
        max_concurrent_requests=None
        if per_instance is None
        else per_instance * max(deployment.instance_count, 1),
        readiness_probe=deployment.revision.settings.readiness_probe,
        hold=None if idle is None else Hold(timeout_s=idle.hold_s, most=idle.most_held),
    )


def _held_out(deployment: Deployment) -> tuple[RoutedDeployment, ...]:
    """What gets none of its requests yet, if anything: for who asks by that name, and no share, no
    rule and no copy."""
    routed = (_replica(replica) for replica in deployment.replicas.all() if replica.held_out)
    replicas = tuple(replica for replica in routed if replica is not None)
    if not replicas:
        return ()
    return (
        RoutedDeployment(
            name=held_out_name(deployment.name),
            weight=0,
            mirror_percent=0,
            request_timeout_ms=deployment.request_timeout_ms,
            retries=deployment.retries,
            replicas=replicas,
            readiness_probe=deployment.revision.settings.readiness_probe,
        ),
    )


def reachable_at(observed: Mapping[str, Any]) -> str | None:
    """The address of what a node reported, as Envoy spells it; None for what is none.

    Reports are held against their node when they come in; rows may be older than that.
    """
    try:
        return host_address(str(observed.get("address")))
    except ValueError:
        return None


def _replica(replica: Replica) -> RoutedReplica | None:
    """The replica as gateways should see it; None when it cannot answer.

    One whose node is silent stays: its requests do not pass through us, and gateways check health.
    """
    observed = replica.observed
    answering = observed.get("state") in (ReplicaState.READY, ReplicaState.DRAINING)
    if not answering or replica.state not in (
        ReplicaState.READY,
        ReplicaState.DRAINING,
        ReplicaState.UNKNOWN,
    ):
        return None
    address = reachable_at(observed)
    if address is None or not observed.get("http_port") or not observed.get("grpc_port"):
        return None
    leaving = replica.desired != Desired.RUNNING or replica.retire_generation is not None
    draining = leaving or replica.state == ReplicaState.DRAINING
    return RoutedReplica(
        replica_id=replica.id,
        address=address,
        http_port=int(observed["http_port"]),
        grpc_port=int(observed["grpc_port"]),
        draining=draining,
    )
