"""Somebody with what a node or a gateway keeps, at the port of agents and at the studio's."""

import json
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx

from tests.security.ground import Ground
from tests.security.tries import Try, held, refused
from tests.support.certificates import certificate_authority
from wire.proof import Proof, read

PART = "agents"
DESIRED, SNAPSHOT = "/agent/v1/desired", "/agent/v1/gateway/snapshot"


def tries(ground: Ground) -> Iterator[Try]:
    home = ground.product.home
    node, gateway = _proof(home / "node"), _proof(home / "gateway")
    credential = json.loads((home / "node" / "credential.json").read_text())["credential"]
    token = (home / "secrets" / "gateway_token").read_text().strip()
    anonymous = ssl.create_default_context(cadata=node.authority)

    # First that the right ones are let in: else what follows shows nothing.
    right = (
        ("the node itself", DESIRED, credential, node.context()),
        ("the gateway itself", SNAPSHOT, token, gateway.context()),
    )
    for who, path, bearer, context in right:
        status = _status(node.url + path, bearer, context)
        wrong = [] if status == "200" else [f"expected 200, got {status}"]
        yield held(PART, f"{who} is let in", wrong)

    with tempfile.TemporaryDirectory() as folder:
        stranger = _stranger(node.authority, Path(folder))
    wrong_ones = (
        ("a node's credential alone", node.url + DESIRED, credential, anonymous),
        ("a node's credential at the studio", ground.product.url + DESIRED, credential, None),
        ("the gateway token alone", node.url + SNAPSHOT, token, anonymous),
        ("the gateway token at the studio", ground.product.url + SNAPSHOT, token, None),
        ("a node's certificate alone", node.url + DESIRED, "", node.context()),
        ("a node's credential, a gateway's certificate", node.url + DESIRED, credential,
         gateway.context()),
        ("the gateway token, a node's certificate", node.url + SNAPSHOT, token, node.context()),
        ("a certificate that somebody else signed", node.url + DESIRED, credential, stranger),
        ("an administrator's token", node.url + DESIRED, ground.product.client["token"],
         node.context()),
        ("the studio's API at the port of agents", node.url + "/api/v1/nodes",
         ground.product.client["token"], node.context()),
    )  # fmt: skip
    for what, url, bearer, certificate in wrong_ones:
        status = _status(url, bearer, certificate)
        no = status in ("401", "404", "no connection")
        yield refused(PART, what, no=no, answer=status)


def _proof(folder: Path) -> Proof:
    found = read(folder / "certificate.json")
    assert found is not None, f"{folder}: no certificate"
    return found


def _stranger(authority: str, folder: Path) -> ssl.SSLContext:
    """Trusts the right server, and shows a certificate of an authority of its own."""
    context = ssl.create_default_context(cadata=authority)
    context.load_cert_chain(certificate_authority().signs("127.0.0.1").files(folder))
    return context


def _status(url: str, bearer: str, context: ssl.SSLContext | None) -> str:
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    try:
        answer = httpx.get(url, headers=headers, verify=context or True, timeout=30)
    except httpx.TransportError:
        return "no connection"
    return str(answer.status_code)
