"""Filters of the listeners that hold callers to an endpoint's limits. Pure; needs no Django.

They do nothing until an endpoint's routes, or the table's virtual host, configure them; see
`policies`.
"""

from typing import Any

FILTERS = "type.googleapis.com/envoy.extensions.filters.http."
CORS, RATE, BODY = (f"envoy.filters.http.{name}" for name in ("cors", "local_ratelimit", "buffer"))


def before_key_check() -> list[dict[str, Any]]:
    """Browsers ask for permission without a key, and must be able to read why one is refused."""
    return [_where_asked_for(CORS, {"@type": f"{FILTERS}cors.v3.Cors"})]


def after_key_check() -> list[dict[str, Any]]:
    """So that strangers use up nobody's pace and nobody's memory."""
    pace = {"@type": f"{FILTERS}local_ratelimit.v3.LocalRateLimit", "stat_prefix": "endpoints"}
    size = {"@type": f"{FILTERS}buffer.v3.Buffer", "max_request_bytes": 1}
    return [_where_asked_for(RATE, pace), _where_asked_for(BODY, size)]


def _where_asked_for(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """Off, but where a route or its host configures it: no other request pays for it.

    (And `BODY` would hold every body back.)
    """
    return {"name": name, "typed_config": config, "disabled": True}
