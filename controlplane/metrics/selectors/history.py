"""Reads of the past: from raw samples while it is short and recent, else from roll-ups.

Every point stands for a bucket that ends at its time, and has the value over the bucket with the
lowest and highest in it. Times without samples are gaps.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from controlplane.metrics import formulas, series, stored
from controlplane.metrics.formulas import RATES_AT_GATEWAY, SIZED, Value
from controlplane.metrics.models import GatewaySample, ReplicaSample, RollUp
from controlplane.metrics.selectors.live import host_sources
from controlplane.metrics.types import (
    HOUR_S,
    KEEP_MINUTES_S,
    KEEP_SAMPLES_S,
    MINUTE_S,
    SAMPLE_INTERVAL_S,
    TEN_MINUTES_S,
    Scope,
)

MOST_POINTS: Final = 600
RAW_RANGE_S: Final = 3600.0  # longer ones are answered from roll-ups
STEPS_S: Final = (2, 5, 10, 15, 30, 60, 120, 300, 600, 3600, 7200, 14_400, 21_600)
FROM_HOURS_S: Final = 3600  # buckets of so much and more are made of hours
LONGEST_TAIL_S: Final = 900.0  # of raw samples that are not rolled up yet
MINUTES: Final = (MINUTE_S, TEN_MINUTES_S)  # of no time there are both
FINE_S: Final = 5.0  # within a bucket of raw samples, between moments that are compared


@dataclass(frozen=True, slots=True)
class Query:
    start: float  # Unix seconds
    end: float
    step_s: float = 0.0  # 0: the finest that gives at most MOST_POINTS

    @property
    def bucket_s(self) -> float:
        finest = max(self.step_s, (self.end - self.start) / MOST_POINTS)
        if not self.raw:
            finest = max(finest, MINUTE_S)
        return float(next((step for step in STEPS_S if step >= finest), STEPS_S[-1]))

    @property
    def raw(self) -> bool:
        """Whether raw samples answer it. Measured from ``end``: who asks late asks for the past."""
        return self.end - self.start <= RAW_RANGE_S and self.step_s < MINUTE_S

    @property
    def times(self) -> list[float]:
        """Ends of the buckets, on a grid that is the same at every call."""
        step_s = self.bucket_s
        first = math.floor(self.start / step_s) + 1
        last = math.ceil(self.end / step_s)
        return [index * step_s for index in range(first, max(first, last) + 1)][-MOST_POINTS - 1 :]


@dataclass(frozen=True, slots=True)
class History:
    """``v``, ``low`` and ``high`` hold one list per key with one value per time."""

    keys: list[str]
    t: list[float]
    v: list[list[Value]]
    low: list[list[Value]]
    high: list[list[Value]]
    step_s: float
    resolution: str  # "samples", "minutes" or "hours"


Three = tuple[list[Value], list[Value], list[Value]]


def endpoint_history(
    endpoint: str, query: Query, *, node: str = "", now: float, metrics: Iterable[str] = ()
) -> History:
    """All series of an endpoint, by the keys of the live ones; with ``metrics`` only those."""
    query = _answerable(query, now)
    whole = Scope("endpoint", endpoint, node=node)
    names = {
        scope.deployment
        for scope in _scopes_of(endpoint, query, now)
        if scope.kind == "deployment" and scope.deployment
    }
    scopes = {series.ALL: whole}
    scopes |= {name: Scope("deployment", endpoint, name, node) for name in names}
    past = _Past(query, now, endpoint=endpoint)
    hosts = {name: Scope("node", name) for name in past.nodes(whole) if node in ("", name)}
    scopes |= {f"{series.NODE}{name}": scope for name, scope in hosts.items()}
    gauges = {name: past.gauges(scope) for name, scope in hosts.items()}
    keys = series.keys(names, past.sizes(whole), gauges)
    wanted = set(metrics)
    if wanted:
        keys = [key for key in keys if series.parse(key)[0] in wanted]
    return past.answer(keys, scopes)


def scope_history(
    scopes: Sequence[Scope],
    metrics: Sequence[str],
    query: Query,
    *,
    now: float,
    since: Mapping[Scope, float] = MappingProxyType({}),
) -> History:
    """Series ``<metric>.<scope key>`` of any scopes; batch metrics for every size they saw.

    Of a scope in ``since`` nothing of before, in Unix seconds.
    """
    past = _Past(_answerable(query, now), now)
    keys = []
    begins: list[float] = []
    for scope in scopes:
        for metric in metrics:
            sizes = sorted(past.sizes(scope), key=int) if metric in SIZED else [""]
            keys += [".".join(part for part in (metric, size, scope.key) if part) for size in sizes]
            begins += [since.get(scope, 0.0)] * len(sizes)
    found = past.answer(keys, {scope.key: scope for scope in scopes})
    return _told(found, begins) if since else found


def _answerable(query: Query, now: float) -> Query:
    """In buckets as fine as what is kept of that time: of more than a week ago ten minutes."""
    if query.start >= now - KEEP_MINUTES_S:
        return query
    return replace(query, step_s=max(query.step_s, TEN_MINUTES_S))


def _told(found: History, begins: Sequence[float]) -> History:
    """With gaps in buckets that began before each key's own time."""
    hidden = [sum(end - found.step_s < begun for end in found.t) for begun in begins]
    parts = [
        [_after(count, values) for count, values in zip(hidden, of_keys, strict=True)]
        for of_keys in (found.v, found.low, found.high)
    ]
    # why not all keys: a size that was seen before would be told of by its name
    kept = [
        place
        for place, key in enumerate(found.keys)
        if series.parse(key)[0] not in SIZED or any(one is not None for one in parts[0][place])
    ]
    v, low, high = ([of_keys[place] for place in kept] for of_keys in parts)
    return replace(found, keys=[found.keys[place] for place in kept], v=v, low=low, high=high)


