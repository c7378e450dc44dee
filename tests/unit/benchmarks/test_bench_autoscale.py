"""The simulator of the autoscaler: a share of its seeds, and that it can find what it looks for."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import autoscale_sim
from benchmarks.autoscale_loads import KINDS, STEP_S, Course, recorded
from benchmarks.autoscale_plant import Machine, Plant
from benchmarks.autoscale_sim import drawn, oscillations, policy_drawn, simulated, told
from controlplane.autoscaling import Policy, Side, Targets
from controlplane.autoscaling.policy import MOST_OF


def test_no_seed_oscillates_and_each_is_told() -> None:
    runs = [drawn(seed) for seed in range(20)]
    assert [run.seed for run in runs if run.oscillations] == []
    assert all(min(run.ready) >= 1 for run in runs)
    text = told(runs)
    assert {run.kind for run in runs} <= set(KINDS)
    assert all(run.kind in text for run in runs)


def test_a_hasty_policy_oscillates() -> None:
    """Without windows and tolerance the same function follows every waver of the same load."""
    hasty = Side(window_s=0, cooldown_s=0)
    policy = Policy(
        max=100, targets=Targets(requests_per_second=50), tolerance_percent=0, up=hasty, down=hasty
    )
    rng = np.random.default_rng(1)
    rates = rng.poisson(np.full(200, 400.0))  # eight replicas exactly, give or take
    course = Course("noisy", rates.astype(float), ((0, 200),))
    machine = Machine(service_s=0.01, slots=1, start_s=1)
    lost = np.zeros(200, bool)
    assert simulated(0, course, machine, policy, lost).oscillations
    calm = Policy(max=100, targets=policy.targets)
    assert not simulated(0, course, machine, calm, lost).oscillations


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ([1, 1, 4, 4, 3, 3], []),  # too many, then right
        ([4, 3, 3, 2, 1], []),
        ([1, 2, 1, 2], [[1, 2, 1, 2]]),
        ([3, 3, 2, 5, 4], [[3, 2, 5, 4]]),
    ],
)
def test_turning_twice_is_an_oscillation(counts: list[int], found: list[list[int]]) -> None:
    assert oscillations(counts, [(0, len(counts))]) == found
    assert oscillations(counts, []) == []


def test_a_day_is_followed_and_turned_with() -> None:
    """A rate that rises, falls and rises: the same decision without windows turns at each waver."""
    means = 400 * (1 + 0.5 * np.sin(np.linspace(0, 2 * np.pi, 900)))
    rates = np.random.default_rng(1).poisson(means * STEP_S) / STEP_S
    course = Course("daily", rates, turning=means)
    machine, lost = Machine(service_s=0.01, slots=1, start_s=1), np.zeros(900, bool)
    calm = Policy(max=100, targets=Targets(requests_per_second=50))
    run = simulated(0, course, machine, calm, lost)
    assert (run.judged, run.oscillations) == (True, [])
    hasty = Side(window_s=0, cooldown_s=0)
    policy = Policy(max=100, targets=calm.targets, tolerance_percent=0, up=hasty, down=hasty)
    assert simulated(0, course, machine, policy, lost).oscillations


def test_of_bursts_it_is_said_that_nobody_judges() -> None:
    burst = next(run for seed in range(100) if (run := drawn(seed)).kind == "bursts")
    assert (burst.judged, burst.oscillations) == (False, [])
    assert "not judged" in told([burst])


def test_all_targets_are_drawn() -> None:
    rng = np.random.default_rng(1)
    machine = Machine(service_s=0.01, slots=1, start_s=1)
    found = {name for _ in range(100) for name in policy_drawn(rng, machine).targets.set()}
    assert found == set(MOST_OF)


def plant_of(machine: Machine) -> Plant:
    return Plant(machine, np.random.default_rng(1))


def test_replicas_answer_once_they_have_started() -> None:
    plant = plant_of(Machine(service_s=0.1, slots=1, start_s=5))
    flooded = plant.step(50, 0, STEP_S)
    assert (flooded.requests_per_second, flooded.growth, flooded.busy) == (10, 40, 1)
    plant.scale(6, 0)
    assert plant.changing
    assert plant.step(50, 4, STEP_S).serving == 1
    assert plant.step(50, 8, STEP_S).serving == 6
    assert not plant.changing


def test_callers_in_a_loop_wait_for_each_answer() -> None:
    plant = plant_of(Machine(service_s=0.1, slots=1, start_s=5, pause_s=0))
    crowded = plant.loop(4, 0, STEP_S)
    assert (crowded.requests_per_second, crowded.in_flight, crowded.waiting) == (10, 4, 3)
    plant.scale(8, 0)
    spread = plant.loop(4, 6, STEP_S)
    assert (spread.requests_per_second, spread.waiting, spread.busy) == (40, 0, 0.5)


@pytest.mark.parametrize(("rate", "slots", "mean"), [(70, 1, 1.6), (90, 1, 8.1), (350, 4, 5.2)])
def test_what_waits_by_chance_is_what_such_a_queue_has(
    rate: float, slots: int, mean: float
) -> None:
    """Of M/M/c, where requests take 10 ms."""
    plant = plant_of(Machine(service_s=0.01, slots=slots, start_s=1))
    seen = [plant.step(rate, 10.0 * look, STEP_S).waiting for look in range(20_000)]
    assert np.mean(seen) == pytest.approx(mean, rel=0.1)
    assert plant.waiting == 0


def test_a_recorded_load_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "load.csv"
    path.write_text("time,request_rate\n100,2\n140,\n160,30\n200,30\n")
    course = recorded(path)
    assert list(course.rates) == [2] * 20 + [0] * 10 + [30] * 20
    monkeypatch.setattr("sys.argv", ["sim", "--recorded", str(path), "--seeds", "2"])
    assert autoscale_sim.main() == 0
    assert "recorded" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "1,2\n", "2,1\n1,1\n", "1,a\n2,b\n", "1\n2\n", "1,-1\n2,1\n"])
def test_a_file_that_is_no_load_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "load.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"load\.csv: .*expected"):
        recorded(path)
