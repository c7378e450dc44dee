"""Exchanges a user name and password for a token of its own, which is what gets stored."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import httpx

from shoal.client.discovery import Installation
from shoal.client.errors import Problem
from shoal.client.transport import Transport
from shoal.client.types import SessionInfo


def create_token(
    url: str,
    username: str,
    password: str,
    *,
    token_name: str,
    code: Callable[[], str] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Installation:
    """``code`` is asked for one where the account has a second factor.

    Raises Problem (``BadCredentials``, ``CodeNeeded`` without ``code``, or 429 after too many
    failures) and ConnectionFailed.
    """
    url = url.rstrip("/")
    session = Transport(Installation(url=url), transport=transport)
    try:
        # 1. an anonymous session gives the CSRF cookie that a login must present
        info = cast(SessionInfo, session.json("GET", "/session"))
        headers = {"X-CSRFToken": info["csrf_token"], "Referer": f"{url}/"}
        credentials = {"username": username, "password": password}
        answer = _signed_in(session, credentials, headers, code)
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


def _signed_in(
    session: Transport,
    credentials: dict[str, str],
    headers: dict[str, str],
    code: Callable[[], str] | None,
) -> Any:
    try:
        return session.json("POST", "/session", json=credentials, headers=headers)
    except Problem as problem:
        if problem.code != "CodeNeeded" or code is None:
            raise
    # why the password again: between the two there is no session, which somebody could take over
    both = {**credentials, "code": code()}
    return session.json("POST", "/session", json=both, headers=headers)


def given_token(
    url: str, token: str, *, transport: httpx.BaseTransport | None = None
) -> Installation:
    """The installation with a token that somebody made before, once it has been seen to work.

    Raises Problem when it does not, and ConnectionFailed.
    """
    installation = Installation(url=url.rstrip("/"), token=token)
    session = Transport(installation, transport=transport)
    try:
        session.json("GET", "/models", params={"limit": 1})  # /session answers anybody
        user = cast(SessionInfo, session.json("GET", "/session")).get("user") or {}
    finally:
        session.close()
    return replace(installation, username=user.get("username", ""))