def _after(count: int, values: list[Value]) -> list[Value]:
    """With gaps where the first ``count`` are."""
    return [*(None for _ in range(count)), *values[count:]]


def _scopes_of(endpoint: str, query: Query, now: float) -> set[Scope]:
    """Deployments that were sampled in the time asked for."""
    since, until = query.start, query.end + query.bucket_s
    found: set[str] = set()
    for model in (ReplicaSample, GatewaySample):
        rows = model.objects.filter(endpoint=endpoint, at__gt=since, at__lte=until).order_by()
        found |= set(rows.values_list("deployment", flat=True).distinct())
    if since < now - MINUTE_S:
        prefix = Scope("deployment", endpoint).key + "/"
        kept = RollUp.objects.filter(
            scope__startswith=prefix, at__gt=since, at__lte=until, span_s__in=MINUTES
        ).order_by()
        keys = kept.values_list("scope", flat=True).distinct()
        found |= {key.removeprefix(prefix).partition("@")[0] for key in keys}
    found.discard("")
    return {Scope("deployment", endpoint, name) for name in found}


def minutes(scope: Scope, since: float, until: float) -> list[tuple[float, stored.Data | None]]:
    """One roll-up for each minute that ends in (since, until]; None where nothing was sampled."""
    first, last = math.floor(since / MINUTE_S) + 1, math.floor(until / MINUTE_S)
    times = [float(index * MINUTE_S) for index in range(first, last + 1)]
    found = dict(_kept(scope, (MINUTE_S,), since, until))
    return [(at, found.get(at)) for at in times]


def minutes_of(keys: Iterable[str], since: float, until: float) -> dict[str, list[stored.Data]]:
    """Roll-ups of the minutes that ended in (since, until], by scope key, oldest first."""
    rows = RollUp.objects.filter(
        scope__in=list(keys), span_s=MINUTE_S, at__gt=since, at__lte=until
    ).order_by("at")
    found: dict[str, list[stored.Data]] = {}
    for key, data in rows.values_list("scope", "data"):
        found.setdefault(key, []).append(data)
    return found


