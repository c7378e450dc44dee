"""Filters of the listeners: limits of endpoints, and what waits for a replica. Pure; needs no
Django.

They do nothing until an endpoint's routes, or the table's virtual host, configure them; see
`policies`.
"""

from typing import Any

FILTERS = "type.googleapis.com/envoy.extensions.filters.http."
CORS, RATE, BODY, HOLD = (
    f"envoy.filters.http.{name}" for name in ("cors", "local_ratelimit", "buffer", "ext_authz")
)
# Whom Envoy asks before it lets a request of a deployment at zero go on: the agent beside it.
HOLDING = "holding"  # its cluster; no endpoint's: those have two joints in their names
CLUSTER_HEADER = "x-shoal-cluster"  # in which the agent hears where the request is bound for
LONGEST_HOLD_S = 300


def before_key_check() -> list[dict[str, Any]]:
    """Browsers ask for permission without a key, and must be able to read why one is refused."""
    return [_where_asked_for(CORS, {"@type": f"{FILTERS}cors.v3.Cors"})]


def after_key_check() -> list[dict[str, Any]]:
    """So that strangers use up nobody's pace and nobody's memory, and wake nobody."""
    pace = {"@type": f"{FILTERS}local_ratelimit.v3.LocalRateLimit", "stat_prefix": "endpoints"}
    size = {"@type": f"{FILTERS}buffer.v3.Buffer", "max_request_bytes": 1}
    return [
        _where_asked_for(RATE, pace),
        _where_asked_for(HOLD, _hold()),
        _where_asked_for(BODY, size),
    ]


def held() -> dict[str, Any]:
    """For routes, and targets of a split: their requests wait until the agent lets them go on."""
    return {HOLD: {"@type": f"{FILTERS}ext_authz.v3.ExtAuthzPerRoute", "check_settings": {}}}


def not_held() -> dict[str, Any]:
    """For the others of an endpoint that has some of those.

    why: which filters there are is settled before the key check, and that may choose another route.
    """
    return {HOLD: {"@type": f"{FILTERS}ext_authz.v3.ExtAuthzPerRoute", "disabled": True}}


def _hold() -> dict[str, Any]:
    """Envoy chooses a replica when this has answered, and holds the body back meanwhile."""
    wait = f"{LONGEST_HOLD_S + 10}s"  # at most; the agent has each deployment's own
    return {
        "@type": f"{FILTERS}ext_authz.v3.ExtAuthz",
        "transport_api_version": "V3",
        # it has been checked, and is nobody's business any more
        "disallowed_headers": {"patterns": [{"exact": "authorization"}]},
        # why not 503: `listeners` tells it from what the agent refuses, and has the words
        "status_on_error": {"code": "BadGateway"},
        "http_service": {
            "server_uri": {
                "uri": f"http://{HOLDING}",
                "cluster": HOLDING,
                "timeout": wait,
            },
            "path_override": "/",
            "authorization_request": {
                "headers_to_add": [{"key": CLUSTER_HEADER, "value": "%UPSTREAM_CLUSTER_RAW%"}]
            },
            "authorization_response": {
                "allowed_client_headers": {"patterns": [{"exact": "retry-after"}]}
            },
            # An agent that is started anew asks for no more than to be asked again.
            "retry_policy": {
                "retry_on": "connect-failure,refused-stream,reset",
                "num_retries": 6,  # six seconds at most, three in the mean
                # why so long: Envoy takes it for the time that each try may take, too
                "retry_back_off": {"base_interval": "0.1s", "max_interval": wait},
            },
        },
    }


def _where_asked_for(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """Off, but where a route or its host configures it: no other request pays for it.

    (And `BODY` would hold every body back.)
    """
    return {"name": name, "typed_config": config, "disabled": True}
