"""Behind a proxy: whose word counts for addresses and TLS, and what browsers are told."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from pytest_django import Settings
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from controlplane.accounts.models import User
from controlplane.config import env, web_server
from controlplane.config.asgi import application, behind_proxies
from controlplane.core.models import Event

BODY = json.dumps({"username": "nobody", "password": "wrong"}).encode()


async def sign_in(app: Any, client: str, forwarded_for: str) -> dict[bytes, bytes]:
    """Over ASGI, as uvicorn calls it when its own reading of headers is off."""
    sent: list[Any] = []
    asked = iter([{"type": "http.request", "body": BODY, "more_body": False}])

    async def receive() -> Any:
        if message := next(asked, None):
            return message
        return await asyncio.Event().wait()  # the client stays

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/v1/session",
        "raw_path": b"/api/v1/session",
        "query_string": b"",
        "client": (client, 4711),
        "server": ("127.0.0.1", 8080),
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(BODY)).encode()),
            (b"x-forwarded-for", forwarded_for.encode()),
            (b"x-forwarded-proto", b"https"),
        ],
    }
    await app(scope, receive, send)
    return dict(sent[0]["headers"])


async def address_noted() -> str:
    event = await Event.objects.alatest("seq")
    return str(event.data["address"])


@pytest.mark.django_db(transaction=True)
async def test_no_header_is_believed_unless_a_proxy_is_named() -> None:
    await sign_in(application, "127.0.0.1", "198.51.100.1")
    assert await address_noted() == "127.0.0.1"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("client", "header", "address"),
    [
        ("10.0.0.2", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.2", "203.0.113.5, 198.51.100.1", "198.51.100.1"),  # the client's own came first
        ("10.0.0.2", "198.51.100.1, 10.1.2.3", "198.51.100.1"),  # two proxies, both ours
        ("10.9.0.2", "198.51.100.1", "10.9.0.2"),  # a neighbour, not the proxy
        ("127.0.0.1", "198.51.100.1", "127.0.0.1"),
    ],
)
async def test_a_proxy_that_is_named_says_who_called_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch, client: str, header: str, address: str
) -> None:
    monkeypatch.setenv("SHOAL_TRUSTED_PROXIES", "10.0.0.2, 10.1.0.0/16")
    trusted = list(env.networks("SHOAL_TRUSTED_PROXIES"))
    app = ProxyHeadersMiddleware(behind_proxies.app, trusted_hosts=trusted)
    await sign_in(app, client, header)
    assert await address_noted() == address


def test_uvicorn_reads_no_forwarded_headers_of_its_own() -> None:
    assert not web_server.config(0).proxy_headers
    started = (Path(__file__).parents[4] / "deploy" / "Dockerfile").read_text()
    assert "uvicorn" in started
    assert "--no-proxy-headers" in started
    assert "--forwarded-allow-ips" not in started


def test_what_is_no_address_of_a_proxy_stops_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("*", "proxy.example", "10.0.0.1/8", "0.0.0.0/0", "::/0", "10.0.0.0/99"):
        monkeypatch.setenv("SHOAL_TRUSTED_PROXIES", value)
        with pytest.raises(ImproperlyConfigured, match=r"^SHOAL_TRUSTED_PROXIES=.*: expected"):
            env.networks("SHOAL_TRUSTED_PROXIES")
    monkeypatch.setenv("SHOAL_TRUSTED_PROXIES", " ")
    assert env.networks("SHOAL_TRUSTED_PROXIES") == ()


def test_cookies_are_secure_where_the_request_came_over_tls(deployer: User) -> None:
    body = {"username": "dora", "password": "correct horse battery"}
    for secure in (False, True):
        answer = Client().post(
            "/api/v1/session", body, content_type="application/json", secure=secure
        )
        found = {name: bool(cookie["secure"]) for name, cookie in answer.cookies.items()}
        assert found == {"shoal_session": secure, "shoal_csrf": secure}


def test_writes_pass_behind_tls_although_the_public_url_is_plain(deployer: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(deployer)
    token = client.get("/api/v1/session", secure=True).json()["csrf_token"]
    headers = {"X-CSRFToken": token, "Origin": "https://testserver"}
    body = {"filename": "m.onnx", "size": 1}
    answer = client.post(
        "/api/v1/uploads", body, content_type="application/json", headers=headers, secure=True
    )
    assert answer.status_code == 201, answer.json()


def test_browsers_are_told_to_stay_with_tls_where_the_public_url_has_it(
    settings: Settings,
) -> None:
    assert "Strict-Transport-Security" not in Client().get("/healthz")
    settings.SHOAL_PUBLIC_URL = "https://studio.example"
    assert Client().get("/healthz")["Strict-Transport-Security"] == "max-age=2592000"


def test_a_sign_in_takes_over_no_session_that_somebody_prepared(deployer: User) -> None:
    client = Client()
    prepared = client.session
    prepared["planted"] = "yes"
    prepared.save()
    body = {"username": "dora", "password": "correct horse battery"}
    client.post("/api/v1/session", body, content_type="application/json")
    assert client.session.session_key != prepared.session_key
    stranger = Client()
    stranger.cookies["shoal_session"] = prepared.session_key or ""
    assert stranger.get("/api/v1/models").status_code == 401


def test_a_new_password_ends_other_sessions_even_ones_that_nobody_noted(deployer: User) -> None:
    body = {"username": "dora", "password": "correct horse battery"}
    mine, other, unnoted = Client(), Client(), Client()
    for client in (mine, other):
        client.post("/api/v1/session", body, content_type="application/json")
    unnoted.force_login(deployer)
    changed = mine.post(
        "/api/v1/session/password",
        {"current": "correct horse battery", "password": "battery horse correct"},
        content_type="application/json",
    )
    assert changed.status_code == 204
    assert [c.get("/api/v1/models").status_code for c in (mine, other, unnoted)] == [200, 401, 401]
