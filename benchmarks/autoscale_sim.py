"""``make autoscale-sim``: the autoscaler's decision against made and recorded loads, seed by seed.

Each seed draws a load, a machine, a policy and which samples are lost; the decision is the very
function that acts on deployments. Exit 1 where one of them oscillated.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.autoscale_loads import STEP_S, Course, Rates, made, recorded
from benchmarks.autoscale_plant import Machine, Plant
from controlplane.autoscaling import Load, Policy, Side, State, Targets, decide

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
MOST = 1000
SEEDS = 1000


@dataclass(frozen=True, slots=True)
class Run:
    """``counts``: replicas asked for, one a step; ``ideal``: that the load's rate needs by the
    target, knowing all. ``oscillations``: the counts of each stretch of one rate in which it went
    one way, back, and that way again; of a rate that turns, all of them where they turned more
    often than that and one correction. ``judged``: whether the load says how often one may turn."""

    seed: int
    kind: str
    target: str
    counts: list[int]
    ready: list[int]
    ideal: list[int]
    waited: float  # of all requests, the share that found more waiting than a second's work
    oscillations: list[list[int]]
    judged: bool


def drawn(seed: int) -> Run:
    rng = np.random.default_rng(seed)
    course = made(rng)
    machine = machine_drawn(rng)
    policy = policy_drawn(rng, machine)
    return simulated(seed, course, machine, policy, lost_drawn(rng, len(course.rates)))


def machine_drawn(rng: np.random.Generator) -> Machine:
    return Machine(
        service_s=float(10 ** rng.uniform(-2.3, -0.3)),  # 5 to 500 ms
        slots=int(rng.choice([1, 1, 2, 4, 8])),
        start_s=float(rng.choice([1.0, 2.0, 5.0, 20.0, 60.0])),
        pause_s=float(10 ** rng.uniform(-3, -1.5)),  # 1 to 30 ms
    )


def policy_drawn(rng: np.random.Generator, machine: Machine) -> Policy:
    """Targets that a replica can keep, and windows from quick to the defaults."""
    share = float(rng.uniform(0.5, 0.85))
    goals = {
        # as many as it computes at a time, or more, are what people say
        "in_flight": machine.slots * (share if rng.random() < 0.5 else float(rng.choice([1, 2]))),
        "requests_per_second": machine.rate * share,
        "cpu_percent": 100 * share,
        "queue_ms": machine.service_s * 1000 * float(rng.uniform(0.2, 2)),
    }
    names = list(goals)
    name = names[int(rng.integers(len(names)))]
    goal = goals[name]
    # why spawned: what is drawn after it, and with it each seed's figures, stay as they were
    if name == "cpu_percent" and rng.spawn(1)[0].random() < 0.5:
        name = "gpu_percent"
    policy = Policy(max=MOST, targets=Targets(**{name: goal}))
    if rng.random() < 0.5:
        return policy
    return replace(
        policy,
        up=Side(int(rng.choice([0, 15, 30])), int(rng.choice([0, 15, 60])), None),
        down=Side(int(rng.choice([120, 180, 300])), int(rng.choice([0, 60])), None),
    )


def lost_drawn(rng: np.random.Generator, steps: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Steps without a sample: single ones, and once a minute or two of silence."""
    lost = rng.random(steps) < float(rng.choice([0.0, 0.02, 0.2]))
    if rng.random() < 0.3:
        first = int(rng.integers(steps))
        lost[first : first + int(rng.integers(5, 30))] = True
    return lost


def simulated(
    seed: int, course: Course, machine: Machine, policy: Policy, lost: Iterable[bool]
) -> Run:
    plant, state = Plant(machine, np.random.default_rng(seed)), State()
    counts, ready, slow = [], [], 0.0
    seen: Load | None = None
    target, goal = next(iter(policy.targets.set().items()))
    for index, (rate, silent) in enumerate(zip(course.rates, lost, strict=True)):
        come = plant.loop if course.closed else plant.step
        # a look between two, where the last one wants it
        parts = 2 if state.soon else 1
        for part in range(1, parts + 1):
            now = BEGIN + timedelta(seconds=(index - 1 + part / parts) * STEP_S)
            load = come(float(rate), now.timestamp(), STEP_S / parts)
            seen = seen if silent else load
            found = decide(policy, seen, state, plant.count, now)
            state = found.state
            if found.wanted != plant.count and not plant.changing:
                plant.scale(found.wanted, now.timestamp())
        counts.append(plant.count)
        ready.append(plant.ready)
        if plant.waiting > plant.ready * machine.rate:
            slow += float(rate)
    total = float(course.rates.sum())
    return Run(
        seed=seed,
        kind=course.kind,
        target=target,
        counts=counts,
        ready=ready,
        ideal=_ideal(course, course.rates, machine, target, goal),
        waited=slow / total if total else 0.0,
        oscillations=found_in(course, counts, machine, target, goal),
        judged=bool(course.constant) or course.turning is not None,
    )


