"""Ids by which gateways know what the control plane itself asks."""

import pytest

from wire.own_requests import VALID_S, is_signed, signed_id

NOW = 1_800_000_000.0


def test_an_id_is_of_one_endpoint_for_a_few_minutes() -> None:
    made = signed_id("key", "digits", NOW)
    assert is_signed("key", "digits", made, NOW)
    assert is_signed("key", "digits", made, NOW - VALID_S + 1)
    assert not is_signed("key", "digits", made, NOW + VALID_S + 1)
    assert not is_signed("key", "digits", made, NOW - VALID_S - 1)
    assert not is_signed("key", "quote", made, NOW)
    assert not is_signed("other", "digits", made, NOW)


def test_a_gateway_that_has_been_told_no_key_believes_nobody() -> None:
    assert not is_signed("", "digits", signed_id("", "digits", NOW), NOW)


def test_each_is_another_and_fits_where_ids_are_kept_and_is_no_uuid() -> None:
    made = {signed_id("key", "digits", NOW) for _ in range(100)}
    assert len(made) == 100
    assert all(len(one) <= 64 and len(one) != 36 for one in made), "Envoy writes into UUIDs"


@pytest.mark.parametrize(
    "said",
    [
        "",
        "shoal-comparison",
        "shoal-comparison.",
        "shoal-comparison...",
        "shoal-comparison.6b49d200.0123456789ab.",
        "shoal-comparison.6b49d200.0123456789ab.00000000000000000000",
        "shoal-comparison.nohex.0123456789ab.\udc80\udc81",
        "shoal-comparison.1.2.3.4",
    ],
)
def test_what_clients_make_up_is_none(said: str) -> None:
    assert not is_signed("key", "digits", said, NOW)


def test_one_moved_to_a_later_time_is_none() -> None:
    prefix, _, nonce, signed = signed_id("key", "digits", NOW).split(".")
    moved = f"{prefix}.{int(NOW) + 900:x}.{nonce}.{signed}"
    assert not is_signed("key", "digits", moved, NOW + 900)
