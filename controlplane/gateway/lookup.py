"""Which endpoint a request names, found in one step, whatever number there are. Pure.

Envoy tries the routes of a list one after the other, and asks each about all its headers before it
looks at the path: beside a thousand endpoints, a request of the last one would pay for all of them.
Needs no Django.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from controlplane.gateway.keys import endpoint_of

TYPE = "type.googleapis.com/"
NAMED = "x-shoal-endpoint"  # how callers of gRPC name their endpoint
Routes = list[Any]


def by_endpoint(table: Mapping[str, Any]) -> dict[str, Any]:
    """The RDS resource with the first host's routes in a tree: first by path, then by header.

    In each leaf are the routes of one endpoint and those of nobody, in the order that they had.
    """
    first, *others = table.get("virtual_hosts") or [{}]
    common: Routes = []
    below: dict[str, Routes] = {}  # path that all of the endpoint's begin with
    named: dict[str, Routes] = {}  # value of the header
    for route in first.get("routes", []):
        name = endpoint_of(route)
        if not name:
            common.append(route)
        elif "grpc" in route.get("match", {}):
            named.setdefault(name, []).append(route)
        else:
            below.setdefault(f"/endpoints/{name}", []).append(route)
    tree = _list(common)
    if named:
        tree = {"matcher": _tree(NAMED, "exact_match_map", named, common, tree)}
    if below:
        tree = {"matcher": _tree(":path", "prefix_match_map", below, common, tree)}
    if "matcher" not in tree:
        return dict(table)
    host = {key: value for key, value in first.items() if key != "routes"}
    return {**table, "virtual_hosts": [{**host, **tree}, *others]}


def _tree(
    header: str, kind: str, leaves: Mapping[str, Routes], common: Routes, otherwise: dict[str, Any]
) -> dict[str, Any]:
    """why nobody's routes in each leaf: who gets into one gets no further."""
    asked = {
        "name": "request-headers",
        "typed_config": {
            "@type": TYPE + "envoy.type.matcher.v3.HttpRequestHeaderMatchInput",
            "header_name": header,
        },
    }
    found = {value: _list([*mine, *common]) for value, mine in leaves.items()}
    return {"matcher_tree": {"input": asked, kind: {"map": found}}, "on_no_match": otherwise}


def _list(routes: Iterable[Any]) -> dict[str, Any]:
    content = {"@type": TYPE + "envoy.config.route.v3.RouteList", "routes": list(routes)}
    return {"action": {"name": "routes", "typed_config": content}}
