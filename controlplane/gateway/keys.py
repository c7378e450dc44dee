"""Keys of endpoints: a resource of their own, so that nothing else can hold up a revocation. Pure.

Envoy takes the key check, with the table of hashes in it, by extension discovery, from one file. A
new key neither touches the routes nor waits for them, and a refused cluster or route is none of its
business. Needs no Django.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wire.messages import GatewaySnapshot

TYPE = "type.googleapis.com/"
LUA = "envoy.filters.http.lua"  # the filter's name, under which it finds what routes tell it
LUA_TYPE = TYPE + "envoy.extensions.filters.http.lua.v3.Lua"
LUA_FOLDER = Path(__file__).parent / "lua"
Keys = Mapping[str, Mapping[str, str]]  # endpoint -> SHA-256 of a key -> its slot
# In the place of a slot, where no limit counts by it: telling Envoy costs as much as the check.
NOT_COUNTED = "-"


@dataclass(slots=True)
class Trust:
    """Until when Envoy believes the keys that it has: where the agent is dead nobody else can stop.

    Moved on after a third of the time, not each time: each is another script, in a new Lua state.
    """

    seconds: int  # 0: for ever
    until: float = 0.0

    def is_due(self, now: float) -> bool:
        """``now``: Unix seconds. Also where the clock was set back."""
        return bool(self.seconds) and not 2 / 3 <= (self.until - now) / self.seconds <= 1

    def renewed(self, now: float) -> int:
        self.until = now + self.seconds
        return int(self.until) if self.seconds else 0


def discovered(xds: str) -> dict[str, Any]:
    """The listener's filter: what it does comes from the file ``keys.json`` below ``xds``."""
    source = {"path_config_source": {"path": f"{xds}/keys.json"}, "resource_api_version": "V3"}
    return {
        "name": LUA,
        "config_discovery": {"config_source": source, "type_urls": [LUA_TYPE]},
    }


def key_check(keys: Keys, *, trusted_until: int = 0) -> dict[str, Any]:
    """ECDS resource: the filter that asks for these keys, until then (Unix seconds; 0: always)."""
    hashing, auth, scoring = (
        (LUA_FOLDER / f"{name}.lua").read_text() for name in ("sha256", "auth", "scoring")
    )
    # why one text and no table of Lua: nothing in it is ever run, whatever a name is
    lines = "".join(
        f"{endpoint} {sha256} {slot}\n"
        for endpoint, opened_by in sorted(keys.items())
        for sha256, slot in sorted(opened_by.items())
    )
    source = (
        f"local sha256 = (function()\n{hashing}\nend)()\nlocal lines = {json.dumps(lines)}\n"
        f"local NOT_COUNTED = {json.dumps(NOT_COUNTED)}\n"
        f"{auth}\n{scoring}"
    )
    if trusted_until:
        source += (
            f"\nlocal trusted_until = {trusted_until}\n{(LUA_FOLDER / 'trust.lua').read_text()}"
        )
    return {
        "@type": TYPE + "envoy.config.core.v3.TypedExtensionConfig",
        "name": LUA,
        "typed_config": {"@type": LUA_TYPE, "default_source_code": {"inline_string": source}},
    }


def keys_of(snapshot: GatewaySnapshot) -> Keys:
    """Of an older control plane: as its routes have them."""
    if snapshot.keys is not None:
        return snapshot.keys
    found: dict[str, Mapping[str, str]] = {}
    for table in snapshot.routes.values():
        found |= keys_in(table)
    return found


def keys_in(table: Mapping[str, Any]) -> Keys:
    """Endpoint -> keys, as this RDS resource has them."""
    found = {}
    for host in table.get("virtual_hosts", []):
        for route in host.get("routes", []):
            told = metadata(route).get(LUA, {})
            if "keys" in told:
                found[endpoint_of(route)] = told["keys"]
    return found


def without_keys(table: dict[str, Any]) -> dict[str, Any]:
    """The RDS resource with the endpoint's name in the place of its keys."""
    hosts = [
        {**host, "routes": [_without_keys(route) for route in host.get("routes", [])]}
        for host in table.get("virtual_hosts", [])
    ]
    return {**table, "virtual_hosts": hosts}


def _without_keys(route: dict[str, Any]) -> dict[str, Any]:
    told = metadata(route)
    if "keys" not in told.get(LUA, {}):
        return route
    # why still empty keys: a key check of before, in listeners that were not written anew, looks
    # for them here, and finds none that fits
    named = {"endpoint": endpoint_of(route), "keys": {}}
    return {**route, "metadata": {"filter_metadata": {**told, LUA: named}}}


def endpoint_of(route: Mapping[str, Any]) -> str:
    """Whose route it is; empty for nobody's."""
    told = metadata(route)
    for part in (told.get(LUA, {}), told.get("shoal", {})):
        if name := part.get("endpoint"):
            return str(name)
    return ""


def metadata(route: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = route.get("metadata", {}).get("filter_metadata", {})
    return found


def digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
