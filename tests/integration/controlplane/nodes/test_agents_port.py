"""The agents' port as a program, and who comes to it: real TLS, both sides' own code."""

import dataclasses
import json
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio

from controlplane.gateway import certificate as gateway_certificate
from controlplane.gateway.control_client import ControlPlaneClient, ControlPlaneUnavailable
from node_agent import identity, trust
from node_agent.certificate import Certificate
from node_agent.client import ControlClient, ControlError, CredentialRefused
from tests.support.certificates import certificate_authority
from tests.support.installation import ROOT, Installation
from wire import proof
from wire.messages import GatewayReport, NodeInfo

THIRTY_DAYS_S = 30 * 24 * 3600


@pytest.fixture(scope="module")
def running(prepared: Installation) -> Installation:
    for name, start in (("web", prepared.start_web), ("agents", prepared.start_agents)):
        if not prepared.is_running(name):
            start()
    return prepared


@dataclass
class Joined:
    client: ControlClient
    file: Path
    credential: str
    name: str

    def certificate(self, via: str, *, now: float | None = None) -> Certificate:
        """As the agent makes it at its start."""
        clock = time.time if now is None else lambda: now
        return Certificate(self.file, self.client, via=via, clock=clock)

    def kept(self) -> proof.Proof:
        found = proof.read(self.file)
        assert found is not None
        return found


@pytest_asyncio.fixture
async def node(running: Installation, tmp_path: Path) -> AsyncIterator[Joined]:
    """It has joined at the agents' port, by a token that names who signs it."""
    with running.client() as client:
        made = client.post("/join-tokens").json()
    authority = tmp_path / "control-ca.pem"
    trusted = await trust.establish(running.agents_url, token=made["token"], file=authority)
    assert trusted is not None
    client = ControlClient(running.agents_url, trusted=trusted)
    name = f"n{uuid4().hex[:8]}"
    joined = await identity.join(
        client,
        token=made["token"],
        node=NodeInfo(name=name, agent_version="test"),
        file=tmp_path / "credential.json",
    )
    client.use_credential(joined.credential)
    yield Joined(client, tmp_path / "certificate.json", joined.credential, name)
    await client.close()


def asked(url: str, credential: str, trusted: ssl.SSLContext | bool = True) -> int:
    answer = httpx.get(
        f"{url}/agent/v1/desired",
        headers={"Authorization": f"Bearer {credential}"},
        verify=trusted,
        trust_env=False,
    )
    return answer.status_code


async def test_once_shown_nothing_less_opens_the_api(running: Installation, node: Joined) -> None:
    assert asked(running.url, node.credential) == 200  # it has none yet
    await node.certificate(running.agents_url).show()
    assert (node.kept().used, node.kept().url) == (True, running.agents_url)
    assert oct(node.file.stat().st_mode & 0o777) == "0o600"
    await node.client.desired()
    anonymous = trust.context_of(node.kept().authority)
    assert asked(running.url, node.credential) == 401
    assert asked(running.agents_url, node.credential, anonymous) == 401
    assert asked(running.agents_url, node.credential, node.kept().context()) == 200


async def test_a_closed_port_leaves_a_node_where_it_is_and_an_open_one_takes_it(
    running: Installation, node: Joined, caplog: pytest.LogCaptureFixture
) -> None:
    """As where a node of before reaches the studio through a proxy, and not yet the new port."""
    await node.client.close()
    node.client = ControlClient(running.url)
    node.client.use_credential(node.credential)
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        certificate = node.certificate(running.url)
        await certificate.show()
        assert node.kept().used  # the port that was told is open
        shut = f"https://127.0.0.1:{closed.getsockname()[1]}"
        proof.write(node.file, dataclasses.replace(node.kept(), url=shut, used=False))
        again = node.certificate(running.url)
        await again.show()
        assert not node.kept().used
        assert "cannot be used" in caplog.text
        assert shut in caplog.text


