"""Joining: the token is used once, the credential is kept for this user alone."""

import logging
import stat
from pathlib import Path

import httpx
import pytest

from node_agent import agent, identity, settings
from node_agent.client import ControlClient
from node_agent.folder import NodeFolder
from node_agent.sandbox import Sandbox
from wire import codec
from wire.messages import NodeInfo, RegisterReply

NODE = NodeInfo(name="n1", agent_version="1")
REPLY = RegisterReply(node_id="n1", credential="secret", heartbeat_interval_s=3)


def client(*answers: httpx.Response) -> ControlClient:
    queue = list(answers)
    return ControlClient("http://control", transport=httpx.MockTransport(lambda _: queue.pop(0)))


async def test_the_credential_survives_and_is_private(tmp_path: Path) -> None:
    file = tmp_path / "node" / "credential.json"
    control = client(httpx.Response(200, content=codec.encode(REPLY)))
    joined = await identity.join(control, token="t", node=NODE, file=file)
    await control.close()
    assert identity.read(file) == joined
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_an_unreachable_control_plane_is_waited_for(tmp_path: Path) -> None:
    control = client(httpx.Response(502), httpx.Response(200, content=codec.encode(REPLY)))
    joined = await identity.join(control, token="t", node=NODE, file=tmp_path / "c.json")
    await control.close()
    assert joined.node_id == "n1"


async def test_a_used_token_says_what_to_do(tmp_path: Path) -> None:
    control = client(httpx.Response(401, json={"detail": "token was used"}))
    with pytest.raises(identity.CannotJoin, match=r"not let in: .*401 token was used\. Make a new"):
        await identity.join(control, token="t", node=NODE, file=tmp_path / "c.json")
    await control.close()


async def test_a_name_that_stays_taken_says_what_to_do(tmp_path: Path) -> None:
    taken = [httpx.Response(409, json={"detail": "The name n1 is taken."}) for _ in range(3)]
    control = client(*taken)
    with pytest.raises(identity.CannotJoin, match=r"The name n1 is taken\..*SHOAL_NODE_NAME"):
        await identity.join(
            control, token="t", node=NODE, file=tmp_path / "c.json", name_retry_s=0.3
        )
    await control.close()
    assert not (tmp_path / "c.json").exists()


async def test_without_a_token_there_is_no_joining(tmp_path: Path) -> None:
    control = client()
    with pytest.raises(identity.CannotJoin, match="SHOAL_JOIN_TOKEN"):
        await identity.join(control, token="", node=NODE, file=tmp_path / "c.json")
    await control.close()


def test_what_an_agent_of_before_kept_is_still_a_credential(tmp_path: Path) -> None:
    """Its wake-ups came over Redis, and had written down where."""
    file = tmp_path / "credential.json"
    file.write_text(
        '{"node_id": "n1", "credential": "secret", "queue": "node.n1",'
        ' "broker_url": "redis://:password@r/0", "heartbeat_interval_s": 3}'
    )
    assert identity.read(file) == identity.Identity("n1", "secret", 3.0)


@pytest.mark.parametrize(
    "content", [b"{", b"null", b"[]", b"\xff", b"{}", b'{"node_id": "n1", "credential": 7}']
)
def test_a_damaged_credential_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "credential.json"
    file.write_bytes(content)
    with pytest.raises(identity.CannotJoin, match=r"credential\.json is damaged"):
        identity.read(file)


async def test_a_refused_join_says_so_once_and_sends_no_last_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(401, json={"detail": "This join token was used."})

    monkeypatch.setenv("SHOAL_CONTROL_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("SHOAL_JOIN_TOKEN", "used-up")
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path))
    monkeypatch.setattr(
        agent,
        "ControlClient",
        lambda url, **_: ControlClient(url, transport=httpx.MockTransport(refuse)),
    )
    caplog.set_level(logging.INFO)
    loaded = settings.load()
    folder = NodeFolder(loaded.folder)
    folder.take()
    with pytest.raises(identity.CannotJoin, match="shoal node join"):
        await agent.Agent(loaded, folder, Sandbox()).run()
    assert asked == ["/agent/v1/register"]
    assert [one.message for one in caplog.records if one.name.startswith("node_agent")] == []