def found_in(
    course: Course, counts: list[int], machine: Machine, target: str, goal: float
) -> list[list[int]]:
    if course.turning is None:
        return oscillations(counts, course.constant)
    ideal = _ideal(course, course.turning, machine, target, goal)
    # why two more: as at one rate it may start too many once; while the rate rises it then goes
    # down and up again
    return [path_of(counts)] if turns(counts) > turns(ideal) + 2 else []


def _ideal(course: Course, rates: Rates, machine: Machine, target: str, goal: float) -> list[int]:
    """The queue's: so many that they are busy for seven tenths of the time."""
    each = {
        "in_flight": goal / machine.service_s
        if course.closed
        else min(goal / machine.service_s, 0.85 * machine.rate),
        "requests_per_second": goal,
        "cpu_percent": machine.rate * goal / 100,
        "gpu_percent": machine.rate * goal / 100,
        "queue_ms": machine.rate * 0.7,
    }[target]
    if course.closed:  # what comes where nobody waits
        rates = rates / (machine.service_s + machine.pause_s)
    smooth = np.convolve(rates, np.ones(15) / 15, mode="same")
    return [max(1, min(MOST, int(count))) for count in np.ceil(smooth / each - 1e-9)]


def oscillations(counts: list[int], constant: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Of each stretch of one rate the counts it went through, where it turned twice or more."""
    found = []
    for first, end in constant:
        part = counts[first:end]
        if turns(part) > 1:
            found.append(path_of(part))
    return found


def path_of(counts: list[int]) -> list[int]:
    """Each count that it went to, in turn."""
    return counts[:1] + [after for before, after in pairwise(counts) if after != before]


def turns(counts: list[int]) -> int:
    """How often it went the other way."""
    rises = [after > before for before, after in pairwise(path_of(counts))]
    return sum(one != other for one, other in pairwise(rises))


def told(runs: list[Run]) -> str:
    lines = [
        f"{'load':10} {'runs':>5} {'oscillate':>10} {'over':>7} {'under':>7} {'waited > 1 s':>12}"
    ]
    for kind in sorted({run.kind for run in runs}):
        lines.append(_line(kind, [run for run in runs if run.kind == kind]))
    lines.append(_line("all", runs))
    lines += [
        "over, under: replica-hours beyond, and short of, what the target needs, of those needed;",
        "waited: share of the requests that found more than a second's work before them.",
    ]
    bad = [run for run in runs if run.oscillations]
    for run in bad[:10]:
        lines.append(f"seed {run.seed} ({run.kind}, {run.target}): {run.oscillations[0][:20]}")
    by = Counter(run.target for run in runs)
    lines.append("targets: " + ", ".join(f"{name} {count}" for name, count in sorted(by.items())))
    return "\n".join(lines)


def _line(name: str, runs: list[Run]) -> str:
    needed = sum(sum(run.ideal) for run in runs)
    pairs = [pair for run in runs for pair in zip(run.ready, run.ideal, strict=True)]
    over = sum(max(0, there - ideal) for there, ideal in pairs) / needed
    under = sum(max(0, ideal - there) for there, ideal in pairs) / needed
    waited = sum(run.waited for run in runs) / len(runs)
    judged = [run for run in runs if run.judged]
    count = f"{sum(bool(run.oscillations) for run in judged)} of {len(judged)}"
    count = count if judged else "not judged"
    return f"{name:10} {len(runs):5} {count:>10} {over:7.1%} {under:7.1%} {waited:12.2%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--recorded", type=Path, help="CSV of `seconds,requests/s`, in their place")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.recorded:
        course = recorded(options.recorded)
        runs = []
        for seed in range(min(options.seeds, 20)):
            rng = np.random.default_rng(seed)
            machine = machine_drawn(rng)
            policy, lost = policy_drawn(rng, machine), lost_drawn(rng, len(course.rates))
            runs.append(simulated(seed, course, machine, policy, lost))
    else:
        with ProcessPoolExecutor(options.workers) as pool:
            runs = list(pool.map(drawn, range(options.seeds), chunksize=25))
    print(told(runs))
    return 1 if any(run.oscillations for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
