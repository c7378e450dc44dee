"""Routes of one endpoint: what is reachable, by which key, to which deployment. Pure.

Only the scoring part of the protocol is routed. It is a list of what may pass, so that no spelling
of a management path (repository, shared memory, tracing, logging) gets through.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.deployments.selectors import RoutedDeployment, RoutedEndpoint
from controlplane.gateway.clusters import GRPC, HTTP
from controlplane.gateway.fallback import answer
from controlplane.gateway.filters import held, not_held
from controlplane.gateway.keys import LUA
from controlplane.gateway.lookup import NAMED
from controlplane.gateway.names import cluster_name
from controlplane.gateway.policies import preflights, with_policies
from controlplane.gateway.sticky import Match, header_match, sticky_routes
from controlplane.gateway.timing import timing

PIN = "x-shoal-deployment"
UNPINNED: Match = {"name": PIN, "present_match": False}
SERVICE = "/inference.GRPCInferenceService/"
SAFE_RETRIES = "connect-failure,refused-stream,reset-before-request"
NUM_RETRIES = 2
# why so many: Envoy draws two replicas and takes the less busy one, which is the one that breaks
# its requests: of two, the other comes out once in four times. A draw costs nanoseconds.
DRAWS_FOR_ANOTHER_REPLICA = 100

V2_PATHS = (
    r"/v2/?"
    r"|/v2/health/(live|ready)"
    r"|/v2/models/stats"
    r"|/v2/models/[^/?]+(/versions/[^/?]+)?(/(config|generate|generate_stream|infer|ready|stats))?"
    r"|/swagger\.json"  # of scoring scripts
)
SCORING_PATHS = "(/|/score|/invocations)?"  # the last is MLflow's
MANAGEMENT_PATHS = (
    r"/v2/(repository|systemsharedmemory|cudasharedmemory|trace|logging)([/?].*)?"
    r"|/v2/models/[^/?]+(/versions/[^/?]+)?/trace([/?].*)?"
)
GRPC_METHODS = (
    "ServerLive|ServerReady|ServerMetadata|ModelReady|ModelMetadata|ModelInfer|ModelConfig"
    "|ModelStatistics"
)
# GET and OPTIONS are for scoring scripts; other models answer them 405.
SCORING_METHODS: Match = {
    "name": ":method",
    "string_match": {"safe_regex": {"regex": "GET|POST|OPTIONS"}},
}
NOT_HERE = "This is not reachable through the gateway: it manages the server, it does not score."


@dataclass(frozen=True, slots=True)
class Action:
    """A part of the protocol that is passed on: which requests, and how their path changes."""

    protocol: str
    prefix: str
    headers: tuple[Match, ...]
    grpc: bool = False
    rewrite: tuple[tuple[str, Any], ...] = ()
    unlimited: bool = False  # a stream lives as long as both ends want


def routes(endpoint: RoutedEndpoint) -> list[dict[str, Any]]:
    """In the order Envoy tries them: scoring routes, refusals, then what is left over.

    No management path is one of ``V2_PATHS``, so that refusals need not come first: each route that
    a request has to pass by costs it an expression.
    """
    guard = {"metadata": _metadata(endpoint)}
    found: list[dict[str, Any]] = []
    for action in _actions(endpoint.name):
        found += [_pinned(endpoint, deployment, action) for deployment in endpoint.deployments]
        found += _ruled(endpoint, action)
        found += _weighted(endpoint, action)
    found += [_management(endpoint.name, guard), *_left_over(endpoint.name, guard)]
    return [
        *preflights(endpoint, guard),
        *(with_policies(route, endpoint) for route in found),
    ]


def _metadata(endpoint: RoutedEndpoint) -> dict[str, Any]:
    """The key check reads the first entry, the access log the second.

    why the keys too, which the snapshot has apart: agents of before find them here.
    """
    keys = {key.sha256: key.slot for key in endpoint.keys}
    return {
        "filter_metadata": {
            LUA: {"endpoint": endpoint.name, "keys": keys},
            "shoal": {"endpoint": endpoint.name},
        }
    }


def _actions(endpoint: str) -> tuple[Action, ...]:
    base = f"/endpoints/{endpoint}"
    named = _header(NAMED, endpoint)
    score = f"{base}{SCORING_PATHS}"
    return (
        Action(
            HTTP, f"{base}/", (_path(f"{base}({V2_PATHS})"),), rewrite=(("prefix_rewrite", "/"),)
        ),
        Action(
            HTTP,
            base,
            (SCORING_METHODS, _path(score)),
            rewrite=(
                ("regex_rewrite", {"pattern": {"regex": f"^{score}$"}, "substitution": "/score"}),
            ),
        ),
        Action(GRPC, SERVICE, (named, _path(f"{SERVICE}({GRPC_METHODS})")), grpc=True),
        Action(GRPC, f"{SERVICE}ModelStreamInfer", (named,), grpc=True, unlimited=True),
        Action(GRPC, "/grpc.health.v1.Health/", (named,), grpc=True),
    )


def _match(action: Action, *more: Match) -> Match:
    """Envoy asks about headers in this order, before the prefix: what is quickly told comes first,
    and the expressions last."""
    match: Match = {"prefix": action.prefix, "headers": [*more, *action.headers]}
    if action.grpc:
        match["grpc"] = {}
    return match


def _pinned(
    endpoint: RoutedEndpoint, deployment: RoutedDeployment, action: Action
) -> dict[str, Any]:
    return _to_one(endpoint, deployment, action, _header(PIN, deployment.name))


def _ruled(endpoint: RoutedEndpoint, action: Action) -> list[dict[str, Any]]:
    """In the endpoint's order: the first that fits. Who names a deployment is not asked."""
    found = {deployment.name: deployment for deployment in endpoint.deployments}
    return [
        _to_one(endpoint, found[rule.deployment], action, header_match(rule), UNPINNED)
        for rule in endpoint.rules
        # why: one that is being deleted is none of them any more
        if rule.deployment in found
    ]


