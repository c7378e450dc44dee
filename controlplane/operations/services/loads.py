"""What the replicas of a deployment carry, from their samples and their machines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controlplane.autoscaling import STALE_S, Load
from controlplane.deployments.models import Replica
from controlplane.metrics import series, stored
from controlplane.metrics.counters import START, Track

WIDTH_S = 2.0  # of the window, at least
REFUSED = "failure.REJECTED"
DONE = ("success", "failure")


@dataclass(frozen=True, slots=True)
class Pace:
    """``sample_s``: between two samples of a replica, by the size of the fleet."""

    sample_s: float

    @property
    def width_s(self) -> float:
        return max(WIDTH_S, 1.5 * self.sample_s)

    @property
    def fresh_s(self) -> float:
        return max(STALE_S, 3 * self.sample_s)

    @property
    def lookback_s(self) -> float:
        """Samples so old may still be the one to count from."""
        return self.width_s + self.fresh_s


def load_of(
    tracks: Mapping[str, Track], serving: Iterable[Replica], now: float, pace: Pace
) -> Load | None:
    """``serving``: rows with their node and revision; None where none of them was sampled."""
    rows = {row.pk: row for row in serving}
    own = {key: one for key, one in tracks.items() if key in rows}
    source = series.source(own.values())
    window = series.LiveWindow(source, now, pace.width_s)
    if not window.spans:
        return None
    refused = window.rate(REFUSED) or 0.0
    answered = (window.rate("success") or 0.0) + (window.rate("failure") or 0.0) - refused
    waiting = sum(one.gauges[span[1]].get("pending", 0.0) for one, span in window.spans)
    queued, whole = window.rate("queue_us") or 0.0, window.rate("request_us") or 0.0
    working = window.rate("busy_us") or 0.0
    instances = window.gauge("instances")
    return Load(
        at=max(one.at[span[1]] for one, span in window.spans),
        fresh_s=pace.fresh_s,
        serving=len(rows),
        sampled=len(window.spans),
        # why the larger: requests of minutes are counted when they end, executions as they go on
        in_flight=max(whole - queued, working) / 1e6 + waiting,
        waiting=waiting,
        queued=queued / 1e6,
        growth=sum(_growth(one, span) for one, span in window.spans),
        refused=refused,
        requests_per_second=answered,
        queue_ms=_queue_ms(window, waiting + refused),
        cpu=_cpu(window, own, rows),
        gpu=_gpu(rows.values()),
        busy=working / 1e6 / instances if instances else None,
        served=sum(
            one.sums[last].get(name, 0.0) for one, (_, last) in window.spans for name in DONE
        ),
    )


def load_of_minute(at: float, data: stored.Data, processors: int) -> Load | None:
    """The means of a rolled-up minute. ``processors``: of each replica, 0: not known.

    Whatever depends on how many replicas there were is left out: a roll-up does not know it.
    """
    window = stored.StoredWindow(data)
    done = window.rate("success")
    if done is None:
        return None
    refused = window.rate(REFUSED) or 0.0
    waiting = window.gauge("pending") or 0.0
    working = (window.rate("request_us") or 0.0) - (window.rate("queue_us") or 0.0)
    return Load(
        at=at,
        serving=1,
        sampled=1,
        in_flight=max(working, window.rate("busy_us") or 0.0) / 1e6 + waiting,
        waiting=waiting,
        refused=refused,
        requests_per_second=done + (window.rate("failure") or 0.0) - refused,
        cpu=(window.rate("cpu_s") or 0.0) / processors if processors else None,
    )


def processors_of(row: Replica) -> int:
    """That one replica may use: its instance type's, or all of its node's; 0: not known."""
    kind = row.revision.instance_type
    return (kind.cpu_count if kind else 0) or int(row.node.info.get("cpu_count", 0))


def _growth(one: Track, span: tuple[int, int]) -> float:
    base, last = span
    before = 0.0 if base == START else one.gauges[base].get("pending", 0.0)
    return (one.gauges[last].get("pending", 0.0) - before) / one.seconds(span)


def _queue_ms(window: series.LiveWindow, held: float) -> float | None:
    """Nobody waited where nobody came; where none was answered of those that did, who knows."""
    done = window.total("success")
    if done:
        return window.total("queue_us") / done / 1000
    return None if held else 0.0


def _cpu(
    window: series.LiveWindow, own: Mapping[str, Track], rows: Mapping[str, Replica]
) -> float | None:
    """Sum over replicas of the share of its processors that each uses."""
    keys = {id(one): key for key, one in own.items()}
    total = 0.0
    for one, span in window.spans:
        count = processors_of(rows[keys[id(one)]])
        if not count:
            return None
        total += one.increase("cpu_s", span) / one.seconds(span) / count
    return total


def _gpu(rows: Iterable[Replica]) -> float | None:
    """Of GPUs that several replicas use each counts once: it is no busier for being shared."""
    used: dict[str, float] = {}
    for row in rows:
        known = {card["uuid"]: card.get("utilization") for card in row.node.info.get("gpus", [])}
        cards = known if row.gpus is None else row.gpus
        if not cards or any(known.get(uuid) is None for uuid in cards):
            return None
        used |= {uuid: float(known[uuid]) / len(cards) for uuid in cards}
    return sum(used.values())
