"""Which failures are repeated, which are told at once, and what they say."""

import httpx
import pytest

from shoal.client import Client, ConnectionFailed, Problem
from tests.support.shoal_server import URL, FakeServer, cut, refuse


def test_a_server_that_never_answered_is_reported_at_once(
    client: Client, server: FakeServer
) -> None:
    server.fail_next(".*", refuse, times=100)
    with pytest.raises(ConnectionFailed, match="Shoal does not answer"):
        client.list_models()
    assert len(server.calls) == 1


def test_a_read_is_repeated_once_the_server_has_answered_before(
    client: Client, server: FakeServer
) -> None:
    client.list_models()
    server.fail_next(".*", refuse, times=3)
    server.fail_next(".*", lambda _: httpx.Response(503))
    assert client.list_models() == []


def test_a_write_is_repeated_under_one_key(client: Client, server: FakeServer) -> None:
    keys: list[str] = []

    def lost(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        return cut(request)

    def busy(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        return httpx.Response(409, headers={"Retry-After": "1"})

    client.list_models()
    for fault in (lost, busy, lost):
        server.fail_next("POST /endpoints", fault)
    assert client.create_endpoint("net")["name"] == "net"
    assert len(keys) == 3 and len(set(keys)) == 1


def test_bytes_that_may_have_arrived_are_not_sent_again(client: Client, server: FakeServer) -> None:
    client.list_models()
    server.fail_next("POST /models", cut)
    with pytest.raises(ConnectionFailed, match="may have been carried out"):
        client._transport.json("POST", "/models", json={}, repeat=False)
    assert server.calls.count("POST /models") == 1


def test_a_write_that_was_never_sent_is_sent_again(client: Client, server: FakeServer) -> None:
    client.list_models()
    server.fail_next("POST /models", refuse, times=2)
    with pytest.raises(Problem, match="configs"):
        client.register_model("net", "u1", configs={"net": "max_batch_size: 4"})
    assert server.calls.count("POST /models") == 3


def test_asking_again_for_a_deployment_gets_the_one_under_way(
    client: Client, server: FakeServer
) -> None:
    def deploy_then_cut(request: httpx.Request) -> httpx.Response:
        server._deploy(request)
        return cut(request)

    client.list_models()
    server.fail_next("POST /deploy", deploy_then_cut)
    assert client.start_deploy("net", 1, endpoint="net")["state"] == "Running"
    assert len(server.operations) == 1


def test_a_problem_keeps_code_hints_and_extra_fields(client: Client, server: FakeServer) -> None:
    with pytest.raises(Problem) as caught:
        client.get_endpoint("none")
    assert (caught.value.status, caught.value.code) == (404, "ResourceNotFound")
    assert caught.value.hints == ("Look again.",)
    assert caught.value.is_not_found


def test_a_page_that_is_not_ours_is_named_as_such(client: Client, server: FakeServer) -> None:
    server.fail_next(".*", lambda _: httpx.Response(200, text="<html>hello</html>"))
    with pytest.raises(Problem, match="not JSON") as caught:
        client.list_models()
    assert URL in caught.value.hints[0]


def test_a_missing_token_says_how_to_get_one(server: FakeServer) -> None:
    server.fail_next(".*", lambda _: httpx.Response(401, json={"title": "No credentials"}))
    with Client(URL, http_transport=httpx.MockTransport(server)) as client:
        with pytest.raises(Problem) as caught:
            client.list_models()
    assert "shoal login" in caught.value.hints[0]


def test_lists_follow_the_cursor(client: Client, server: FakeServer) -> None:
    for name in ("a", "b", "c"):
        server.endpoints[name] = {"name": name}
    assert [item["name"] for item in client.list_endpoints()] == ["a", "b", "c"]
