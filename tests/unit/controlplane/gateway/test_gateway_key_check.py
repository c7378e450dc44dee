"""What the key check remembers of the keys that it has verified, and what it must not."""

import pytest

from controlplane.gateway.keys import NOT_COUNTED
from tests.support.gateway_script import Answer, Script, opened_by

KEY, SECOND, COMMON = b"key-of-digits", b"second-key-of-digits", b"key-of-two"
KEYS = {
    "digits": {KEY: "primary", SECOND: "secondary", COMMON: "aml_token"},
    "other": {COMMON: "primary"},
    "locked": {},
}
WRONG = b"This key does not open this endpoint."


@pytest.fixture
def script() -> Script:
    return Script(opened_by(KEYS))


def ask(script: Script, endpoint: str, key: bytes, scheme: bytes = b"Bearer ") -> Answer:
    return script.ask(endpoint, [(b"authorization", scheme + key)])


def test_a_key_is_hashed_once_and_opens_the_same_again(script: Script) -> None:
    for _ in range(3):
        for key, slot in ((KEY, b"primary"), (SECOND, b"secondary")):
            found = ask(script, "digits", key)
            assert (found.refusal, found.slot) == (None, slot)
    assert script.hashes() == 2


def test_a_wrong_key_is_never_remembered_however_often_it_comes(script: Script) -> None:
    ask(script, "digits", KEY)
    before = script.remembered()
    for number in range(500):
        found = ask(script, "digits", b"wrong-%d" % (number % 250))
        assert found.refusal is not None
        assert found.refusal.endswith(WRONG)
        assert found.slot is None
    assert script.hashes() == 501
    assert script.remembered() == before
    assert ask(script, "digits", KEY).refusal is None
    assert script.hashes() == 501, "strangers have not made it forget the right one"


def test_two_endpoints_do_not_share_what_was_verified(script: Script) -> None:
    assert ask(script, "digits", KEY).refusal is None
    for endpoint in ("other", "locked", "gone"):
        assert ask(script, endpoint, KEY).refusal is not None
    assert ask(script, "digits", COMMON).slot == b"aml_token"
    assert ask(script, "other", COMMON).slot == b"primary"
    assert ask(script, "digits", COMMON).slot == b"aml_token"


def test_spellings_of_a_key_do_not_add_up(script: Script) -> None:
    """Who has a key may write it in as many ways as there are numbers of spaces."""
    spellings = [b"bearer ", b"BEARER ", *(b"Bearer" + b" " * n for n in range(1, 300))]
    for scheme in spellings:
        for key in (KEY, SECOND, COMMON):
            assert ask(script, "digits", key, scheme).refusal is None
    entries, size = script.remembered()
    assert entries == 3
    assert size == sum(len(b"Bearer " + key) for key in (KEY, SECOND, COMMON))


@pytest.mark.parametrize(
    "header", [b"Bearer " + KEY[:-1], b"Bearer " + KEY + b"\0", b"Bearer " + KEY + b" x", KEY, b""]
)
def test_what_nearly_is_a_remembered_key_opens_nothing(script: Script, header: bytes) -> None:
    ask(script, "digits", KEY)
    assert script.ask("digits", [(b"authorization", header)]).refusal is not None
    assert script.ask("digits", []).refusal is not None


def test_only_a_slot_that_something_counts_by_is_told() -> None:
    script = Script(opened_by({"digits": {KEY: NOT_COUNTED, SECOND: "secondary"}}))
    for _ in range(2):
        assert ask(script, "digits", KEY)[:2] == (None, None)
        assert ask(script, "digits", SECOND)[:2] == (None, b"secondary")


def test_another_script_remembers_nothing(script: Script) -> None:
    """Keys that change are another script, and Envoy gives each a Lua state of its own."""
    ask(script, "digits", KEY)
    renewed = Script(opened_by({"digits": {SECOND: "primary"}}))
    assert renewed.remembered() == (0, 0)
    assert ask(renewed, "digits", KEY).refusal is not None
