"""What one look makes of an alert, as tables; clocks that jump and facts that are missing."""

from dataclasses import replace

import pytest

from controlplane.alerts.evaluation import (
    MOST_STEP_S,
    Memory,
    Observation,
    Turn,
    gone,
    look,
    verdict,
)
from controlplane.alerts.rules import RULES, Settings, broken
from controlplane.alerts.selectors.facts import FACTS
from controlplane.alerts.services.restarts import marked, restarted
from controlplane.alerts.types import AlertState

NOW = 1_000_000.0
PENDING, FIRING, RESOLVED = AlertState.PENDING, AlertState.FIRING, AlertState.RESOLVED


def rule(name: str = "queue-slow", for_s: int | None = None) -> Settings:
    found = RULES[name]
    return Settings(
        found, True, found.threshold, found.for_s if for_s is None else for_s, found.severity
    )


def walk(
    verdicts: list[bool | None], *, settings: Settings | None = None, step_s: float = 15.0
) -> list[str]:
    """The turns of looks so many seconds apart."""
    memory, turns, now = Memory(), [], NOW
    for one in verdicts:
        found = look(memory, one, settings or rule(), now)
        memory = found.memory
        turns.append(str(found.turn))
        if memory.state == RESOLVED:
            memory = Memory()
        now += step_s
    return turns


# queue-slow fires after 120 s and is resolved after 120 s: nine looks each
@pytest.mark.parametrize(
    ("verdicts", "turns"),
    [
        ([False] * 3, ["none"] * 3),
        ([True, False], ["begin", "drop"]),
        ([True] * 10, ["begin", *["none"] * 7, "fire", "none"]),
        (
            [True] * 9 + [False] * 10,
            ["begin", *["none"] * 7, "fire", *["none"] * 8, "resolve", "none"],
        ),
        # broken once more meanwhile: it begins to be whole anew
        (
            [True] * 9 + [False] * 8 + [True] + [False] * 9,
            ["begin", *["none"] * 7, "fire", *["none"] * 17, "resolve"],
        ),
        # nobody can tell: a pending one waits, a firing one stays
        ([True, None, None, True], ["begin", "none", "none", "none"]),
        ([True] * 9 + [None] * 500, ["begin", *["none"] * 7, "fire", *["none"] * 500]),
        ([None] * 5, ["none"] * 5),
    ],
)  # fmt: skip
def test_the_way_of_an_alert(verdicts: list[bool | None], turns: list[str]) -> None:
    assert walk(verdicts) == turns


def test_a_rule_without_a_time_fires_at_once() -> None:
    assert walk([True], settings=rule(for_s=0)) == ["fire"]


def test_metrics_that_stop_resolve_nothing_and_what_follows_counts_anew() -> None:
    memory = Memory(FIRING, 120.0, 0.0, NOW)
    for seconds in range(15, 36_000, 15):
        found = look(memory, None, rule(), NOW + seconds)
        assert (found.turn, found.memory.state) == (Turn.NONE, FIRING)
        memory = found.memory
    assert look(memory, False, rule(), memory.at + 15).turn == Turn.NONE, "not by the first look"


@pytest.mark.parametrize("jump_s", [86_400.0, 3600.0, -3600.0, -86_400.0])
def test_a_clock_that_jumps_neither_fires_nor_resolves(jump_s: float) -> None:
    settings = rule(for_s=300)
    pending = Memory(PENDING, 30.0, 0.0, NOW)
    found = look(pending, True, settings, NOW + jump_s)
    assert found.turn == Turn.NONE
    assert found.memory.held_s <= 30.0 + MOST_STEP_S
    firing = Memory(FIRING, 300.0, 15.0, NOW)
    found = look(firing, False, settings, NOW + jump_s)
    assert found.turn == Turn.NONE
    assert found.memory.clear_s <= 15.0 + MOST_STEP_S
    # and from there time goes on
    assert look(found.memory, False, settings, NOW + jump_s + 15).memory.clear_s > 15.0


