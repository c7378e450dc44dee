"""Which requests are told of one by one: few, whatever comes."""

from random import Random
from uuid import UUID

import pytest

from controlplane.gateway import seen
from controlplane.gateway.access_log import Entry, parse
from controlplane.gateway.seen import FAILED, SAMPLED, SLOW, Chooser, plain
from tests.unit.controlplane.gateway.test_gateway_access_log import line
from wire.samples import rank
from worker_runtime.observability.requests.keeper import rank as runtimes
from worker_runtime.observability.requests.watched import padded


def entry(number: int, *, status: str = "2xx", us: float | None = 100.0, at: str = "") -> Entry:
    endpoint = at or "digits"
    columns = line(endpoint=endpoint).replace("\tid\t", f"\tid-{endpoint}-{number}\t").split("\t")
    return Entry(endpoint, "blue", status, us, 1, 2, columns=columns)


def chosen(*entries: Entry) -> dict[str, str]:
    """Id -> why."""
    chooser = Chooser()
    for one in entries:
        chooser.add(one)
    found = {request.id: request.why for request in chooser.take()}
    assert chooser.take() == (), "each is told once"
    return found


def test_a_line_becomes_a_request() -> None:
    parsed = parse(line(binary="120"))
    assert parsed is not None
    told = seen.seen(parsed, SLOW)
    assert (told.id, told.endpoint, told.deployment, told.why) == ("id", "digits", "blue", "slow")
    assert (told.method, told.path, told.status, told.host) == (
        "POST", "/v2/models/m/infer", 200, "127.0.0.1:9001",
    )  # fmt: skip
    assert (told.duration_us, told.receive_us, told.send_us) == (1500.0, 300.0, 40.0)
    assert (told.at, told.attempts, told.flags, told.details) == (1.25, 1, "", "via_upstream")


def test_what_the_gateway_refused_has_neither_host_nor_time() -> None:
    parsed = parse(line(status="401", details="lua_response"))
    assert parsed is not None
    told = seen.seen(parsed, FAILED)
    assert (told.deployment, told.status_class, told.duration_us) == ("", "4xx", None)


def test_the_slowest_and_a_few_others_of_thousands() -> None:
    found = chosen(*(entry(number, us=float(number)) for number in range(5000)))
    slow = {name for name, why in found.items() if why == SLOW}
    assert slow == {"id-digits-4999", "id-digits-4998", "id-digits-4997"}
    assert 1 <= sum(why == SAMPLED for why in found.values()) <= 3


def test_failures_of_ours_and_refusals_do_not_push_each_other_out() -> None:
    found = chosen(
        *(entry(number, status="4xx", us=None) for number in range(1000)),
        *(entry(number, status="5xx") for number in range(1000, 1002)),
    )
    assert {"id-digits-1000", "id-digits-1001"} < set(found)
    assert len(found) == 5
    assert set(found.values()) == {FAILED}


def test_of_very_many_endpoints_failures_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "MOST", 10)
    found = chosen(
        *(entry(number, at=f"e{number}") for number in range(50)),
        *(entry(number, at=f"e{number}", status="5xx") for number in range(50, 58)),
    )
    assert len(found) == 10
    assert sum(why == FAILED for why in found.values()) == 8


def test_no_control_character_gets_through() -> None:
    assert plain("a\x00b\x1b[31m\u2028c", 64) == "a\ufffdb\ufffd[31m\ufffdc"
    assert plain("x" * 100, 64) == "x" * 64


def test_of_all_others_those_with_the_smallest_ranks_are_told_of() -> None:
    """As replicas choose, so that both tell of the same ones."""
    chooser = Chooser()
    chooser.salt = 7
    for number in range(1000):
        chooser.add(entry(number, us=100.0))
    found = {one.id for one in chooser.take() if one.why == SAMPLED}
    smallest = sorted((f"id-digits-{n}" for n in range(1000)), key=lambda each: rank(each, 7))
    assert found == set(smallest[:3])
    ranks = [runtimes(padded(one.encode()), 7) for one in smallest[:9]]
    assert [rank(one, 7) for one in smallest[:9]] == ranks


@pytest.mark.parametrize("salt", [0, 7, 0xFFFF_FFF8])
def test_of_random_ids_the_same_are_told_of_as_replicas_choose(salt: int) -> None:
    random = Random(3)  # nothing is to be kept secret
    ids = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(2000)]
    ids += [one.upper() for one in ids[:100]] + [one[:-1] + "-" for one in ids[:100]]
    assert all(rank(one, salt) == runtimes(one.encode(), salt) for one in ids)
    chooser = Chooser()
    chooser.salt = salt
    for one in ids:
        columns = line().replace("\tid\t", f"\t{one}\t").split("\t")
        chooser.add(Entry("digits", "blue", "2xx", 100.0, 1, 2, columns=columns))
    smallest = sorted(ids, key=lambda each: rank(each, salt))[:3]
    assert {one.id for one in chooser.take()} == {*smallest, *ids[:3]}, "the first are the slowest"


def test_one_id_for_all_hides_no_other() -> None:
    same = [Entry("digits", "blue", "5xx", 1.0, 1, 2, columns=entry(0).columns) for _ in range(500)]
    assert {"id-digits-1", "id-digits-2"} <= set(
        chosen(*same, entry(1, status="5xx"), entry(2, status="5xx"))
    )
