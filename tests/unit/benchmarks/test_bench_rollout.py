"""The simulator of rollouts: a share of its seeds, and that it can find what it looks for."""

from dataclasses import replace

from benchmarks.rollout_sim import (
    CASES,
    COPIED,
    STAGED,
    SWITCHED,
    Case,
    Outcome,
    Version,
    outcome,
    simulated,
    told,
)
from controlplane.rollouts import Plan, Step

SHORT = replace(STAGED, steps=(Step(1, 20), Step(10, 20), Step(50, 20), Step(100, 0)))


def named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def test_a_candidate_that_fails_is_withdrawn_within_its_first_200_requests() -> None:
    found = outcome(named("5 % errors, stable 0.2%"), 60)
    assert found.early >= 0.95
    assert {run.cause for run in found.runs} == {"errors"}
    assert "holds" in told([found])


def test_a_candidate_that_answers_wrongly_is_withdrawn_within_200_inputs() -> None:
    found = outcome(named("5 % wrong answers"), 60)
    assert found.early >= 0.95
    assert {run.cause for run in found.runs if run.withdrawn} == {"answers"}
    for name in ("the same answers", "the same, 20 % random"):
        assert outcome(named(name), 20).withdrawn == 0


def test_answers_are_judged_alike_whatever_the_strategy() -> None:
    for case in (named("5 % wrong answers"), replace(named("the same answers"), name="same")):
        for seed in range(4):
            runs = [simulated(case, seed, plan) for plan in (STAGED, SWITCHED, COPIED)]
            assert {(run.withdrawn, run.requests, run.cause) for run in runs} == {
                (runs[0].withdrawn, runs[0].requests, runs[0].cause)
            }


def test_the_same_version_goes_through() -> None:
    case = replace(named("the same, 3 % errors in both"), rate=300.0)
    runs = [simulated(case, seed, SHORT) for seed in range(12)]
    assert [run.reason for run in runs if run.withdrawn] == []
    assert {run.cause for run in runs} == {"done"}


def test_a_slow_one_is_withdrawn_for_that() -> None:
    runs = [simulated(named("twice as slow"), seed) for seed in range(3)]
    assert {(run.withdrawn, run.cause[:7]) for run in runs} == {(True, "latency")}


def test_the_simulator_notices_a_test_that_is_too_quick() -> None:
    """Withdrawn at half a confidence, one of a few good versions goes: the bar is missed."""
    hasty = Plan(
        steps=SHORT.steps,
        guardrails={"errors": replace(STAGED.guardrails["errors"], confidence=0.5)},
    )
    case = Case("the same version", Version(), bar=0.01, rate=300.0)
    found = Outcome(case, [simulated(case, seed, hasty) for seed in range(12)])
    assert not found.holds
    assert "MISSED" in told([found])
