"""How sure it is that the candidate does worse: a sequential test that may be looked at any time.

Within one window the gateway's lot gives each request to the candidate or to the stable version. If
the candidate is no worse, it makes no difference to whether a request goes bad: of ``bad`` requests
in the window each is the candidate's as often as requests are, which is its share ``w``. (However
many go bad in all may change from window to window: a fault that hits both says nothing.) For an
odds ratio ``r`` above 1

    S = r ** bad_of_candidate / (1 + w * (r - 1)) ** bad

then has an expectation of at most 1: it is the likelihood ratio of two binomial distributions, and
drawing without replacement is less spread than with it (W. Hoeffding, "Probability inequalities for
sums of bounded random variables", JASA 58, 1963, theorem 4). Products of such numbers over windows,
and mixtures of products over several ``r``, are test martingales: by Ville's inequality they ever
exceed 1/a with a probability of at most a, whenever and however often somebody looks (the mixture
sequential probability ratio test; see A. Ramdas, P. Grunwald, V. Vovk, G. Shafer, "Game-theoretic
statistics and safe anytime-valid inference", Statistical Science 38, 2023).

After each window a small share of all is dealt out anew (the fixed share of M. Herbster and
M. Warmuth, "Tracking the best expert", Machine Learning 32, 1998), which keeps the sum: else a
candidate that did well for an hour had to do badly for as long before it was noticed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# Odds against the stable version. What is less than about one and a half times as much is no
# concern: the least of them loses by it.
ODDS: Final = (2.0, 6.0, 12.0, 30.0)
PRIOR: Final = (0.05, 0.4, 0.4, 0.1)
KEPT: Final = 0.05  # says nothing ever: so much is left, whatever the others lose
DEALT: Final = 0.001
START: Final = tuple(math.log(share) for share in (*PRIOR, KEPT))


@dataclass(frozen=True, slots=True)
class Tally:
    """Of one arm, ``bad`` of ``of`` requests."""

    bad: int = 0
    of: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.bad + other.bad, self.of + other.of)

    @property
    def share(self) -> float:
        return self.bad / self.of if self.of else 0.0


NOTHING: Final = Tally()


def weighed(
    weights: Sequence[float], candidate: Tally, stable: Tally, tolerance: float, most: float
) -> tuple[float, ...]:
    """Logarithms after one more window, of which the sum is what is known.

    ``tolerance``: odds ratio that nobody minds. ``most``: what one window may add, as a logarithm.
    """
    bad = candidate.bad + stable.bad
    if not bad or not candidate.of or not stable.of:
        return tuple(weights)
    odds = tolerance * candidate.of / stable.of
    share = odds / (1 + odds)
    gained = [
        min(most, candidate.bad * math.log(one) - bad * math.log1p(share * (one - 1)))
        for one in ODDS
    ]
    grown = [weight + gain for weight, gain in zip(weights, (*gained, 0.0), strict=True)]
    whole = _sum(grown) + math.log(DEALT)
    kept = math.log1p(-DEALT)
    return tuple(_sum((one + kept, whole + first)) for one, first in zip(grown, START, strict=True))


def confidence(weights: Sequence[float]) -> float:
    """That the candidate does worse, 0 to 1: who acts at ``c`` is wrong at most ``1 - c`` of the
    times, whenever they look."""
    return max(0.0, -math.expm1(-_sum(weights)))


def _sum(logarithms: Sequence[float]) -> float:
    largest = max(logarithms)
    return largest + math.log(sum(math.exp(one - largest) for one in logarithms))
