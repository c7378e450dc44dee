"""What an endpoint allows of its callers, as Envoy's configuration."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.deployments.selectors import (
    KeyHash,
    RateLimit,
    RoutedDeployment,
    RoutedEndpoint,
    RoutingView,
)
from controlplane.gateway.filters import BODY, CORS, RATE
from controlplane.gateway.render import render

GOLDEN = Path(__file__).parent / "golden" / "policies.json"
FREE = RoutedEndpoint(
    "digits",
    generation=7,
    keys=(KeyHash("primary", "a" * 64), KeyHash("secondary", "b" * 64)),
    deployments=(RoutedDeployment("blue", 100, 0, 1500, True, ()),),
)
HELD = replace(
    FREE,
    cors_origins=("https://shop.example",),
    max_request_bytes=4096,
    rate_limit=RateLimit(10, 20, "key"),
)
KINDS = {"cors_origins": ("https://shop.example",), "max_request_bytes": 4096}


def table(*endpoints: RoutedEndpoint) -> dict[str, Any]:
    found: dict[str, Any] = render(RoutingView(endpoints)).routes["scoring"]["virtual_hosts"][0]
    return found


def passed_on(host: dict[str, Any]) -> list[dict[str, Any]]:
    """The routes that lead to a replica."""
    return [
        route
        for route in host["routes"]
        if "weighted_clusters" in route.get("route", {}) or "timeout" in route.get("route", {})
    ]


def test_the_policies_are_the_golden_ones() -> None:
    """After a deliberate change: delete the golden file, run once, read the difference."""
    host = table(HELD)
    first = passed_on(host)[0]
    shown = {
        "preflight": host["routes"][0],
        "scoring": {key: first[key] for key in ("metadata", "typed_per_filter_config")},
        "all": host["typed_per_filter_config"],
    }
    found = json.dumps(shown, indent=1, sort_keys=True) + "\n"
    if not GOLDEN.exists():
        GOLDEN.write_text(found)
        pytest.fail(f"{GOLDEN.name} was missing; it is written now: review it and run again")
    assert found == GOLDEN.read_text()


def test_off_by_default() -> None:
    text = json.dumps(table(FREE))
    assert not [word for word in (CORS, BODY, RATE, "preflight", "paced") if word in text]


@pytest.mark.parametrize(
    ("name", "kind"), [("cors_origins", CORS), ("max_request_bytes", BODY)], ids=["cors", "body"]
)
def test_each_holds_on_every_path_to_a_replica_and_only_for_its_endpoint(
    name: str, kind: str
) -> None:
    other = replace(FREE, name="other")
    for route in passed_on(table(replace(FREE, **{name: KINDS[name]}), other)):
        of = route["metadata"]["filter_metadata"]["shoal"]["endpoint"]
        stream = route["route"]["timeout"] == "0s"
        held = of == "digits" and not (stream and kind == BODY)
        assert (kind in route.get("typed_per_filter_config", {})) == held, route["match"]


def test_a_stream_is_never_held_back_to_be_measured() -> None:
    streams = [route for route in passed_on(table(HELD)) if route["route"]["timeout"] == "0s"]
    assert len(streams) == 2  # pinned, and split by weight
    assert all(BODY not in route["typed_per_filter_config"] for route in streams)


def test_a_preflight_reaches_no_cluster_and_needs_the_keys() -> None:
    host = table(HELD)
    asked = host["routes"][0]
    clusters = render(RoutingView((HELD,))).clusters
    assert asked["route"]["cluster"] not in clusters
    keys = asked["metadata"]["filter_metadata"]["envoy.filters.http.lua"]["keys"]
    assert set(keys) == {"a" * 64, "b" * 64}


@pytest.mark.parametrize(
    ("per", "entries"),
    [
        ("endpoint", [{"paced": "digits"}]),
        (
            "key",
            [
                {"paced_by_key": "digits", "slot": "primary"},
                {"paced_by_key": "digits", "slot": "secondary"},
            ],
        ),
    ],
)
def test_one_bucket_per_endpoint_or_key(per: str, entries: list[dict[str, str]]) -> None:
    limited = replace(FREE, rate_limit=RateLimit(10, 20, per))
    found = table(limited, replace(FREE, name="other"))["typed_per_filter_config"][RATE]
    assert [
        {entry["key"]: entry["value"] for entry in descriptor["entries"]}
        for descriptor in found["descriptors"]
    ] == entries
    assert {json.dumps(descriptor["token_bucket"]) for descriptor in found["descriptors"]} == {
        json.dumps({"max_tokens": 20, "tokens_per_fill": 10, "fill_interval": "1s"})
    }


@pytest.mark.parametrize(
    ("per", "slots"),
    [("key", ["primary", "secondary"]), ("endpoint", ["-", "-"]), (None, ["-", "-"])],
)
def test_the_key_check_tells_slots_where_a_limit_counts_by_them(
    per: str | None, slots: list[str]
) -> None:
    limit = None if per is None else RateLimit(10, 20, per)
    snapshot = render(RoutingView((replace(FREE, rate_limit=limit),)))
    assert snapshot.keys == {"digits": dict(zip(("a" * 64, "b" * 64), slots, strict=True))}


def test_tokens_share_one_bucket() -> None:
    tokens = tuple(KeyHash("aml_token", letter * 64) for letter in "cd")
    limited = replace(FREE, keys=tokens, rate_limit=RateLimit(10, 20, "key"))
    found = table(limited)["typed_per_filter_config"][RATE]["descriptors"]
    assert [descriptor["entries"][1]["value"] for descriptor in found] == ["aml_token"]
