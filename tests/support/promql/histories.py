"""Made histories of an endpoint: what gateways told of it, and what Prometheus scraped meanwhile.

``oracle.py`` asks a real Prometheus about them; its answers are kept in ``answers.json``, and tests
hold what the product says of the same samples against them.
"""

import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from controlplane.metrics.formulas import CLASSES
from controlplane.metrics.histogram import within
from wire.samples import GatewaySample

START: Final = 1_767_571_200.0  # 2026-01-05, midnight: a whole hour, as roll-ups have them
MINUTE: Final = 60.0
HOUR: Final = 3600.0
BOUND: Final = 0.25
QUICK, SLOW = 150, 190  # buckets below the bound and above it
TARGETS: Final = {"availability": 99.0, "latency": 95.0}
WINDOWS: Final = {"5m": 300, "30m": 1800, "1h": 3600, "6h": 21_600, "3d": 259_200}
DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "alerts.md"
Series = tuple[str, tuple[tuple[str, str], ...]]  # name, labels


def expression(kind: str, endpoint: str, window: str) -> str:
    """As docs/alerts.md has it: of an hour, of the endpoint ``quote`` and of targets of its own."""
    block = DOCUMENT.read_text().partition("```promql\n")[2].partition("```")[0]
    availability, latency = block.split("\n\n")
    written = latency if kind == "latency" else availability
    of, _, budget = written.rpartition(" / ")
    assert float(budget) < 1, f"{budget!r} is no budget"
    asked = of.replace('"quote"', f'"{endpoint}"').replace("[1h]", f"[{window}]")
    return f"{asked} / {round(1 - TARGETS[kind] / 100, 9)}"


@dataclass(frozen=True, slots=True)
class History:
    """``scrapes`` and ``moments`` are Unix seconds, in order; of the latter figures are asked.
    ``forgotten``: when the database of metrics was lost, with all counters. ``back``: when it was
    put back, and to what moment."""

    name: str
    samples: Sequence[GatewaySample]
    scrapes: Sequence[float]
    moments: Sequence[float]
    forgotten: float | None = None
    back: tuple[float, float] | None = None

    @property
    def endpoint(self) -> str:
        return f"quote-{self.name}"

    @property
    def lost_at(self) -> float | None:
        """When what was counted went away, all of it or what came after ``kept_until``."""
        return self.back[0] if self.back else self.forgotten

    @property
    def kept_until(self) -> float:
        return self.back[1] if self.back else 0.0

    def scraped(self) -> Iterator[tuple[float, Mapping[Series, float]]]:
        """What each scrape found. What comes later than a scrape is in the next."""
        waiting = deque(sorted(self.samples, key=lambda one: one.at))
        counted, kept = Counters(self.endpoint), Counters(self.endpoint)
        whole = self.lost_at is None
        for at in self.scrapes:
            while waiting and waiting[0].at <= at:
                one = waiting.popleft()
                if self.lost_at is not None and not whole and one.at > self.lost_at:
                    counted, whole = kept, True
                counted.add(one)
                if one.at <= self.kept_until:
                    kept = counted.copy()
            yield at, counted.series()


@dataclass(slots=True)
class Counters:
    """Of an endpoint, by deployment, as ``controlplane.metrics.gateway_totals`` exports them; that
    it does so is a test of its own."""

    endpoint: str
    classes: dict[str, Counter[str]] = field(default_factory=dict)
    quick: Counter[str] = field(default_factory=Counter)
    timed: Counter[str] = field(default_factory=Counter)

    def add(self, one: GatewaySample) -> None:
        self.classes.setdefault(one.deployment, Counter()).update(one.status_classes)
        self.quick[one.deployment] += within(one.histogram, BOUND)
        self.timed[one.deployment] += sum(one.histogram.values())

    def copy(self) -> "Counters":
        classes = {name: Counter(counted) for name, counted in self.classes.items()}
        return Counters(self.endpoint, classes, Counter(self.quick), Counter(self.timed))

    def series(self) -> dict[Series, float]:
        found: dict[Series, float] = {}
        for name, classes in self.classes.items():
            labels = (("deployment", name), ("endpoint", self.endpoint))
            for kind in CLASSES:
                key = ("shoal_gateway_answers_total", (*labels, ("status_class", kind)))
                found[key] = classes[kind]
            seconds = "shoal_gateway_request_seconds"
            found[f"{seconds}_bucket", (*labels, ("le", "0.25"))] = self.quick[name]
            found[f"{seconds}_count", labels] = self.timed[name]
        return found


def sample(
    at: float, good: int, bad: int, slow: int = 0, *, deployment: str = "blue", width: float = 2.0,
    refused: int = 0,
) -> GatewaySample:  # fmt: skip
    """``slow`` of all that were answered took longer than the bound."""
    total = good + bad + refused
    classes = {"2xx": good, "4xx": refused, "5xx": bad}
    histogram = {str(QUICK): total - slow, str(SLOW): slow}
    return GatewaySample(
        "quote", deployment, at, width, total,
        {name: count for name, count in classes.items() if count},
        {bucket: count for bucket, count in histogram.items() if count},
    )  # fmt: skip


def _every(begin: float, end: float, step: float) -> list[float]:
    return [begin + index * step for index in range(int((end - begin) / step) + 1)]


def _traffic(
    rng: random.Random, begin: float, end: float, *, each: float = 10.0, deployment: str = "blue",
    fails: Callable[[float], float] = lambda at: 0.004,
) -> list[GatewaySample]:  # fmt: skip
    """Requests come unevenly; of each a share fails, and one in fifty is slow."""
    found = []
    for at in _every(begin + each / 2, end - each / 2, each):
        asked = rng.randrange(5, 40)
        bad = sum(rng.random() < fails(at) for _ in range(asked))
        slow = sum(rng.random() < 0.02 for _ in range(asked))
        found.append(sample(at, asked - bad, bad, slow, deployment=deployment, width=each))
    return found