def _to_one(
    endpoint: RoutedEndpoint, deployment: RoutedDeployment, action: Action, *asked: Match
) -> dict[str, Any]:
    target = {"cluster": cluster_name(endpoint.name, deployment.name, action.protocol)}
    return {
        "match": _match(action, *asked),
        "metadata": _metadata(endpoint),
        "route": {**target, **_rules(action, [deployment])},
        "response_headers_to_add": _response_headers(deployment.name),
        **_holding(endpoint, deployment),
    }


def _weighted(endpoint: RoutedEndpoint, action: Action) -> list[dict[str, Any]]:
    """Unpinned requests, split by weight. Timeout and retries are per route, so the longest timeout
    holds, and a request is sent again only when every deployment it may reach allows it.

    More than one route only where an endpoint is sticky by a cookie.
    """
    match = _match(action, UNPINNED)
    metadata = _metadata(endpoint)
    targets = [deployment for deployment in endpoint.deployments if deployment.weight > 0]
    if not targets:
        text = "No deployment of this endpoint receives traffic."
        return [answer(match, 404, text, metadata=metadata)]
    split: dict[str, Any] = _rules(action, targets)
    if mirrors := [] if action.unlimited else _mirrors(endpoint, action):
        split["request_mirror_policies"] = mirrors
    route = {
        "match": match,
        "metadata": metadata,
        "route": {"weighted_clusters": {"clusters": _shares(endpoint, action)}, **split},
    }
    return sticky_routes(route, endpoint, cookies=not action.grpc)


def _shares(endpoint: RoutedEndpoint, action: Action) -> list[dict[str, Any]]:
    """Of the split; where clients stay with a deployment, in the order of their slots."""
    found = {deployment.name: deployment for deployment in endpoint.deployments}
    weights = [(one.name, one.weight) for one in endpoint.deployments if one.weight > 0]
    return [
        {
            "name": cluster_name(endpoint.name, name, action.protocol),
            "weight": weight,
            "response_headers_to_add": _response_headers(name),
            **_holding(endpoint, found[name]),
        }
        for name, weight in (endpoint.sticky.slots if endpoint.sticky else weights)
        if name in found
    ]


