"""An agent knows who it talks to before its token leaves the machine; over real TLS."""

import hashlib
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from node_agent import identity, trust
from node_agent.client import ControlClient, ControlError
from node_agent.trust import ControlPlaneUnknown
from tests.support.certificates import Signed, certificate_authority
from tests.support.quiet_handler import QuietHandler
from wire import codec
from wire.messages import NodeInfo, RegisterReply

REPLY = RegisterReply("n1", "secret")
LOCAL = "127.0.0.1"


class Studio:
    """Answers over TLS with ``server``'s certificate and says that ``authority`` signed it."""

    def __init__(self, folder: Path, server: Signed, authority: str) -> None:
        self.asked: list[str] = []
        studio = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                studio.asked.append(f"GET {self.path}")
                self.answer(200 if authority else 404, authority.encode())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                studio.asked.append(f"POST {self.path} {body.decode()}")
                self.answer(200, codec.encode(REPLY))

        self._server = ThreadingHTTPServer((LOCAL, 0), Handler)
        context = server.context(folder)
        # why not in accept: a client that leaves in the middle of a handshake must not stop it
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self._open = True
        self.url = f"https://{LOCAL}:{self._server.server_port}"

    def close(self) -> None:
        if self._open:
            self._open = False
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


StudioMaker = Callable[[Signed, str], Studio]


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[StudioMaker]:
    made: list[Studio] = []

    def make(server: Signed, authority: str) -> Studio:
        made.append(Studio(tmp_path, server, authority))
        return made[-1]

    yield make
    for one in made:
        one.close()


def token_for(authority: Signed) -> str:
    der = ssl.PEM_cert_to_DER_cert(authority.pem)
    return f"sjoin_s_e-cret.{hashlib.sha256(der).hexdigest()}"


async def test_the_token_goes_only_to_who_made_it(tmp_path: Path, studio: StudioMaker) -> None:
    ours = certificate_authority()
    there = studio(ours.signs(LOCAL), ours.pem)
    file = tmp_path / "node" / "control-ca.pem"
    token = token_for(ours)
    client = ControlClient(there.url)

    async def verify() -> None:
        trusted = await trust.establish(there.url, token=token, file=file)
        assert trusted is not None
        assert not any("sjoin_" in asked for asked in there.asked)
        await client.move(there.url, trusted)

    node = NodeInfo(name="n1", agent_version="1")
    joined = await identity.join(
        client, token=token, node=node, file=tmp_path / "c.json", verify=verify
    )
    await client.close()
    assert joined.node_id == "n1"
    assert [asked.split()[0] for asked in there.asked] == ["GET", "GET", "POST"]
    again = ControlClient(there.url, trusted=trust.kept(file))  # as after a restart
    with pytest.raises(ControlError, match="desired"):  # it answers, with what is no desired state
        await again.desired()
    await again.close()
    assert there.asked[-1] == "GET /agent/v1/desired"


async def test_a_self_signed_certificate_is_its_own_authority(
    tmp_path: Path, studio: StudioMaker
) -> None:
    server = certificate_authority().signs(LOCAL)
    there = studio(server, server.pem)
    trusted = await trust.establish(there.url, token=token_for(server), file=tmp_path / "ca.pem")
    assert trusted is not None


async def test_only_the_certificate_that_was_compared_is_trusted(
    tmp_path: Path, studio: StudioMaker
) -> None:
    """What a stranger appends to ours is not: reading base64 ends at the first one's padding."""
    padded = (one for one in iter(certificate_authority, None) if "=" in one.pem)
    ours, theirs = next(padded), certificate_authority("stranger")
    there = studio(theirs.signs(LOCAL), f"{ours.pem}{theirs.pem}")
    with pytest.raises(ControlPlaneUnknown, match="is not signed by the one"):
        await trust.establish(there.url, token=token_for(ours), file=tmp_path / "ca.pem")
    assert trust.kept(tmp_path / "ca.pem") is None


async def test_a_stranger_gets_no_token(tmp_path: Path, studio: StudioMaker) -> None:
    ours, theirs = certificate_authority(), certificate_authority()
    cases = [
        (studio(theirs.signs(LOCAL), theirs.pem), "the join token expects"),
        (studio(theirs.signs(LOCAL), ours.pem), "is not signed by the one"),  # shows what is ours
        (studio(ours.signs("10.9.8.7"), ours.pem), "is for another name"),
        (studio(ours.signs(LOCAL), ""), r"shows no certificate .*\(404\)"),
        (studio(ours.signs(LOCAL), "<html>"), "shows no certificate"),
    ]
    for there, words in cases:
        with pytest.raises(ControlPlaneUnknown, match=words) as refused:
            await trust.establish(there.url, token=token_for(ours), file=tmp_path / "ca.pem")
        assert "The token was not sent" in str(refused.value)
        assert set(there.asked) <= {"GET /agent/v1/ca"}
    assert trust.kept(tmp_path / "ca.pem") is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"])
async def test_on_one_machine_nothing_is_encrypted(tmp_path: Path, url: str) -> None:
    for token in ("sjoin_secret", token_for(certificate_authority())):
        assert await trust.establish(url, token=token, file=tmp_path / "ca.pem") is None


async def test_a_pinned_token_is_not_sent_in_clear(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pinned = token_for(certificate_authority())
    with pytest.raises(ControlPlaneUnknown, match=r"http://10\.0\.0\.1.*is not encrypted"):
        await trust.establish("http://10.0.0.1", token=pinned, file=tmp_path / "ca.pem")
    assert await trust.establish("http://10.0.0.1", token="sjoin_s", file=tmp_path / "c") is None
    assert "can read the join token" in caplog.text


async def test_who_does_not_answer_is_waited_for(tmp_path: Path, studio: StudioMaker) -> None:
    ours = certificate_authority()
    there = studio(ours.signs(LOCAL), ours.pem)
    there.close()
    with pytest.raises(ControlError, match="ca: "):
        await trust.establish(there.url, token=token_for(ours), file=tmp_path / "ca.pem")


def test_a_damaged_authority_is_named(tmp_path: Path) -> None:
    file = tmp_path / "control-ca.pem"
    file.write_text("x")
    with pytest.raises(ControlPlaneUnknown, match=r"control-ca\.pem is damaged"):
        trust.kept(file)


@pytest.mark.parametrize(
    ("token", "fingerprint"),
    [
        ("sjoin_abc", ""),
        ("sjoin_abc." + "0" * 64, "0" * 64),
        ("sjoin_abc." + "0" * 63, ""),
        ("sjoin_abc." + "0" * 64 + "\n", ""),
    ],
)
def test_what_a_token_names(token: str, fingerprint: str) -> None:
    assert trust.fingerprint_in(token) == fingerprint
