"""Loads for the simulator: made ones by seed, and recorded ones from a file."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

Rates = npt.NDArray[np.float64]
STEP_S = 2.0
MINUTES = 30


@dataclass(frozen=True, slots=True)
class Course:
    """``rates``: requests/s that come, one for each ``STEP_S``. ``constant``: stretches in which
    the rate behind them stays the same, as (first, end) steps. ``turning``: the rate behind them,
    where it rises and falls slowly enough to be followed. ``closed``: ``rates`` are callers
    instead, each of whom has one request under way at all times."""

    kind: str
    rates: Rates
    constant: tuple[tuple[int, int], ...] = ()
    closed: bool = False
    turning: Rates | None = None


def made(rng: np.random.Generator) -> Course:
    """One of each kind in turn is drawn; what arrives is Poisson of its rate."""
    kind = list(KINDS)[int(rng.integers(len(KINDS)))]
    steps = int(MINUTES * 60 / STEP_S)
    base = float(10 ** rng.uniform(0.3, 3))  # 2 to 1000 requests/s
    means, constant = KINDS[kind](rng, steps, base)
    if kind in CLOSED:
        return Course(kind, np.round(means), constant, closed=True)
    turning = means if kind in TURNING else None
    return Course(kind, rng.poisson(means * STEP_S) / STEP_S, constant, turning=turning)


def recorded(path: Path) -> Course:
    """A CSV file with a line for each time: Unix seconds, requests/s; a first line of words is
    left out. Times between are filled with the one before. Raises ValueError."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    if rows and not _is_number(rows[0][0]):
        rows = rows[1:]
    if len(rows) < 2:
        raise ValueError(f"{path}: {len(rows)} lines, expected two or more of `seconds,requests/s`")
    try:
        told = np.array([[float(row[0]), float(row[1] or 0)] for row in rows])
    except (IndexError, ValueError) as error:
        raise ValueError(f"{path}: {error}, expected lines of `seconds,requests/s`") from error
    if (np.diff(told[:, 0]) <= 0).any() or (told[:, 1] < 0).any():
        raise ValueError(f"{path}: expected times that rise, and rates of 0 or more")
    times = np.arange(told[0, 0], told[-1, 0], STEP_S)
    return Course("recorded", told[np.searchsorted(told[:, 0], times, side="right") - 1, 1])


def _is_number(text: str) -> bool:
    return text.strip().replace(".", "", 1).isdigit()


Shape = tuple[Rates, tuple[tuple[int, int], ...]]


def _constant(rng: np.random.Generator, steps: int, base: float) -> Shape:
    del rng
    return np.full(steps, base), ((0, steps),)


def _noisy(rng: np.random.Generator, steps: int, base: float) -> Shape:
    """The rate itself wavers by up to a fifth, each time for some seconds."""
    wave, noise = np.zeros(steps), rng.normal(0, 1, steps)
    for index in range(1, steps):
        wave[index] = 0.7 * wave[index - 1] + 0.3 * noise[index]
    return base * np.clip(1 + 0.1 * wave / max(float(wave.std()), 1e-9), 0.8, 1.2), ((0, steps),)


def _steps(rng: np.random.Generator, steps: int, base: float) -> Shape:
    """Three stretches: as it was, up to ten times that, back."""
    edges = (0, steps // 4, steps * 5 // 8, steps)
    times = (1.0, float(rng.uniform(2, 10)), float(rng.uniform(0.5, 1)))
    means = np.concatenate(
        [
            np.full(end - first, base * by)
            for first, end, by in zip(edges, edges[1:], times, strict=False)
        ]
    )
    return means, tuple(pairwise(edges))


def _bursts(rng: np.random.Generator, steps: int, base: float) -> Shape:
    """Over before replicas that are asked for are there: nothing says how often one may turn."""
    means = np.full(steps, base)
    for _ in range(int(rng.integers(2, 8))):
        first = int(rng.integers(steps))
        means[first : first + int(rng.integers(2, 30))] *= float(rng.uniform(2, 6))
    return means, ()


def _daily(rng: np.random.Generator, steps: int, base: float) -> Shape:
    """A day in half an hour."""
    angle = np.linspace(0, 2 * np.pi, steps) + float(rng.uniform(0, 2 * np.pi))
    return base * (1 + float(rng.uniform(0.3, 0.9)) * np.sin(angle)), ()


def _idle(rng: np.random.Generator, steps: int, base: float) -> Shape:
    """Nothing, then something, then nothing."""
    first, end = sorted(int(one) for one in rng.integers(1, steps, 2))
    means = np.zeros(steps)
    means[first:end] = base
    return means, ((0, first), (first, end), (end, steps))


def _callers(rng: np.random.Generator, steps: int, base: float) -> Shape:
    """One to sixty, and other numbers of them later."""
    return _steps(rng, steps, min(1 + base / 16, 60.0))


def _few(rng: np.random.Generator, steps: int, base: float) -> Shape:
    """As many as there are, all the time."""
    del base
    return np.full(steps, float(rng.integers(1, 9))), ((0, steps),)


KINDS: dict[str, Callable[[np.random.Generator, int, float], Shape]] = {
    "constant": _constant,
    "noisy": _noisy,
    "steps": _steps,
    "bursts": _bursts,
    "daily": _daily,
    "idle": _idle,
    "callers": _callers,
    "loop": _few,
}
CLOSED = ("callers", "loop")
TURNING = ("daily",)
