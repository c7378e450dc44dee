"""The key check against headers that no client library would send, and what it remembers."""

import hashlib
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from gateway_harness import (
    KEY,
    OTHER_KEY,
    SECOND_KEY,
    Gateway,
    Upstream,
    deployment,
    digits,
    endpoint,
    wait_until,
)

from controlplane.gateway.keys import key_check

Launch = Callable[[str], Upstream]
RIGHT, WRONG = f"Authorization: Bearer {KEY}".encode(), b"Authorization: Bearer wrong"

OPENING = (
    RIGHT,
    f"authorization: bearer {SECOND_KEY}".encode(),
    f"AUTHORIZATION: BEARER {KEY}".encode(),
    f"Authorization:Bearer    {KEY}   ".encode(),
    f"Authorization: Bearer\t{KEY}".encode(),
)
REFUSED = (
    b"X-Nothing: 1",
    b"Authorization:",
    b"Authorization: Bearer",
    b"Authorization: Bearer ",
    f"Authorization: Bearer{KEY}".encode(),
    f"Authorization: Basic {KEY}".encode(),
    f"Authorization: {KEY}".encode(),
    f"Authorization: Bearer {KEY},{KEY}".encode(),
    f"Authorization: Bearer {KEY} {KEY}".encode(),
    f"Authorization: Bearer, Bearer {KEY}".encode(),
    f"Authorization: Bearer {KEY.upper()}".encode(),
    f"Authorization: Bearer {KEY}\x00".encode(),
    f"Authorization: Bearer {KEY[:4]}\x00{KEY[4:]}".encode(),
    f"Authorization: Bearer {OTHER_KEY}".encode(),
    f"Authorization: Bearer {hashlib.sha256(KEY.encode()).hexdigest()}".encode(),
    b"Authorization: Bearer %S+",
    b"Authorization: Bearer primary",
    b"Authorization: Bearer digits",
    b"Authorization: Bearer \xff\xfe\x80",
    "Authorization: Bearer\u00a0key-of-digits".encode(),
    b"Authorization: Bearer " + b"a" * 1025,
    b"Authorization: Bearer " + b"a" * 20_000,
    b"Authorization: Bearer " + b"a" * 65_536,
    b"Authorization: " + b" " * 40_000 + b"Bearer x",
    b"Authorization: " + b"Bearer " * 8000,
    b"\r\n".join([WRONG] * 90),
    b"\r\n".join((WRONG, RIGHT)),
    b"\r\n".join((RIGHT, WRONG)),
    b"\r\n".join((RIGHT, RIGHT)),
    f"Authorization : Bearer {KEY}".encode(),
    f"Proxy-Authorization: Bearer {KEY}".encode(),
    f"X-Shoal-Endpoint: other\r\nAuthorization: Bearer {OTHER_KEY}".encode(),
)


@pytest.fixture
def ask(gateway: Gateway, upstreams: Launch) -> Callable[[bytes], int]:
    """The status of one request with these header lines, or 0 for a connection that was closed."""
    gateway.apply(digits(deployment("blue", 100, upstreams("blue"))))

    def asked(lines: bytes) -> int:
        head = (
            b"GET /endpoints/digits/v2/models/m HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n"
        )
        address = ("127.0.0.1", gateway.settings.plain_port)
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(head + lines + b"\r\n\r\n")
            answer = connection.makefile("rb").readline()
        return int(answer.split()[1]) if answer else 0

    return asked


def test_only_one_whole_key_opens_an_endpoint(
    gateway: Gateway, ask: Callable[[bytes], int]
) -> None:
    for lines in OPENING:
        assert ask(lines) == 200, lines
    for lines in REFUSED:
        assert ask(lines) in (0, 400, 401, 431), lines[:80]
    assert ask(RIGHT) == 200
    assert "script" not in gateway.log.read_text(), "the key check itself never fails"


def test_names_of_keys_are_data_and_nothing_that_runs() -> None:
    """Should a name ever come through that is no name, it is a line that opens nothing."""
    odd = 'x" os.exit() --\n]]'
    source = key_check({odd: {"a" * 64: "primary"}})["typed_config"]["default_source_code"]
    (line,) = (text for text in source["inline_string"].splitlines() if "os.exit" in text)
    assert line == 'local lines = "x\\" os.exit() --\\n]] ' + "a" * 64 + ' primary\\n"'


def test_a_key_that_was_verified_is_forgotten_when_it_is_revoked(
    gateway: Gateway, upstreams: Launch
) -> None:
    """On connections that are open already, of whichever worker."""
    blue = deployment("blue", 100, upstreams("blue"))
    both, second = digits(blue), endpoint("digits", blue, keys=(SECOND_KEY,))
    path = "/endpoints/digits/v2/health/ready"
    with ExitStack() as stack:
        clients = [stack.enter_context(gateway.client()) for _ in range(8)]
        renewed = stack.enter_context(gateway.client(SECOND_KEY))
        for view, status in ((both, 200), (second, 401), (both, 200)):
            gateway.apply(view)
            for client in clients:
                wait_until(lambda one=client, to=status: one.get(path).status_code == to, "it acts")
                assert {client.get(path).status_code for _ in range(5)} == {status}
            assert renewed.get(path).status_code == 200