def steady() -> History:
    """Two deployments and what the gateway refused, at whole minutes and between them."""
    rng, end = random.Random(1), START + 8 * HOUR
    samples = [
        *_traffic(rng, START, end, each=30.0),
        *_traffic(rng, START, end, each=30.0, deployment="green"),
        *(sample(at, 0, 0, refused=3, deployment="") for at in _every(START, end, 300.0)),
    ]
    moments = [START + 7 * HOUR, START + 7 * HOUR + 40 * MINUTE, START + 7.5 * HOUR + 37.0]
    return History("steady", samples, _every(START, end, 15.0), moments)


def outage() -> History:
    """All fails for four minutes, after which it is whole again."""
    rng, end, begin = random.Random(2), START + 3 * HOUR, START + 2 * HOUR
    fails = lambda at: 1.0 if begin <= at < begin + 4 * MINUTE else 0.0  # noqa: E731
    moments = [begin + minutes * MINUTE for minutes in (1, 2.6, 3, 5, 8, 20, 59)]
    samples = _traffic(rng, START, end, fails=fails)
    return History("outage", samples, _every(START, end, 15.0), moments)


def first_failure() -> History:
    """A deployment that never failed answers with 5xx for the first time."""
    rng, end, begin = random.Random(3), START + 2 * HOUR, START + 1.5 * HOUR
    samples = [
        *_traffic(rng, START, begin, fails=lambda at: 0.0),
        *_traffic(rng, begin, end, fails=lambda at: 0.3),
    ]
    moments = [begin - MINUTE, begin + MINUTE, begin + 4 * MINUTE]
    return History("first-failure", samples, _every(START, end, 15.0), moments)


def newborn() -> History:
    """A second deployment is there from some minute on, and worse."""
    rng, end, begin = random.Random(4), START + 2.5 * HOUR, START + 1.5 * HOUR
    samples = [
        *_traffic(rng, START, end),
        *_traffic(rng, begin, end, deployment="green", fails=lambda at: 0.2),
    ]
    moments = [begin + minutes * MINUTE for minutes in (2, 5, 20, 45)]
    return History("newborn", samples, _every(START, end, 15.0), moments)


def unscraped() -> History:
    """Prometheus was away for twenty minutes, in ten of which half of the requests failed."""
    rng, end, begin = random.Random(5), START + 3 * HOUR, START + 1.5 * HOUR
    fails = lambda at: 0.5 if begin + 5 * MINUTE <= at < begin + 15 * MINUTE else 0.0  # noqa: E731
    scrapes = [
        at for at in _every(START, end, 15.0) if not begin < at < begin + 20 * MINUTE
    ]  # fmt: skip
    moments = [begin + minutes * MINUTE for minutes in (-1, 21, 26, 60)]
    return History("unscraped", _traffic(rng, START, end, fails=fails), scrapes, moments)


def gateways() -> History:
    """One of two gateways is away for a quarter of an hour, and begins anew."""
    rng, end, begin = random.Random(6), START + 2 * HOUR, START + HOUR
    other = [
        one
        for one in _traffic(rng, START + 3.0, end, fails=lambda at: 0.1)
        if not begin <= one.at < begin + 15 * MINUTE
    ]
    moments = [begin + minutes * MINUTE for minutes in (5, 20, 40)]
    samples = [*_traffic(rng, START, end), *other]
    return History("gateways", samples, _every(START, end, 15.0), moments)


def lost() -> History:
    """The database of metrics is lost, with all that was counted until then."""
    rng, end, at = random.Random(7), START + 3 * HOUR, START + 1.5 * HOUR
    fails = lambda when: 0.1 if when < at else 0.02  # noqa: E731
    moments = [at + minutes * MINUTE for minutes in (2, 10, 70)]
    samples = _traffic(rng, START, end, fails=fails)
    return History("lost", samples, _every(START, end, 15.0), moments, forgotten=at)


def put_back() -> History:
    """It is put back as it was half an hour ago: counters go back, and not to zero."""
    rng, end, at = random.Random(8), START + 4 * HOUR, START + 2 * HOUR
    fails = lambda when: 0.1 if when < at else 0.02  # noqa: E731
    moments = [at + minutes * MINUTE for minutes in (2, 10, 70)]
    samples = _traffic(rng, START, end, fails=fails)
    back = (at, at - 30 * MINUTE)
    return History("put-back", samples, _every(START, end, 15.0), moments, back=back)


def quiet() -> History:
    """Nobody asks any more."""
    rng, end = random.Random(9), START + HOUR
    scrapes = _every(START, end + HOUR, 15.0)
    moments = [end + minutes * MINUTE for minutes in (2, 10, 50)]
    return History("quiet", _traffic(rng, START, end), scrapes, moments)


def days() -> History:
    """Four days, an hour of trouble in one of them; the product goes by the hour there."""
    rng, end, begin = random.Random(10), START + 100 * HOUR, START + 50 * HOUR
    fails = lambda at: 0.3 if begin <= at < begin + HOUR else 0.004  # noqa: E731
    moments = [START + 80 * HOUR, START + 98 * HOUR, START + 98 * HOUR + 20 * MINUTE]
    samples = _traffic(rng, START, end, each=900.0, fails=fails)
    return History("days", samples, _every(START, end, 60.0), moments)


HISTORIES: Final[Mapping[str, History]] = {
    one.name: one
    for one in (
        steady(), outage(), first_failure(), newborn(), unscraped(), gateways(), lost(),
        put_back(), quiet(), days(),
    )
}  # fmt: skip