async def test_it_is_renewed_long_before_it_ends(running: Installation, node: Joined) -> None:
    await node.certificate(running.agents_url).show()
    first = node.kept()
    assert first.ends_at - first.begins_at == pytest.approx(THIRTY_DAYS_S, abs=2)
    await node.certificate(running.agents_url, now=first.begins_at + 9 * 24 * 3600).show()
    assert node.kept() == first
    await node.certificate(running.agents_url, now=first.begins_at + 11 * 24 * 3600).show()
    second = node.kept()
    assert second.key != first.key
    assert second.certificate != first.certificate
    assert second.used
    await node.client.desired()


async def test_a_renewal_that_was_cut_off_is_taken_up(running: Installation, node: Joined) -> None:
    """The control plane has seen the certificate, the agent died before it had noted that."""
    await node.certificate(running.agents_url).show()
    proof.write(node.file, dataclasses.replace(node.kept(), used=False))
    await node.client.close()
    node.client = ControlClient(running.agents_url, trusted=trust.context_of(node.kept().authority))
    node.client.use_credential(node.credential)
    due = node.kept().begins_at + 20 * 24 * 3600
    await node.certificate(running.agents_url, now=due).show()
    assert node.kept().used
    await node.client.desired()


async def test_who_was_away_for_too_long_is_told_to_join_again(
    running: Installation, node: Joined
) -> None:
    await node.certificate(running.agents_url).show()
    late = node.kept().ends_at + 1
    with pytest.raises(CredentialRefused, match="longer than its certificate lives"):
        await node.certificate(running.agents_url, now=late).show()


async def test_certificates_of_others_open_nothing(
    running: Installation, node: Joined, tmp_path: Path
) -> None:
    await node.certificate(running.agents_url).show()
    mine = node.kept()
    # Of an authority of one's own, with our name in it: the handshake ends.
    stranger = certificate_authority().signs("127.0.0.1")
    context = trust.context_of(mine.authority)
    context.load_cert_chain(stranger.files(tmp_path))
    with pytest.raises(httpx.TransportError):
        asked(running.agents_url, node.credential, context)
    # Of the right authority, but ended.
    script = (
        "import django; django.setup()\n"
        "from datetime import UTC, datetime, timedelta\n"
        "from cryptography.hazmat.primitives.asymmetric import ec\n"
        "from controlplane.core.certificates import key_pem, request_pem\n"
        "from controlplane.nodes import authority\n"
        "import json, sys\n"
        "now = datetime.now(UTC)\n"
        "for when, name in ((now - timedelta(days=31), 'ended'), (now, 'other')):\n"
        "    key = ec.generate_private_key(ec.SECP256R1())\n"
        f"    who = 'node/{node.credential.split('_')[1]}' if name == 'ended' else 'node/other'\n"
        "    reply = authority.client_certificate(who, request_pem(key), when)\n"
        f"    open('{tmp_path}/' + name, 'w').write(key_pem(key) + reply.certificate)\n"
    )
    running.python(script)
    context = trust.context_of(mine.authority)
    context.load_cert_chain(tmp_path / "ended")
    with pytest.raises(httpx.TransportError):
        asked(running.agents_url, node.credential, context)
    context = trust.context_of(mine.authority)
    context.load_cert_chain(tmp_path / "other")
    assert asked(running.agents_url, node.credential, context) == 401


async def test_people_find_nothing_there_and_strangers_no_server(
    running: Installation, node: Joined
) -> None:
    trusted = trust.context_of((running.home / "agents-ca.pem").read_text())
    with httpx.Client(base_url=running.agents_url, verify=trusted, trust_env=False) as client:
        for path in ("/", "/api/v1/nodes", "/readyz", "/agent", "/agent/v1/../../api/v1/nodes"):
            answer = client.get(path, headers={"Authorization": f"Bearer {running.token}"})
            assert (answer.status_code, answer.json()["code"]) == (404, "NotFound"), path
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        asked(running.agents_url, node.credential, ssl.create_default_context())
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.load_verify_locations(cadata=(running.home / "agents-ca.pem").read_text())
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(httpx.ConnectError):
        asked(running.agents_url, node.credential, old)