@pytest.mark.parametrize(
    ("name", "value", "firing", "is_broken"),
    [
        ("queue-slow", 500.0, False, False),
        ("queue-slow", 501.0, False, True),
        ("queue-slow", 450.0, True, True),  # back by a fifth before it is whole
        ("queue-slow", 400.0, True, False),
        ("disk-nearly-full", 90.5, False, True),
        ("disk-nearly-full", 88.0, True, True),
        ("disk-nearly-full", 87.0, True, False),
        ("certificate-ends", 14.0, False, False),
        ("certificate-ends", 13.9, False, True),
        ("certificate-ends", -1.0, False, True),
        ("certificate-ends", 89.0, True, False),
    ],
)
def test_thresholds_and_their_margins(
    name: str, value: float, firing: bool, is_broken: bool
) -> None:
    found = RULES[name]
    assert broken(found, found.threshold, value, firing) == is_broken


@pytest.mark.parametrize(
    ("seen", "is_broken"),
    [
        (Observation("queue-slow", "x", "", 501.0, 500.0), True),
        (Observation("queue-slow", "x", "", None, 500.0), None),
        (Observation("queue-slow", "x", "", 501.0, 500.0, untold="Silent."), None),
        (Observation("queue-slow", "x", "", 1.0, 500.0, burns=True), True),
        (Observation("queue-slow", "x", "", 501.0, 500.0, burns=False), False),
    ],
)
def test_what_nobody_can_tell_is_no_verdict(seen: Observation, is_broken: bool | None) -> None:
    assert verdict(RULES["queue-slow"], seen, False) is is_broken


THRESHOLDS = {"endpoint/quote": 900.0, "project/vision": 800.0, "project/audio": 100.0}


@pytest.mark.parametrize(
    ("subject", "project", "value", "source"),
    [
        ("endpoint/quote", "vision", 900.0, "endpoint/quote"),  # its own, before its project's
        ("endpoint/other", "vision", 800.0, "project/vision"),
        ("endpoint/other", "audio", 100.0, "project/audio"),
        ("endpoint/other", "default", 500.0, "installation"),
        ("endpoint/quot", "visio", 500.0, "installation"),
        ("node/vision", None, 500.0, "installation"),
        ("node/None", None, 500.0, "installation"),
    ],
)
def test_the_threshold_that_counts_is_the_nearest(
    subject: str, project: str | None, value: float, source: str
) -> None:
    found = replace(rule(), thresholds=THRESHOLDS).limit(subject, project)
    assert (found.value, found.source) == (value, source)
    of = "" if source == "installation" else f" of {source.replace('/', ' ')}"
    assert found.told == f"is the limit{of}"


def test_what_has_lost_its_subject_ends() -> None:
    assert gone(Memory(PENDING)) == Turn.DROP
    assert gone(Memory(FIRING)) == Turn.RESOLVE


def test_every_rule_has_facts() -> None:
    assert set(RULES) - set(FACTS) == {"replica-restarting"}
    assert set(FACTS) <= set(RULES)
    for one in RULES.values():
        assert one.least <= one.threshold <= one.most


def test_restarts_of_the_last_ten_minutes() -> None:
    marks = marked([], 0, NOW, age_s=5.0)
    marks = marked(marks, 1, NOW + 60, 65.0)
    marks = marked(marks, 4, NOW + 120, 125.0)
    assert restarted(marks, NOW + 130) == 4
    assert restarted(marks, NOW + 60 + 600) == 3
    assert restarted(marks, NOW + 3600) == 0
    assert marked(marks, 4, NOW + 200, 205.0) == marks
    # an old replica that is seen first: nobody knows when it was started again
    assert restarted(marked([], 9, NOW, age_s=86_400.0), NOW) == 0
    # a young one: since then
    assert restarted(marked([], 2, NOW, age_s=60.0), NOW) == 2
