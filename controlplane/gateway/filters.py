"""Filters of the listeners that hold callers to an endpoint's limits. Pure; needs no Django.

They do nothing until an endpoint's routes, or the table's virtual host, configure them; see
`policies`.
"""

from typing import Any

FILTERS = "type.googleapis.com/envoy.extensions.filters.http."
CORS, RATE, BODY = (f"envoy.filters.http.{name}" for name in ("cors", "local_ratelimit", "buffer"))


def before_key_check() -> list[dict[str, Any]]:
    """Browsers ask for permission without a key, and must be able to read why one is refused."""
    return [{"name": CORS, "typed_config": {"@type": f"{FILTERS}cors.v3.Cors"}}]


def after_key_check() -> list[dict[str, Any]]:
    """So that strangers use up nobody's pace and nobody's memory."""
    pace = {"@type": f"{FILTERS}local_ratelimit.v3.LocalRateLimit", "stat_prefix": "endpoints"}
    # why disabled: it would hold every body back; routes with a limit enable it for themselves.
    size = {"@type": f"{FILTERS}buffer.v3.Buffer", "max_request_bytes": 1}
    return [
        {"name": RATE, "typed_config": pace},
        {"name": BODY, "typed_config": size, "disabled": True},
    ]