async def test_a_silent_plane_is_waited_for(running: Installation, node: Joined) -> None:
    """A certificate that was accepted before is shown again without asking first."""
    await node.certificate(running.agents_url).show()
    running.kill("agents")
    try:
        await node.certificate(running.agents_url).show()
        with pytest.raises(ControlError):
            await node.client.desired()
    finally:
        running.start_agents()
    await node.client.desired()


@pytest.fixture
def client(running: Installation) -> Iterator[ControlPlaneClient]:
    trusted = gateway_certificate.trusted(running.home / "agents-ca.pem")
    token = running.environment["SHOAL_GATEWAY_TOKEN"]
    made = ControlPlaneClient(running.agents_url, token, trusted=trusted)
    yield made
    made.close()


def test_gateways_have_names_of_their_own(
    running: Installation, client: ControlClient, tmp_path: Path
) -> None:
    token = running.environment["SHOAL_GATEWAY_TOKEN"]

    def certificate(name: str, client: ControlClient) -> gateway_certificate.Certificate:
        return gateway_certificate.Certificate(
            tmp_path / f"{name}.json", client, name=name, via=running.agents_url
        )

    certificate("east", client).show()
    client.report(GatewayReport(name="east", applied_version="", sent_at=time.time()))
    with pytest.raises(ControlPlaneUnavailable, match="expected east"):
        client.report(GatewayReport(name="west", applied_version="", sent_at=time.time()))
    bare = ControlPlaneClient(running.url, token)
    with pytest.raises(ControlPlaneUnavailable, match="prove themselves by certificates"):
        bare.snapshot("")
    with pytest.raises(ControlPlaneUnavailable, match="certificate"):
        bare.report(GatewayReport(name="west", applied_version="", sent_at=time.time()))
    with pytest.raises(ControlPlaneUnavailable, match="proves itself by a certificate already"):
        gateway_certificate.Certificate(
            tmp_path / "thief.json", bare, name="east", via=running.url
        ).show()
    bare.close()
    with running.client() as client:
        events = client.get("/events", params={"subject": "gateway/east"}).json()["items"]
    assert "gateway.enrolled" in [event["verb"] for event in events]
    assert json.loads((tmp_path / "east.json").read_text())["used"]


@pytest.mark.parametrize("name", ["", "a/b", "ü", "x" * 101, "node/1", "..", "a b"])
def test_names_of_gateways_are_plain(client: ControlClient, tmp_path: Path, name: str) -> None:
    via = str(client)
    with pytest.raises(ControlPlaneUnavailable, match="expected 1 to 100 letters"):
        gateway_certificate.Certificate(tmp_path / "c.json", client, name=name, via=via).show()


async def test_a_node_leaves_by_the_program_and_joins_anew_next_time(
    running: Installation, node: Joined, tmp_path: Path
) -> None:
    """As a preStop hook runs it, beside the agent and with what that shows."""
    home = tmp_path / "home"
    folder = home / "node"
    folder.mkdir(parents=True)
    await node.certificate(running.agents_url).show()
    for name in ("credential.json", "certificate.json", "control-ca.pem"):
        shutil.copy(tmp_path / name, folder / name)
    done = subprocess.run(
        [sys.executable, "-m", "node_agent.leave", "--deadline", "5"],
        env={
            **running.environment,
            "SHOAL_HOME": str(home),
            "SHOAL_CONTROL_URL": running.agents_url,
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with running.client() as client:
        assert client.get(f"/nodes/{node.name}").status_code == 404
    assert sorted(path.name for path in folder.iterdir()) == ["control-ca.pem"]
    with pytest.raises(CredentialRefused):
        await node.client.desired()
