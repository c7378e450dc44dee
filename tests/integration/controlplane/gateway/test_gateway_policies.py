"""What an endpoint allows of its callers, seen through a real Envoy: origins, bodies, pace."""

import dataclasses
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from gateway_harness import (
    KEY,
    OTHER_KEY,
    SECOND_KEY,
    Gateway,
    Upstream,
    deployment,
    endpoint,
    wait_until,
)
from gateway_harness import digits as digits_of
from tritonclient.utils import InferenceServerException

from controlplane.deployments.selectors import RateLimit
from controlplane.gateway.access_log import parse

Launch = Callable[[str], Upstream]
METADATA = {"x-shoal-endpoint": "digits", "authorization": f"Bearer {KEY}"}
INFER = "/endpoints/digits/v2/models/m/infer"
SHOP = "https://shop.example"
LIMIT = 4096


@pytest.fixture
def serve(gateway: Gateway, upstreams: Launch) -> Callable[..., None]:
    """Endpoint digits with these settings, and endpoint other without any."""
    blue = deployment("blue", 100, upstreams("blue"))

    def apply(**settings: Any) -> None:
        gateway.apply(
            dataclasses.replace(digits_of(blue), **settings),
            endpoint("other", blue, keys=(OTHER_KEY,)),
        )

    return apply


def preflight(gateway: Gateway, path: str, origin: str = SHOP) -> httpx.Response:
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    with gateway.client(None) as client:
        return client.options(path, headers=asked)


def words(answer: httpx.Response, header: str) -> set[str]:
    return {word.strip() for word in answer.headers[header].split(",")}


# --- origins -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/endpoints/digits/score", "/endpoints/digits/", INFER, "/endpoints/digits"]
)
def test_a_preflight_is_answered_without_a_key(
    gateway: Gateway, serve: Callable[..., None], path: str
) -> None:
    serve(cors_origins=("https://other.example:8443", SHOP))
    answer = preflight(gateway, path)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == SHOP
    assert {"GET", "POST"} == words(answer, "access-control-allow-methods")
    assert {"authorization", "content-type"} <= words(answer, "access-control-allow-headers")
    assert int(answer.headers["access-control-max-age"]) > 0


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://shop.example",
        "https://shop.example.evil.example",
        "https://shopXexample",
        "null",
    ],
)
def test_another_origin_is_refused_like_any_request_without_a_key(
    gateway: Gateway, serve: Callable[..., None], origin: str
) -> None:
    serve(cors_origins=(SHOP,))
    answer = preflight(gateway, INFER, origin)
    assert answer.status_code == 401
    assert "access-control-allow-origin" not in answer.headers


def test_the_answers_themselves_may_be_read_refusals_too(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(cors_origins=(SHOP,))
    for key, status in ((KEY, 200), ("wrong", 401), (None, 401)):
        with gateway.client(key) as client:
            answer = client.post(INFER, headers={"Origin": SHOP}, content=b"{}")
            foreign = client.post(INFER, headers={"Origin": "https://a.example"}, content=b"{}")
        assert answer.status_code == foreign.status_code == status
        assert answer.headers["access-control-allow-origin"] == SHOP
        exposed = words(answer, "access-control-expose-headers")
        assert {"x-request-id", "x-shoal-deployment", "retry-after"} <= exposed
        assert "access-control-allow-origin" not in foreign.headers


def test_a_star_lets_every_origin_in(gateway: Gateway, serve: Callable[..., None]) -> None:
    serve(cors_origins=("*",))
    answer = preflight(gateway, INFER, "https://any.example")
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] in ("*", "https://any.example")
    assert "access-control-allow-credentials" not in answer.headers


def test_without_a_list_no_origin_is_let_in(gateway: Gateway, serve: Callable[..., None]) -> None:
    serve(cors_origins=(SHOP,))
    assert preflight(gateway, "/endpoints/other/score").status_code == 401
    serve()  # and a list that is taken away is gone
    assert preflight(gateway, INFER).status_code == 401
    with gateway.client() as client:
        answer = client.post(INFER, headers={"Origin": SHOP}, content=b"{}")
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


# --- bodies --------------------------------------------------------------------------------------


