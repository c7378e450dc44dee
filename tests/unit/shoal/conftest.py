"""A client and a command line that talk to a fake server without sockets or waiting."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import keyring
import keyring.backends.fail
import pytest

import shoal.cli.deploying
import shoal.client
from shoal.client import Client
from shoal.client.concurrency import Threads
from tests.support.shoal_server import TOKEN, URL, FakeServer


@pytest.fixture(autouse=True)
def no_keyring() -> Iterator[None]:
    """No test writes into the keyring of whoever runs it."""
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def client(server: FakeServer) -> Iterator[Client]:
    with Client(
        URL, TOKEN, http_transport=httpx.MockTransport(server), concurrency=Threads(_no_pause)
    ) as client:
        yield client


@pytest.fixture
def installed(server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeServer:
    """The command line finds ``server`` as its installation."""
    fake = partial(
        Client, http_transport=httpx.MockTransport(server), concurrency=Threads(_no_pause)
    )
    monkeypatch.setattr(shoal.client, "Client", fake)
    monkeypatch.setattr(shoal.cli.deploying, "Client", fake)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_URL", URL)
    monkeypatch.setenv("SHOAL_TOKEN", TOKEN)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SHOAL_HOME", raising=False)
    return server


def _no_pause(_: float) -> None:
    pass
