"""The tree that finds an endpoint's routes, whatever number of endpoints there are."""

from typing import Any

from controlplane.deployments.selectors import RoutedDeployment, RoutedEndpoint, RoutingView
from controlplane.gateway.fallback import route_config
from controlplane.gateway.keys import endpoint_of
from controlplane.gateway.lookup import by_endpoint
from controlplane.gateway.render import render

BLUE = RoutedDeployment("blue", 100, 0, 1500, True, ())
NAMES = ("a", "a-b", "digits")


def table(*names: str, **more: Any) -> dict[str, Any]:
    view = tuple(RoutedEndpoint(name, 1, (), (BLUE,), **more) for name in names)
    found: dict[str, Any] = render(RoutingView(view)).routes["scoring"]
    return found


def listed(leaf: dict[str, Any]) -> list[dict[str, Any]]:
    routes: list[dict[str, Any]] = leaf["action"]["typed_config"]["routes"]
    return routes


def leaves(host: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """By the beginning of the path, by the header, and what is left."""
    by_path = host["matcher"]
    by_header = by_path["on_no_match"]["matcher"]
    return (
        by_path["matcher_tree"]["prefix_match_map"]["map"],
        by_header["matcher_tree"]["exact_match_map"]["map"],
        by_header["on_no_match"],
    )


def test_a_leaf_has_the_routes_of_one_endpoint_and_of_nobody_in_their_order() -> None:
    whole = table(*NAMES, cors_origins=("https://shop.example",))
    routes = whole["virtual_hosts"][0]["routes"]
    (host,) = by_endpoint(whole)["virtual_hosts"]
    paths, headers, rest = leaves(host)
    nobody = [route for route in routes if not endpoint_of(route)]
    assert set(paths) == {f"/endpoints/{name}" for name in NAMES}
    assert set(headers) == set(NAMES)
    assert listed(rest) == nobody
    for name in NAMES:
        mine = [route for route in routes if endpoint_of(route) == name]
        called = [route for route in mine if "grpc" in route["match"]]
        assert listed(headers[name]) == [*called, *nobody]
        assert listed(paths[f"/endpoints/{name}"]) == [
            *(route for route in mine if route not in called),
            *nobody,
        ]


def test_what_all_routes_share_stays_with_the_host() -> None:
    whole = table("digits")
    (before,), (after,) = whole["virtual_hosts"], by_endpoint(whole)["virtual_hosts"]
    assert "routes" not in after
    assert {**before, "routes": None} == {
        **{key: value for key, value in after.items() if key != "matcher"},
        "routes": None,
    }
    assert after["request_headers_to_remove"] == ["authorization"]


def test_a_table_without_endpoints_stays_a_list() -> None:
    whole = route_config([])
    assert by_endpoint(whole) == whole
    assert by_endpoint({"name": "scoring"}) == {"name": "scoring"}