def chunked(size: int) -> Any:
    yield from (b"x" * 512 for _ in range(size // 512))


@pytest.mark.parametrize("path", [INFER, "/endpoints/digits/score"])
@pytest.mark.parametrize("body", [lambda size: b"x" * size, chunked], ids=["known", "chunked"])
def test_a_body_over_the_limit_gets_413(
    gateway: Gateway, serve: Callable[..., None], path: str, body: Callable[[int], Any]
) -> None:
    serve(max_request_bytes=LIMIT)
    with gateway.client() as client:
        fits = client.post(path, content=body(LIMIT))
        assert (fits.status_code, fits.json()["received"]) == (200, LIMIT)
        large = client.post(path, content=body(LIMIT + 512))
    assert large.status_code == 413
    assert large.headers["content-type"] == "application/json"
    assert large.json() == {
        "error": f"The request is larger than the {LIMIT} bytes that this endpoint takes."
    }


def test_bodies_of_other_endpoints_are_not_limited(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(max_request_bytes=LIMIT)
    with gateway.client(OTHER_KEY) as client:
        answer = client.post("/endpoints/other/score", content=chunked(3 << 20))
    assert answer.json()["received"] == 3 << 20


def test_who_has_no_key_is_told_so_before_the_size(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(max_request_bytes=LIMIT)
    with gateway.client(None) as client:
        assert client.post(INFER, content=b"x" * (LIMIT + 1)).status_code == 401


def tensor(count: int) -> triton_grpc.InferInput:
    values = np.zeros((1, count), np.float32)
    made = triton_grpc.InferInput("IN", values.shape, "FP32")
    made.set_data_from_numpy(values)
    return made


def test_stock_triton_clients_can_read_the_refusal(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(max_request_bytes=LIMIT)
    url = f"127.0.0.1:{gateway.settings.plain_port}/endpoints/digits"
    with triton_http.InferenceServerClient(url) as client:
        made = triton_http.InferInput("IN", [1, LIMIT], "FP32")
        made.set_data_from_numpy(np.zeros((1, LIMIT), np.float32))
        with pytest.raises(InferenceServerException, match=f"larger than the {LIMIT} bytes"):
            client.infer("m", [made], headers={"Authorization": f"Bearer {KEY}"})
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as grpc_client:
        assert grpc_client.infer("m", [tensor(8)], headers=METADATA).as_numpy("OUT").shape == (1, 8)
        with pytest.raises(InferenceServerException, match=f"larger than the {LIMIT}") as raised:
            grpc_client.infer("m", [tensor(LIMIT)], headers=METADATA)
    assert raised.value.status() == "StatusCode.RESOURCE_EXHAUSTED"


# --- pace ----------------------------------------------------------------------------------------


def statuses(gateway: Gateway, count: int, *, key: str = KEY, path: str = INFER) -> list[int]:
    with gateway.client(key) as client:
        return [client.post(path, content=b"{}").status_code for _ in range(count)]


def pace(per: str, burst: int = 5) -> dict[str, RateLimit]:
    return {"rate_limit": RateLimit(requests_per_second=1, burst=burst, per=per)}


def test_more_than_the_burst_gets_429_on_every_path_together(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(**pace("endpoint"))
    # A refill of one a second lets in few more than the burst, however slow this machine is.
    assert statuses(gateway, 3) == [200] * 3
    answers = statuses(gateway, 30, path="/endpoints/digits/score")
    assert answers[:2] == [200, 200]
    assert 429 in answers
    with gateway.client() as client:
        refused = next(
            answer
            for answer in (client.post(INFER, content=b"{}") for _ in range(30))
            if answer.status_code == 429
        )
    assert refused.headers["retry-after"] == "1"
    assert "per second" in refused.json()["error"]


def test_keys_share_the_pace_of_an_endpoint_and_other_endpoints_have_their_own(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(**pace("endpoint"))
    assert 429 in statuses(gateway, 30)
    assert 429 in statuses(gateway, 3, key=SECOND_KEY)
    assert set(statuses(gateway, 30, key=OTHER_KEY, path="/endpoints/other/score")) == {200}


def test_per_key_one_callers_flood_leaves_the_other_its_pace(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(**pace("key"))
    assert 429 in statuses(gateway, 30)
    assert statuses(gateway, 5, key=SECOND_KEY) == [200] * 5


def test_strangers_and_preflights_use_up_nothing(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(**pace("endpoint"), cors_origins=(SHOP,))
    assert set(statuses(gateway, 30, key="wrong")) == {401}
    assert {preflight(gateway, INFER).status_code for _ in range(30)} == {200}
    assert statuses(gateway, 5) == [200] * 5


def test_grpc_shares_the_pace_and_says_resource_exhausted(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    serve(**pace("endpoint"))
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
        with pytest.raises(InferenceServerException, match="per second") as raised:
            for _ in range(30):
                client.get_server_metadata(headers=METADATA)
    assert raised.value.status() == "StatusCode.RESOURCE_EXHAUSTED"
    assert 429 in statuses(gateway, 3)


# --- what is counted -----------------------------------------------------------------------------


def test_refusals_count_for_the_endpoint_and_preflights_not_at_all(
    gateway: Gateway, serve: Callable[..., None]
) -> None:
    log = gateway.settings.folder / "access.log"
    serve(**pace("endpoint", burst=2), max_request_bytes=LIMIT, cors_origins=(SHOP,))
    for origin in (SHOP, "https://evil.example"):
        preflight(gateway, INFER, origin)
    with gateway.client() as client:
        assert client.post(INFER, content=b"x" * (LIMIT + 1)).status_code == 413
    refused = statuses(gateway, 20).count(429)
    assert refused
    wait_until(lambda: log.exists() and log.read_text().count(INFER) >= 23, "the log is written")
    entries = [entry for line in log.read_text().splitlines() if (entry := parse(line))]
    assert len(entries) == 21
    turned_away = [entry for entry in entries if entry.status_class == "4xx"]
    assert len(turned_away) == refused + 1
    assert {(entry.deployment, entry.duration_us) for entry in turned_away} == {("", None)}
