"""The command line against the control plane in this process."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest
from rest_framework.test import APIClient

import shoal.client
from controlplane.accounts.models import User
from shoal.client import Client

Build = Callable[[User], APIClient]
Calls = Callable[[User], None]


@pytest.fixture
def calls_as(client_of: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Calls:
    """The command line finds this control plane, and calls as the given account."""

    def become(user: User) -> None:
        api = client_of(user)

        def answer(request: httpx.Request) -> httpx.Response:
            found = api.generic(
                request.method,
                request.url.raw_path.decode(),
                request.read(),
                content_type="application/json",
            )
            return httpx.Response(found.status_code, content=found.content)

        found = partial(
            Client, "http://shoal.test", "t", http_transport=httpx.MockTransport(answer)
        )
        monkeypatch.setattr(shoal.client, "Client", found)

    monkeypatch.chdir(tmp_path)
    return become
