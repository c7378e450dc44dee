"""Origins, size of bodies and pace of an endpoint over REST."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import RateLimit, routing_view
from controlplane.deployments.serializers.limits import origin_problem

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
URL = "/api/v1/endpoints/digits"
LIMITS = ("cors_origins", "max_request_bytes", "rate_limit")


def make(api: APIClient, **fields: Any) -> dict[str, Any]:
    answer = api.post("/api/v1/endpoints", {"name": "digits", **fields}, format="json")
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def shown(api: APIClient) -> dict[str, Any]:
    body = api.get(URL).json()
    return {name: body[name] for name in LIMITS}


def test_nothing_is_limited_unless_asked(api: APIClient) -> None:
    make(api)
    assert shown(api) == {"cors_origins": [], "max_request_bytes": None, "rate_limit": None}
    (routed,) = routing_view().endpoints
    assert (routed.cors_origins, routed.max_request_bytes, routed.rate_limit) == ((), None, None)


def test_limits_are_kept_shown_and_routed(api: APIClient) -> None:
    make(
        api,
        cors_origins=["https://b.example", "http://localhost:3000", "https://b.example"],
        max_request_bytes=1000,
        rate_limit={"requests_per_second": 5},
    )
    limit = {"requests_per_second": 5, "burst": 5, "per": "endpoint"}
    origins = ["http://localhost:3000", "https://b.example"]
    assert shown(api) == {
        "cors_origins": origins,
        "max_request_bytes": 1000,
        "rate_limit": limit,
    }
    (routed,) = routing_view().endpoints
    assert (routed.cors_origins, routed.max_request_bytes) == (tuple(origins), 1000)
    assert routed.rate_limit == RateLimit(5, 5, "endpoint")


def test_a_change_touches_only_what_it_names_and_gateways_hear_of_it(api: APIClient) -> None:
    make(api, cors_origins=["*"], max_request_bytes=1000)
    before = Endpoint.objects.get().generation
    limit = {"requests_per_second": 5, "burst": 50, "per": "key"}
    changed = api.patch(URL, {"rate_limit": limit}, format="json")
    assert changed.status_code == 200
    assert changed.json()["rate_limit"] == limit
    assert shown(api) == {"cors_origins": ["*"], "max_request_bytes": 1000, "rate_limit": limit}
    assert Endpoint.objects.get().generation == before + 1
    assert changed.json()["routed"] is False
    event = Event.objects.get(verb="endpoint.limits_changed")
    assert event.actor == "dora"

    api.patch(URL, {"rate_limit": limit, "description": "words"}, format="json")
    assert Endpoint.objects.get().generation == before + 1, "the same again is no change"


def test_each_is_taken_away_again(api: APIClient) -> None:
    make(api, cors_origins=["*"], max_request_bytes=9, rate_limit={"requests_per_second": 5})
    none = {"cors_origins": [], "max_request_bytes": None, "rate_limit": None}
    assert api.patch(URL, none, format="json").status_code == 200
    assert shown(api) == none


def test_a_change_that_somebody_else_made_is_noticed(api: APIClient) -> None:
    make(api)
    seen = api.get(URL)["ETag"]
    api.patch(URL, {"max_request_bytes": 1000}, format="json")
    late = api.patch(URL, {"max_request_bytes": 2000}, format="json", headers={"If-Match": seen})
    assert late.status_code == 412


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"cors_origins": ["shop.example"]}, ["cors_origins", "shop.example", "scheme://host"]),
        ({"cors_origins": ["https://a.example/"]}, ["cors_origins", "https://a.example/"]),
        ({"cors_origins": ["*", "https://a.example"]}, ["cors_origins", "*", "alone"]),
        ({"cors_origins": "https://a.example"}, ["cors_origins"]),
        ({"max_request_bytes": 0}, ["max_request_bytes", "0 is out of range", "1 to 2147483647"]),
        ({"max_request_bytes": 2**31}, ["max_request_bytes", "2147483648 is", "2147483647"]),
        ({"max_request_bytes": "1 MB"}, ["max_request_bytes", "1 MB", "whole number"]),
        ({"rate_limit": {}}, ["rate_limit", "requests_per_second", "missing"]),
        (
            {"rate_limit": {"requests_per_second": 0}},
            ["requests_per_second", "0 is", "1 to 1000000"],
        ),
        (
            {"rate_limit": {"requests_per_second": 1, "burst": 0}},
            ["rate_limit", "burst", "0 is", "1 to 1000000"],
        ),
        ({"rate_limit": {"requests_per_second": 1, "per": "ip"}}, ["rate_limit", "per", "ip"]),
        ({"rate_limit": 5}, ["rate_limit", "int"]),
    ],
)
def test_what_cannot_be_is_refused_with_field_and_value(
    api: APIClient, fields: dict[str, Any], says: list[str]
) -> None:
    make(api)
    for answer in (
        api.patch(URL, fields, format="json"),
        api.post("/api/v1/endpoints", {"name": "other", **fields}, format="json"),
    ):
        assert answer.status_code == 400
        assert answer["Content-Type"] == "application/problem+json"
        text = str(answer.json())
        assert not [word for word in says if word not in text], text
    assert Endpoint.objects.count() == 1


@pytest.mark.parametrize(
    "origin",
    [
        "https://shop.example",
        "http://localhost:3000",
        "https://127.0.0.1:8443",
        "http://[::1]:8080",
        "https://xn--bcher-kva.example",
        "https://a",
    ],
)
def test_origins_that_browsers_send(origin: str) -> None:
    assert origin_problem(origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "https://",
        "https://Shop.example",
        "https://*.example",
        "https://shop.example/path",
        "https://shop.example:443",
        "http://shop.example:80",
        "https://shop.example:70000",
        "https://user@shop.example",
        "https://shop.example\n",
        "ftp://shop.example",
        "https://bücher.example",
    ],
)
def test_origins_that_no_browser_sends(origin: str) -> None:
    assert origin_problem(origin) is not None