class _Past:
    """One query's reads, each scope read once."""

    def __init__(self, query: Query, now: float, endpoint: str = "") -> None:
        self._now, self._told = now, now - series.TOLD_AFTER_S
        self._times = query.times
        self._step_s = query.bucket_s
        self._endpoint = endpoint  # whose samples are enough
        self._raw = query.raw and query.start >= now - KEEP_SAMPLES_S
        hourly = self._step_s >= FROM_HOURS_S and not self._raw
        self._spans: tuple[int, ...] = (HOUR_S,) if hourly else MINUTES
        self._sources: dict[Scope, series.Source] = {}
        self._columns: dict[Scope, list[stored.Data | None]] = {}
        self._read: _Samples | None = None

    def answer(self, keys: list[str], scopes: dict[str, Scope]) -> History:
        places = [self._place(key, scopes) for key in keys]
        of_scope: dict[Scope, dict[tuple[str, str], Three]] = {}
        for scope in dict.fromkeys(scope for _, _, scope in places):
            wanted = [(metric, size) for metric, size, of in places if of == scope]
            of_scope[scope] = self._values(scope, wanted)
        found = [of_scope[scope][metric, size] for metric, size, scope in places]
        return History(
            keys=keys,
            t=self._times,
            v=[values for values, _, _ in found],
            low=[low for _, low, _ in found],
            high=[high for _, _, high in found],
            step_s=self._step_s,
            resolution="samples"
            if self._raw
            else ("hours" if HOUR_S in self._spans else "minutes"),
        )

    def sizes(self, scope: Scope) -> set[str]:
        if self._raw:
            return series.batch_sizes(self._source(scope))
        rows = [data for data in self._rows(scope) if data]
        return {size for data in rows for size in stored.StoredWindow(data).totals("batch")}

    def nodes(self, scope: Scope) -> set[str]:
        if self._raw:
            return {row.node for row in self._samples().replicas if row.node}
        return {node for data in self._rows(scope) if data for node in data.get("nodes", ())}

    def gauges(self, scope: Scope) -> list[str]:
        if self._raw:
            return sorted({name for one in self._source(scope).host for name in one})
        return sorted({n for data in self._rows(scope) if data for n in data.get("gauge", {})})

    def _place(self, key: str, scopes: dict[str, Scope]) -> tuple[str, str, Scope]:
        metric, size, scope = series.parse(key)
        return metric, size, scopes[scope]

    def _values(self, scope: Scope, wanted: list[tuple[str, str]]) -> dict[tuple[str, str], Three]:
        if self._raw:
            source = self._source(scope)
            return _compared(source, wanted, self._times, self._step_s, self._told)
        read = stored.reader(self._rows(scope))
        return {which: read(*which) for which in wanted}

    def _source(self, scope: Scope) -> series.Source:
        if scope not in self._sources:
            self._sources[scope] = self._samples().source(scope)
        return self._sources[scope]

    def _samples(self) -> "_Samples":
        if self._read is None:
            since = self._times[0] - self._step_s - series.LOOKBACK_S
            self._read = _Samples(self._endpoint, since, self._times[-1])
        return self._read

    def _rows(self, scope: Scope) -> list[stored.Data | None]:
        if scope not in self._columns:
            since, until = self._times[0] - self._step_s, self._times[-1]
            rows = _kept(scope, self._spans, since, until)
            if HOUR_S in self._spans:
                newest = rows[-1][0] if rows else since
                rows += _kept(scope, MINUTES, newest, until)
            newest = rows[-1][0] if rows else since
            end = min(until, self._now)
            rows += _tail(scope, max(newest, end - LONGEST_TAIL_S), end, self._told)
            self._columns[scope] = stored.columns(rows, self._times, self._step_s)
        return self._columns[scope]


