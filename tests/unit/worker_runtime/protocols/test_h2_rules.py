"""The rules of HTTP/2, one by one, asked of a connection with a fake transport."""

import pytest

from tests.support.http2_peer import Peer, framed
from tests.support.http2_raw import GREETING
from tests.support.http2_rules import PING, RULES, Answer, Calls, Rule, frames_in

CALLS = Calls("/silent", "/silent", framed(b"x"), "/echo", framed(b"hello"))


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=str)
async def test_the_rules_are_kept(rule: Rule, *, in_pieces: bool) -> None:
    peer = Peer(greet=False)
    said = peer.transport.taken()
    data = (GREETING if rule.greets else b"") + rule.send(CALLS) + PING
    for at in range(0, len(data), 1 if in_pieces else len(data)):
        if not peer.transport.closed:
            peer.receive(data[at : at + 1] if in_pieces else data)
    said += peer.transport.taken()
    answer = Answer(frames_in(said), peer.transport.closed)
    assert rule.expected(answer), answer
