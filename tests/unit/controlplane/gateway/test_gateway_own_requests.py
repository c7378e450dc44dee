"""What the control plane asks itself is left out of a gateway's counts, and nothing else is."""

from datetime import UTC, datetime

import pytest

from controlplane.gateway import own_requests
from controlplane.gateway.access_log import Entry
from controlplane.gateway.own_requests import OwnRequests
from controlplane.gateway.seen import REQUEST_ID
from wire.own_requests import signed_id

NOW = 1_800_000_000.0


def entry(request_id: str, endpoint: str = "digits", at: float = NOW) -> Entry:
    columns = [datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"), *["-"] * 18]
    columns[REQUEST_ID] = request_id
    return Entry(endpoint, "blue", "2xx", 100.0, 1, 1, columns=columns)


@pytest.fixture
def own() -> OwnRequests:
    made = OwnRequests()
    made.key = "key"
    return made


def test_each_id_is_left_out_once(own: OwnRequests) -> None:
    made = signed_id("key", "digits", NOW)
    assert own.has(entry(made))
    assert not own.has(entry(made)), "somebody has read it and sends it again"
    assert own.has(entry(signed_id("key", "digits", NOW)))


@pytest.mark.parametrize(
    "said", [entry("mine"), entry("shoal-comparison"), entry(signed_id("mine", "digits", NOW))]
)
def test_clients_cannot_hide(own: OwnRequests, said: Entry) -> None:
    assert not own.has(said)


def test_without_a_key_everything_counts() -> None:
    assert not OwnRequests().has(entry(signed_id("", "digits", NOW)))


def test_an_id_for_another_endpoint_or_of_long_ago_counts(own: OwnRequests) -> None:
    made = signed_id("key", "digits", NOW)
    assert not own.has(entry(made, endpoint="quote"))
    assert not own.has(entry(made, at=NOW + 1000))
    assert own.has(entry(made)), "those have not used it up"


def test_what_it_remembers_is_bounded(own: OwnRequests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_requests, "MOST_REMEMBERED", 3)
    made = [signed_id("key", "digits", NOW) for _ in range(5)]
    assert all(own.has(entry(one)) for one in made)
    assert not any(own.has(entry(one)) for one in made[2:])
