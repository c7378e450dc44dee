"""Routes that Envoy answers by itself, and the route table of a gateway without endpoints."""

from typing import Any

ROUTE_CONFIG = "scoring"
# The caller's own id; the Lua filter has removed what is none.
CALLERS_ID = {
    "header": {"key": "x-ms-client-request-id", "value": "%REQ(X-MS-CLIENT-REQUEST-ID)%"},
    "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
}
ROUTE_TYPE = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
# why: Envoy turns 404 into UNIMPLEMENTED, which clients read as "this method does not exist".
GRPC_NOT_FOUND = {
    "header": {"key": "grpc-status", "value": "5"},
    "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
}


def answer(match: dict[str, Any], status: int, text: str, **more: Any) -> dict[str, Any]:
    """A route that replies ``text``; the listener wraps it as JSON, or as a gRPC status."""
    reply = {"status": status, "body": {"inline_string": text}}
    if "grpc" in match and status == 404:
        more["response_headers_to_add"] = [GRPC_NOT_FOUND]
    return {"match": match, "direct_response": reply, **more}


def route_config(
    routes: list[dict[str, Any]], filters: dict[str, Any] | None = None
) -> dict[str, Any]:
    """``routes`` and, behind them, what all other requests get.

    ``filters``: what filters are told for all routes together.
    """
    unknown = [
        answer(
            {"prefix": "/", "grpc": {}},
            404,
            "No such endpoint: name it in the metadata key 'x-shoal-endpoint'.",
        ),
        answer(
            {"prefix": "/endpoints/"}, 404, "No such endpoint: see the scoring URI in the studio."
        ),
        answer({"prefix": "/"}, 404, "Scoring is at /endpoints/<endpoint>/."),
    ]
    return {
        "@type": ROUTE_TYPE,
        "name": ROUTE_CONFIG,
        "validate_clusters": False,
        "virtual_hosts": [
            {
                "name": ROUTE_CONFIG,
                "domains": ["*"],
                "request_headers_to_remove": ["authorization"],
                "response_headers_to_add": [CALLERS_ID],
                "routes": [*routes, *unknown],
                **({"typed_per_filter_config": filters} if filters else {}),
            }
        ],
    }
