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

Where the candidate answers alone there is nothing beside it in a window. Then the null hypothesis
is that each of its requests goes bad no more often than the stable version's did before, and

    S = r ** bad_of_candidate / (1 + p * (r - 1)) ** requests_of_candidate

has an expectation of at most 1, where ``p`` is the most that the stable version's share can be by
what was counted of it (Chernoff's bound, wrong at most ``BOUND`` of the times).

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
BOUND: Final = 0.0002
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
    return gained(weights, candidate.bad, bad, tolerance * candidate.of / stable.of, most)


def weighed_alone(
    weights: Sequence[float], candidate: Tally, before: Tally, tolerance: float, most: float
) -> tuple[float, ...]:
    """The same where the candidate answers alone; ``before``: what the stable version did."""
    share = at_most(before)
    if not candidate.of or share >= 1:
        return tuple(weights)
    return gained(weights, candidate.bad, candidate.of, tolerance * share / (1 - share), most)


def at_most(seen: Tally) -> float:
    """The largest share that what was seen of it does not refute; 1 where nothing was."""
    low, high = seen.share, 1.0
    for _ in range(50 if seen.of else 0):
        middle = (low + high) / 2
        if seen.of * _divergence(seen.share, middle) < -math.log(BOUND):
            low = middle
        else:
            high = middle
    return high


def _divergence(share: float, other: float) -> float:
    """Of two shares, as Kullback and Leibler have it; ``other`` is neither 0 nor 1."""
    parts = ((share, other), (1 - share, 1 - other))
    return sum(one * math.log(one / two) for one, two in parts if one > 0)


def gained(
    weights: Sequence[float], own: int, of: int, odds: float, most: float
) -> tuple[float, ...]:
    """After ``of`` draws of which ``own`` went against the candidate, each of them with ``odds`` at
    most if it is no worse."""
    share = odds / (1 + odds)
    added = [min(most, own * math.log(one) - of * math.log1p(share * (one - 1))) for one in ODDS]
    grown = [weight + gain for weight, gain in zip(weights, (*added, 0.0), strict=True)]
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
