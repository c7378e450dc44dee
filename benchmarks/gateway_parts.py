"""The gateway's files without one of their parts: what the part costs is what is saved."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from controlplane.deployments.rules import MOST_RULES
from controlplane.gateway.bootstrap import XDS
from controlplane.gateway.fallback import ROUTE_CONFIG
from controlplane.gateway.filters import BODY, CORS, RATE
from controlplane.gateway.keys import LUA
from controlplane.gateway.settings import GatewaySettings

_LUA_METADATA = "handle:metadata()"
_REMEMBERS = "verified[endpoint][authorization] = slot"
_FORMATTED = ("response_headers_to_add", "request_headers_to_remove")
_OF_SINGLE_REQUESTS = (
    "%START_TIME%",
    "%UPSTREAM_HOST%",
    "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
    "%RESPONSE_FLAGS%",
    "%REQ(X-REQUEST-ID)%",
    "%REQ(:METHOD)%",
)


@dataclass(frozen=True, slots=True)
class Files:
    """What Envoy starts from, taken apart."""

    bootstrap: dict[str, Any]
    listeners: list[dict[str, Any]]
    clusters: list[dict[str, Any]]
    keys: dict[str, Any]
    table: dict[str, Any]

    def connections(self) -> Iterator[dict[str, Any]]:
        """The HTTP connection manager of each listener."""
        for listener in self.listeners:
            yield listener["filter_chains"][0]["filters"][0]["typed_config"]

    def routes(self) -> list[dict[str, Any]]:
        """All, of whichever leaf of the tree."""
        return [route for routes in self.lists() for route in routes]

    def lists(self) -> list[list[Any]]:
        """The same, list by list."""
        return list(_lists(self.table["virtual_hosts"]))

    def script(self) -> str:
        return str(self.keys["typed_config"]["default_source_code"]["inline_string"])

    def run(self, script: str) -> None:
        self.keys["typed_config"]["default_source_code"]["inline_string"] = script


def change(settings: GatewaySettings, without: Callable[[Files], None]) -> None:
    """Take a part out of the files of a gateway that has not started yet."""
    xds = settings.folder / XDS
    paths = [
        settings.folder / "bootstrap.json",
        *(xds / f"{name}.json" for name in ("lds", "cds", "keys", f"rds/{ROUTE_CONFIG}")),
    ]
    content = [json.loads(path.read_text()) for path in paths]
    bootstrap, listeners, clusters, keys, table = content
    (key_check,), (routes,) = keys["resources"], table["resources"]
    without(Files(bootstrap, listeners["resources"], clusters["resources"], key_check, routes))
    for path, new in zip(paths, content, strict=True):
        path.write_text(json.dumps(new))


def _key_check(files: Files) -> None:
    _filters(files, LUA)


def _forgetful(files: Files) -> None:
    """The key check remembers nothing of what it has verified."""
    script = files.script()
    if script.count(_REMEMBERS) != 1:
        raise ValueError(f"the key check has no {_REMEMBERS!r} any more: look how it remembers")
    files.run(script.replace(_REMEMBERS, ""))


def _metadata(files: Files) -> None:
    """The check asks a table of its own, not the route."""
    (name,) = {
        route["metadata"]["filter_metadata"][LUA]["endpoint"] for route in files.routes()[:1]
    }
    told = f'{{ get = function(_, key) return key == "endpoint" and "{name}" or nil end }}'
    script = files.script()
    if _LUA_METADATA not in script:
        raise ValueError(f"the key check has no {_LUA_METADATA} any more: look how it is told")
    files.run(f"local told = {told}\n{script.replace(_LUA_METADATA, 'told')}")


def _access_log(files: Files) -> None:
    for connection in files.connections():
        del connection["access_log"]


def same_without_tls(files: Files) -> None:
    """The port of TLS answers as the plain one does. Two processes differ by more than a part."""
    tls, plain = files.listeners
    tls["filter_chains"] = copy.deepcopy(plain["filter_chains"])
    connection, _ = files.connections()
    (log,) = connection["access_log"]
    log["typed_config"]["path"] += "-of-tls"


def without_single_requests(files: Files) -> None:
    """So does it, with what charts are made of in its log, and not what is told of single
    requests."""
    same_without_tls(files)
    connection, _ = files.connections()
    (log,) = connection["access_log"]
    source = log["typed_config"]["log_format"]["text_format_source"]
    columns = source["inline_string"].removesuffix("\n").split("\t")
    left = [column for column in columns if column not in _OF_SINGLE_REQUESTS]
    if len(left) != len(columns) - len(_OF_SINGLE_REQUESTS):
        raise ValueError(f"the access log has the columns {columns}: look which are for whom")
    source["inline_string"] = "\t".join(left) + "\n"


def _statistics(files: Files) -> None:
    files.bootstrap["stats_config"] = {"stats_matcher": {"reject_all": True}}


def _retries(files: Files) -> None:
    for route in files.routes():
        route.get("route", {}).pop("retry_policy", None)


def _timeouts(files: Files) -> None:
    for route in files.routes():
        route.get("route", {}).pop("idle_timeout", None)
    for connection in files.connections():
        for name in ("request_headers_timeout", "stream_idle_timeout"):
            del connection[name]


def _formatters(files: Files) -> None:
    """Headers that Envoy writes into answers, or takes from requests."""
    hosts = files.table["virtual_hosts"]
    clusters = [
        cluster
        for route in files.routes()
        for cluster in route.get("route", {}).get("weighted_clusters", {}).get("clusters", [])
    ]
    for carrier in [*hosts, *files.routes(), *clusters]:
        for name in _FORMATTED:
            carrier.pop(name, None)


def _limits(files: Files) -> None:
    _filters(files, CORS, RATE, BODY)


def _matching(files: Files) -> None:
    """One route for HTTP and one for gRPC, by prefix alone."""
    split = _splits(files)
    http = next(route for route in split if "prefix_rewrite" in route["route"])
    grpc = next(route for route in split if "grpc" in route["match"])
    http["match"] = {"prefix": http["match"]["prefix"]}
    grpc["match"] = {"prefix": grpc["match"]["prefix"]}
    for host in files.table["virtual_hosts"]:
        host.pop("matcher", None)
        host["routes"] = [http, grpc]


def _health(files: Files) -> None:
    for cluster in files.clusters:
        del cluster["health_checks"], cluster["outlier_detection"]
        for options in cluster["typed_extension_protocol_options"].values():
            options.pop("outlier_detection", None)


def _sticky(files: Files) -> None:
    """Each request is drawn by the hash of a header that it has."""
    for route in _splits(files):
        route["route"]["weighted_clusters"]["use_hash_policy"] = True
        route["route"]["hash_policy"] = [{"header": {"header_name": "x-request-id"}}]


def _rules(files: Files) -> None:
    """As many rules as an endpoint may have, and none fits."""
    for routes in files.lists():
        for split in [route for route in routes if "weighted_clusters" in route.get("route", {})]:
            place = routes.index(split)
            match = split["match"]
            routes[place:place] = [
                {**split, "match": {**match, "headers": [_group(number), *match["headers"]]}}
                for number in range(MOST_RULES)
            ]


def _group(number: int) -> dict[str, Any]:
    return {"name": "x-group", "string_match": {"exact": f"group-{number}"}}


def _splits(files: Files) -> list[dict[str, Any]]:
    return [route for route in files.routes() if "weighted_clusters" in route.get("route", {})]


def _filters(files: Files, *names: str) -> None:
    for connection in files.connections():
        kept = [item for item in connection["http_filters"] if item["name"] not in names]
        connection["http_filters"] = kept


def _lists(content: Any) -> Iterator[list[Any]]:
    """Every list of routes within ``content``."""
    if isinstance(content, dict):
        if "routes" in content:
            yield content["routes"]
        content = [value for name, value in content.items() if name != "routes"]
    if isinstance(content, list):
        for value in content:
            yield from _lists(value)


PARTS: dict[str, Callable[[Files], None]] = {
    "key check in Lua": _key_check,
    "route metadata in Lua": _metadata,
    "filters of limits": _limits,
    "headers written and removed": _formatters,
    "access log": _access_log,
    "statistics": _statistics,
    "route matching": _matching,
    "retries": _retries,
    "time-outs": _timeouts,
    "health checks, outliers": _health,
}
# Not parts, but what would be more.
WORSE: dict[str, Callable[[Files], None]] = {
    "SHA-256 of each key": _forgetful,
    "clients that stay": _sticky,
    f"{MOST_RULES} rules by header": _rules,
}
