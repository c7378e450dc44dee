"""Exchanges a user name and password for a token of its own, which is what gets stored."""

from typing import cast

import httpx

from shoal.client.discovery import Installation
from shoal.client.transport import Transport
from shoal.client.types import SessionInfo


def create_token(
    url: str,
    username: str,
    password: str,
    *,
    token_name: str,
    transport: httpx.BaseTransport | None = None,
) -> Installation:
    """Raises Problem (``BadCredentials``, or 429 after too many failures) and ConnectionFailed."""
    url = url.rstrip("/")
    session = Transport(Installation(url=url), transport=transport)
    try:
        # 1. an anonymous session gives the CSRF cookie that a login must present
        info = cast(SessionInfo, session.json("GET", "/session"))
        headers = {"X-CSRFToken": info["csrf_token"], "Referer": f"{url}/"}
        credentials = {"username": username, "password": password}
        answer = session.json("POST", "/session", json=credentials, headers=headers)
        # 2. logging in rotates the CSRF token
        fresh = answer if isinstance(answer, dict) and answer.get("csrf_token") else None
        info = cast(SessionInfo, fresh or session.json("GET", "/session"))
        headers["X-CSRFToken"] = info["csrf_token"]
        # 3. a token of our own, and the session is not needed any more
        created = session.json("POST", "/tokens", json={"name": token_name}, headers=headers)
        session.json("DELETE", "/session", headers=headers)
    finally:
        session.close()
    return Installation(url=url, token=created["token"], username=username)
