"""Reads of single replicas: raw samples alone know them, so nothing older than these is answered.

Of the samples in a bucket only the last is read: counters only rise, so that it says what the
others said, and six hours of twelve replicas stay a few thousand rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db.models import ExpressionWrapper, F, FloatField, Max, QuerySet
from django.db.models.functions import Ceil

from controlplane.metrics import series
from controlplane.metrics.formulas import OF_REPLICAS, Value
from controlplane.metrics.models import ReplicaSample
from controlplane.metrics.selectors.history import History, Query
from controlplane.metrics.types import KEEP_SAMPLES_S

MOST_REPLICAS: Final = 12  # no more lines are told apart
REPLICA: Final = "replica:"
PRESENT_S: Final = 30.0  # sampled so short before the end: there until then


@dataclass(frozen=True, slots=True)
class Seen:
    """A replica, and when it was sampled last in the time asked for (Unix seconds)."""

    deployment: str
    replica_id: str
    last: float

    @property
    def scope(self) -> str:
        return f"{REPLICA}{self.deployment}/{self.replica_id}"


@dataclass(frozen=True, slots=True)
class ReplicaHistory:
    """``left_out`` replicas were sampled too, and are not among the series."""

    found: History
    left_out: int = field(default=0)


def chosen(seen: Iterable[Seen], end: float, most: int = MOST_REPLICAS) -> list[Seen]:
    """At most so many: first those that are there at the end, then those that went last.

    In an order that is the same at the next call, or lines would come and go under the reader.
    """

    def rank(one: Seen) -> tuple[float, str, str]:
        present = one.last > end - PRESENT_S
        return (0.0 if present else end - one.last, one.deployment, one.replica_id)

    kept = sorted(seen, key=rank)[:most]
    return sorted(kept, key=lambda one: (one.deployment, one.replica_id))


def replica_history(
    endpoint: str,
    query: Query,
    *,
    deployment: str = "",
    node: str = "",
    now: float,
    metrics: Iterable[str] = (),
) -> ReplicaHistory:
    """Series ``<metric>.replica:<deployment>/<id>``; ``metrics``: of ``OF_REPLICAS``, default all.

    What lies further back than raw samples are kept has no series.
    """
    # why the time asked for sets the width: a range of a day has the buckets of a day here, too
    step_s, kept_from = query.bucket_s, now - KEEP_SAMPLES_S
    times = [t for t in query.times if t > kept_from]
    if not times:
        return ReplicaHistory(_columns([], [], [], step_s))
    rows = ReplicaSample.objects.filter(
        endpoint=endpoint,
        at__gt=max(kept_from, times[0] - step_s - series.MEAN_LOOKBACK_S),
        at__lte=min(times[-1], now),
    ).order_by()
    if deployment:
        rows = rows.filter(deployment=deployment)
    if node:
        rows = rows.filter(node=node)
    seen = _seen(rows)
    shown = chosen(seen, min(times[-1], now))
    sources = {
        f"{REPLICA}{owner}/{replica_id}": series.source([made])
        for (owner, replica_id), made in series.tracks(_thinned(rows, shown, step_s)).items()
    }
    wanted = [name for name in OF_REPLICAS if name in set(metrics)] or list(OF_REPLICAS)
    keys = [f"{metric}.{one.scope}" for one in shown for metric in wanted]
    found = [series.values(sources, keys, t, step_s=step_s) for t in times]
    values = [[row[index] for row in found] for index in range(len(keys))]
    return ReplicaHistory(_columns(keys, times, values, step_s), len(seen) - len(shown))


def _seen(rows: QuerySet[ReplicaSample]) -> list[Seen]:
    groups = rows.values_list("deployment", "replica_id").annotate(last=Max("at"))
    return [Seen(*group) for group in groups]


def _thinned(
    rows: QuerySet[ReplicaSample], shown: Sequence[Seen], step_s: float
) -> Iterable[series.Sample]:
    """The last sample of each replica in each bucket, in the order in which they came."""
    bucket = ExpressionWrapper(F("at") / step_s, output_field=FloatField())
    newest = (
        rows.filter(replica_id__in=[one.replica_id for one in shown])
        .annotate(bucket=Ceil(bucket))
        .values("replica_id", "bucket")
        .annotate(newest=Max("id"))
        .values("newest")
    )
    kept = ReplicaSample.objects.filter(id__in=newest).order_by("pk")
    return kept.values_list("data", flat=True).iterator()


def _columns(keys: list[str], t: list[float], v: list[list[Value]], step_s: float) -> History:
    return History(keys=keys, t=t, v=v, low=[], high=[], step_s=step_s, resolution="samples")