def _holding(endpoint: RoutedEndpoint, deployment: RoutedDeployment) -> dict[str, Any]:
    """Nothing, but where a deployment of the endpoint is at zero: no other request pays for it."""
    if not any(one.asleep for one in endpoint.deployments):
        return {}
    return {"typed_per_filter_config": held() if deployment.asleep else not_held()}


def _mirrors(endpoint: RoutedEndpoint, action: Action) -> list[dict[str, Any]]:
    return [
        {
            "cluster": cluster_name(endpoint.name, deployment.name, action.protocol),
            "runtime_fraction": {"default_value": {"numerator": deployment.mirror_percent}},
        }
        for deployment in endpoint.deployments
        if deployment.mirror_percent > 0
    ]


def _rules(action: Action, deployments: Sequence[RoutedDeployment]) -> dict[str, Any]:
    timeout_ms = max(deployment.request_timeout_ms for deployment in deployments)
    retries = all(deployment.retries for deployment in deployments)
    holds = [deployment.hold.timeout_s for deployment in deployments if deployment.hold]
    return {
        **dict(action.rewrite),
        "timeout": "0s" if action.unlimited else _seconds(timeout_ms),
        # why: a long silent inference must not be cut before its own timeout, which begins once it
        # is not held any more.
        "idle_timeout": "0s"
        if action.unlimited
        else _seconds(timeout_ms + 60_000 + 1000 * max(holds, default=0)),
        "retry_policy": {
            "retry_on": f"{SAFE_RETRIES},reset" if retries else SAFE_RETRIES,
            "num_retries": NUM_RETRIES,
            "retry_back_off": {"base_interval": "0.005s", "max_interval": "0.1s"},
            "retry_host_predicate": [
                {
                    "name": "envoy.retry_host_predicates.previous_hosts",
                    "typed_config": {
                        "@type": "type.googleapis.com/"
                        "envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"
                    },
                }
            ],
            "host_selection_retry_max_attempts": str(DRAWS_FOR_ANOTHER_REPLICA),
        },
    }


def _response_headers(deployment: str) -> list[dict[str, Any]]:
    """Who answered, and how long the request took to reach it and it took to begin its answer."""
    values = {
        "x-shoal-deployment": deployment,
        "azureml-model-deployment": deployment,
        "x-shoal-gateway-us": "%COMMON_DURATION(DS_RX_BEG:US_TX_BEG:us)%",
        "x-shoal-upstream-us": "%COMMON_DURATION(US_TX_BEG:US_RX_BEG:us)%",
        "server-timing": timing(answered=True),
    }
    return [
        {"header": {"key": key, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
        for key, value in values.items()
    ]


def _management(endpoint: str, guard: dict[str, Any]) -> dict[str, Any]:
    base = f"/endpoints/{endpoint}"
    match = {"prefix": f"{base}/v2/", "headers": [_path(f"{base}({MANAGEMENT_PATHS})")]}
    return answer(match, 403, NOT_HERE, **guard)


def _left_over(endpoint: str, guard: dict[str, Any]) -> list[dict[str, Any]]:
    base = f"/endpoints/{endpoint}"
    named = _header(NAMED, endpoint)
    pinned = {"name": PIN, "present_match": True}
    no_such = "This endpoint has no deployment of that name."
    nothing = "Nothing is here: score with POST on this endpoint's URI, or use v2/ below it."
    calls = _path(f"{SERVICE}({GRPC_METHODS}|ModelStreamInfer)")
    scoring = _path(f"{base}({SCORING_PATHS}|{V2_PATHS})")
    return [
        answer({"prefix": base, "headers": [pinned, scoring]}, 404, no_such, **guard),
        answer({"path_separated_prefix": base}, 404, nothing, **guard),
        answer(
            {"prefix": "/", "grpc": {}, "headers": [pinned, named, calls]}, 404, no_such, **guard
        ),
        answer({"prefix": "/", "grpc": {}, "headers": [named]}, 403, NOT_HERE, **guard),
    ]


def _header(name: str, value: str) -> Match:
    return {"name": name, "string_match": {"exact": value}}


def _path(pattern: str) -> Match:
    """The whole path, with or without a query."""
    return {"name": ":path", "string_match": {"safe_regex": {"regex": rf"({pattern})(\?.*)?"}}}


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}s"