class _Samples:
    """Raw samples of a stretch of time, each kind read once and when it is asked for."""

    def __init__(self, endpoint: str, since: float, until: float) -> None:
        self._endpoint, self._since, self._until = endpoint, since, until
        self._span: dict[str, Any] = {"at__gt": since, "at__lte": until}
        self._span |= {"endpoint": endpoint} if endpoint else {}
        self._hosts: dict[str, series.Source] = {}

    @cached_property
    def replicas(self) -> list[stored.Row]:
        rows = ReplicaSample.objects.filter(**self._span).order_by("pk")
        return [stored.Row(*row) for row in rows.values_list("endpoint", "node", "data")]

    @cached_property
    def gateway(self) -> list[stored.Row]:
        # why later ones: they tell of an interval that may have begun in this time
        span = {**self._span, "at__lte": self._until + series.TOLD_AFTER_S}
        rows = GatewaySample.objects.filter(**span).order_by("at")
        return [stored.Row(name, "", data) for name, data in rows.values_list("endpoint", "data")]

    def host(self, name: str) -> series.Source:
        if name not in self._hosts:
            beside = {row.node for row in self.replicas} if self._endpoint else set()
            read = host_sources({name, *beside}, self._since, self._until)
            self._hosts |= {each: read.get(each, series.Source()) for each in (name, *beside)}
        return self._hosts[name]

    def source(self, scope: Scope) -> series.Source:
        if scope.kind == "node":
            return self.host(scope.name)
        if scope.kind == "model":
            tracks = series.tracks((row.data for row in self.replicas), only=scope.name)
            return series.source(tracks.values())
        rows = [
            row.data
            for row in self.replicas
            if row.endpoint == scope.name and scope.node in ("", row.node)
        ]
        seen = [row.data for row in self.gateway if row.endpoint == scope.name and not scope.node]
        name = scope.deployment or series.ALL
        return series.sources(rows, seen).get(name, series.Source())


def _kept(
    scope: Scope, spans: tuple[int, ...], since: float, until: float
) -> list[tuple[float, stored.Data]]:
    def read(key: str) -> list[tuple[float, stored.Data]]:
        kept = RollUp.objects.filter(scope=key, span_s__in=spans, at__gt=since, at__lte=until)
        return list(kept.order_by("at").values_list("at", "data"))

    rows = read(scope.key)
    if not scope.node:
        return rows
    whole = read(Scope(scope.kind, scope.name, scope.deployment).key)
    known = {at for at, _ in rows}
    alone = [
        (at, part)
        for at, data in whole
        if at not in known and (part := stored.on_node(data, scope.node)) is not None
    ]
    return sorted([*rows, *alone], key=lambda row: row[0])


def _tail(scope: Scope, since: float, until: float, told: float) -> list[tuple[float, stored.Data]]:
    """What is not rolled up yet, minute by minute; the last one may be short, of what gateways have
    told of until then."""
    first = math.floor(since / MINUTE_S) * MINUTE_S
    endpoint = scope.name if scope.kind in ("endpoint", "deployment") else ""
    samples = _Samples(endpoint, first - MINUTE_S, until)
    of = samples.source(scope)
    rows = []
    for start in range(int(first), math.ceil(min(until, told)), MINUTE_S):
        if data := stored.rolled(of, float(start), float(start + MINUTE_S), told):
            if scope.kind != "node":
                data["nodes"] = sorted({row.node for row in samples.replicas if row.node})
            rows.append((float(start + MINUTE_S), data))
    return [row for row in rows if row[0] > since]


def _compared(
    of: series.Source,
    wanted: list[tuple[str, str]],
    times: Sequence[float],
    step_s: float,
    told: float,
) -> dict[tuple[str, str], Three]:
    """Values over buckets of raw samples; wide buckets are also looked at in parts.

    Gateways have told of everything until ``told``: of the rest of a bucket there may be more.
    """
    parts = max(1, int(step_s // FINE_S))
    fine_s = step_s / parts
    found: dict[tuple[str, str], Three] = {which: ([], [], []) for which in wanted}
    for t in times:
        whole = series.windows(of, t, step_s if step_s > SAMPLE_INTERVAL_S else 0.0)
        fine = [series.windows(of, t - index * fine_s, fine_s) for index in range(parts)]
        for (metric, size), (values, low, high) in found.items():
            if t > told and metric in RATES_AT_GATEWAY:
                for column in (values, low, high):
                    column.append(None)
                continue
            value = formulas.value(whole, metric, size)
            known = [value] if value is not None else []
            if parts > 1 and not size:
                seen = (formulas.value(window, metric) for window in fine)
                known += [one for one in seen if one is not None]
            values.append(value)
            low.append(min(known, default=None))
            high.append(max(known, default=None))
    return found
