"""How long Envoy believes its keys without news: when the agent says so again, and the setting."""

import pytest

from controlplane.gateway import settings
from controlplane.gateway.keys import Trust, key_check

KEYS = {"digits": {"a" * 64: "primary"}}


def source(trusted_until: int) -> str:
    check = key_check(KEYS, trusted_until=trusted_until)
    return str(check["typed_config"]["default_source_code"]["inline_string"])


@pytest.mark.parametrize(
    ("seconds", "until", "due"),
    [
        (0, 0.0, False),  # not asked for
        (60, 0.0, True),  # the first time
        (60, 1060.0, False),
        (60, 1041.0, False),
        (60, 1039.0, True),  # a third of it is over
        (60, 900.0, True),  # it was lost
        (60, 4600.0, True),  # the clock was set back: for an hour nobody would stop
    ],
)
def test_when_the_belief_is_moved_on(seconds: int, until: float, due: bool) -> None:
    assert Trust(seconds, until).is_due(now=1000.0) is due


def test_it_ends_after_the_time_that_was_asked_for() -> None:
    trust = Trust(60)
    assert trust.renewed(1000.5) == 1060
    assert not trust.is_due(1000.5)
    assert Trust(0).renewed(1000.5) == 0


def test_the_script_is_the_same_where_it_is_not_asked_for() -> None:
    assert "trusted_until" not in source(0)
    assert source(1060).startswith(source(0))
    assert "local trusted_until = 1060\n" in source(1060)


@pytest.mark.parametrize("text", ["1", "14", "-1", "86401", "1.5", "a"])
def test_a_time_that_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SHOAL_GATEWAY_TRUST_S", text)
    with pytest.raises(settings.SettingsError, match=f"SHOAL_GATEWAY_TRUST_S='{text}': expected"):
        settings.load()


@pytest.mark.parametrize(("text", "seconds"), [("", 0), ("0", 0), ("15", 15)])
def test_the_setting(monkeypatch: pytest.MonkeyPatch, text: str, seconds: int) -> None:
    monkeypatch.setenv("SHOAL_GATEWAY_TRUST_S", text)
    assert settings.load().trust_s == seconds
