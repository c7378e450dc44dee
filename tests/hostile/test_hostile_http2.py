"""Attacks over HTTP/2 beside a polite client: it is served, and memory comes back."""

import pytest

from tests.hostile.ground import Ground, Row
from tests.hostile.http2_attacks import ATTACKS
from tests.hostile.http2_client import CALLS, Client
from tests.support.http2_raw import GREETING
from tests.support.http2_rules import PING, PONG, RULES, Rule
from tests.support.runtime_process import Runtime
from worker_runtime.protocols.grpc.native import frames as f


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_costs_the_attacker(attack: str, ground: Ground, row: Row) -> None:
    run, reason = ATTACKS[attack]
    before = ground.refusals()
    ground.withstands(row, run)
    if reason:
        assert ground.refusals().get(("grpc", reason), 0) > before.get(("grpc", reason), 0)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_rules_are_kept_by_the_listener(rule: Rule, server: Runtime) -> None:
    with Client(server, (GREETING if rule.greets else b"") + rule.send(CALLS) + PING) as client:
        answer = client.answer(pongs=1)
        while not answer.ended and PONG[f.HEAD_BYTES :] != answer.of(f.PING)[-1].payload:
            answer = client.answer(pongs=answer.pongs + 1)
        assert rule.expected(answer), answer
