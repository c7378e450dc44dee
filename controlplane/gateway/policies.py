"""What an endpoint allows of its callers: browsers' origins, size of bodies, pace. Pure.

Each is a filter (see `filters`) that an endpoint's routes, or the table's virtual host, configure.
"""

from collections.abc import Iterable
from typing import Any

from controlplane.deployments.selectors import RateLimit, RoutedEndpoint
from controlplane.deployments.types import RateLimitPer
from controlplane.gateway.filters import BODY, CORS, FILTERS, RATE
from controlplane.gateway.keys import LUA, NOT_COUNTED

ALLOWED_METHODS = "GET, POST"
ALLOWED_HEADERS = (
    "authorization", "content-type", "content-encoding", "accept", "accept-encoding",
    "inference-header-content-length", "x-shoal-deployment", "azureml-model-deployment",
    "x-request-id", "x-ms-client-request-id", "traceparent", "tracestate",
)  # fmt: skip
EXPOSED_HEADERS = (
    "inference-header-content-length", "content-encoding", "retry-after", "server-timing",
    "x-shoal-deployment", "azureml-model-deployment", "x-shoal-gateway-us", "x-shoal-upstream-us",
    "x-request-id", "x-ms-client-request-id",
    "ms-azureml-model-error-statuscode", "ms-azureml-model-error-reason",
)  # fmt: skip
PREFLIGHT_SECONDS = 600
NOWHERE = "preflight"  # no endpoint's cluster: those have two joints in their names
# How a route says what counts its requests; see `paces`.
PACED: dict[str, str] = {RateLimitPer.ENDPOINT: "paced", RateLimitPer.KEY: "paced_by_key"}
UNLIMITED = RateLimit(2**32 - 1, 2**32 - 1, RateLimitPer.ENDPOINT)
ENTIRE = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}


def with_policies(route: dict[str, Any], endpoint: RoutedEndpoint) -> dict[str, Any]:
    """``route`` of ``endpoint``, obeying what the endpoint allows."""
    action = route.get("route")
    if action is None:  # the gateway answers by itself: no body to hold, nothing to protect
        return route
    filters: dict[str, Any] = {}
    told: dict[str, Any] = {}
    if endpoint.cors_origins:
        filters[CORS] = _cors(endpoint.cors_origins)
    if endpoint.max_request_bytes is not None and action.get("timeout") != "0s":
        size = {"max_request_bytes": endpoint.max_request_bytes}
        filters[BODY] = {"@type": f"{FILTERS}buffer.v3.BufferPerRoute", "buffer": size}
        told["max_request_bytes"] = str(endpoint.max_request_bytes)
    if endpoint.rate_limit is not None:
        told[PACED[endpoint.rate_limit.per]] = endpoint.name
    if filters:
        known = route.get("typed_per_filter_config", {})
        route = {**route, "typed_per_filter_config": {**known, **filters}}
    if told:
        known = route["metadata"]["filter_metadata"]
        metadata = {**known, "shoal": {**known["shoal"], **told}}
        route = {**route, "metadata": {"filter_metadata": metadata}}
    return route


def preflights(endpoint: RoutedEndpoint, guard: dict[str, Any]) -> list[dict[str, Any]]:
    """The route of browsers' questions, where any origin may call.

    The filter answers those of the listed origins; the others lack a key. Nothing may ever pass
    on to a replica here, whatever the path, so the cluster is one that does not exist. (It has to
    be a cluster: the filter does not heed routes that Envoy answers directly.)
    """
    if not endpoint.cors_origins:
        return []
    asked = [
        {"name": ":method", "string_match": {"exact": "OPTIONS"}},
        {"name": "origin", "present_match": True},
        {"name": "access-control-request-method", "present_match": True},
    ]
    match = {"path_separated_prefix": f"/endpoints/{endpoint.name}", "headers": asked}
    # why only the keys: with the endpoint's name the access log would count it as a request.
    keys = {LUA: guard["metadata"]["filter_metadata"][LUA]}
    return [
        {
            "match": match,
            "metadata": {"filter_metadata": keys},
            "route": {"cluster": NOWHERE},
            "typed_per_filter_config": {CORS: _cors(endpoint.cors_origins)},
        }
    ]


def slots(endpoint: RoutedEndpoint) -> dict[str, str]:
    """SHA-256 of a key -> what its requests are counted by; see `keys.NOT_COUNTED`."""
    limit = endpoint.rate_limit
    counted = limit is not None and limit.per == RateLimitPer.KEY
    return {key.sha256: key.slot if counted else NOT_COUNTED for key in endpoint.keys}


def paces(endpoints: Iterable[RoutedEndpoint]) -> dict[str, Any] | None:
    """The virtual host's part: one bucket per endpoint or key; None when nobody limits the pace.

    why not at the routes: each would get a bucket of its own, and an endpoint has many routes.
    """
    descriptors = [
        {"entries": entries, "token_bucket": _bucket(endpoint.rate_limit)}
        for endpoint in endpoints
        if endpoint.rate_limit is not None
        for entries in _entries(endpoint, endpoint.rate_limit)
    ]
    if not descriptors:
        return None
    return {
        RATE: {
            "@type": f"{FILTERS}local_ratelimit.v3.LocalRateLimit",
            "stat_prefix": "endpoints",
            "filter_enabled": ENTIRE,
            "filter_enforced": ENTIRE,
            "rate_limited_as_resource_exhausted": True,
            "descriptors": descriptors,
            "rate_limits": [
                {"actions": [_read(PACED[RateLimitPer.ENDPOINT], "ROUTE_ENTRY")]},
                # The key check leaves the slot of the key that opened the endpoint.
                {
                    "actions": [
                        _read(PACED[RateLimitPer.KEY], "ROUTE_ENTRY"),
                        _read("slot", "DYNAMIC"),
                    ]
                },
            ],
            # Envoy wants a bucket for requests that no descriptor matches: those have no limit.
            "token_bucket": _bucket(UNLIMITED),
            "always_consume_default_token_bucket": False,
        }
    }


def _cors(origins: tuple[str, ...]) -> dict[str, Any]:
    return {
        "@type": f"{FILTERS}cors.v3.CorsPolicy",
        "allow_origin_string_match": [{"exact": origin} for origin in origins],
        "allow_methods": ALLOWED_METHODS,
        "allow_headers": ", ".join(ALLOWED_HEADERS),
        "expose_headers": ", ".join(EXPOSED_HEADERS),
        "max_age": str(PREFLIGHT_SECONDS),
    }


def _entries(endpoint: RoutedEndpoint, limit: RateLimit) -> list[list[dict[str, str]]]:
    named = {"key": PACED[limit.per], "value": endpoint.name}
    if limit.per == RateLimitPer.ENDPOINT:
        return [[named]]
    slots = sorted({key.slot for key in endpoint.keys})
    return [[named, {"key": "slot", "value": slot}] for slot in slots]


def _read(key: str, source: str) -> dict[str, Any]:
    path = {"key": "shoal", "path": [{"key": key}]}
    return {"metadata": {"descriptor_key": key, "metadata_key": path, "source": source}}


def _bucket(limit: RateLimit) -> dict[str, Any]:
    return {
        "max_tokens": limit.burst,
        "tokens_per_fill": limit.requests_per_second,
        "fill_interval": "1s",
    }
