"""Pure: what is to be expected of configurations that were not measured, from those that were.

A Gaussian process with a Matérn kernel (5/2): near configurations do nearly alike. How near is near
for each setting, and how much of what was measured is noise, is what makes the measurements most
likely.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
SCALES: Final = (0.35, 0.8, 2.5)  # of each setting's range: a step matters, some, hardly
NOISES: Final = (
    0.02,
    0.05,
)  # of what was measured, as a share; with more, what differs is smoothed away
SPREAD: Final = 0.35  # by which configurations differ where nothing else is known, as a logarithm


@dataclass(frozen=True, slots=True)
class Expected:
    """Logarithms of values."""

    mean: Array
    deviation: Array


def expect(
    known: Sequence[Sequence[float]], logs: Sequence[float], wanted: Sequence[Sequence[float]]
) -> Expected:
    """Of ``wanted`` positions, from ``logs`` at ``known`` ones; one of these at least."""
    at, asked, seen = np.asarray(known), np.asarray(wanted), np.asarray(logs)
    centre = float(np.mean(seen))
    height = max(SPREAD, float(np.std(seen)))
    left = seen - centre
    best: tuple[float, tuple[float, ...], float] | None = None
    for scales in itertools.product(SCALES, repeat=at.shape[1]):
        shape = _kernel(at, at, scales) * height**2
        for noise in NOISES:
            likelihood = _likelihood(shape + np.eye(len(at)) * noise**2, left)
            # a preference for settings that matter some keeps few measurements from deciding
            likelihood -= 0.5 * sum(abs(math.log(scale / SCALES[1])) for scale in scales)
            if best is None or likelihood > best[0]:
                best = (likelihood, scales, noise)
    assert best is not None  # noqa: S101 - there are scales
    _, scales, noise = best
    covariance = _kernel(at, at, scales) * height**2 + np.eye(len(at)) * noise**2
    across = _kernel(asked, at, scales) * height**2
    solved = np.linalg.solve(covariance, across.T)
    mean = centre + left @ solved
    variance = height**2 - np.einsum("ij,ji->i", across, solved)
    return Expected(mean, np.sqrt(np.maximum(variance, 1e-12)))


def improvement(expected: Expected, best: float) -> Array:
    """Expected improvement over ``best``, as a logarithm."""
    z = (expected.mean - best) / expected.deviation
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    return np.asarray((expected.mean - best) * below + expected.deviation * density)


def _kernel(left: Array, right: Array, scales: Sequence[float]) -> Array:
    apart = (left[:, None, :] - right[None, :, :]) / np.asarray(scales)
    far = math.sqrt(5) * np.sqrt(np.sum(apart**2, axis=2))
    return np.asarray((1 + far + far**2 / 3) * np.exp(-far))


def _likelihood(covariance: Array, left: Array) -> float:
    factor = np.linalg.cholesky(covariance)
    solved = np.linalg.solve(factor, left)
    return float(-0.5 * solved @ solved - np.sum(np.log(np.diag(factor))))
