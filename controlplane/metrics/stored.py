"""Pure: what is kept of a minute of samples, how minutes are added up, and what that says.

A roll-up keeps increases and histograms, so that means and quantiles over hours are exact, and the
lowest and highest value of every metric, so that no peak is averaged away. Zeros are left out.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import inf
from typing import Any, Final

from controlplane.metrics import formulas, series
from controlplane.metrics.formulas import LARGEST, METRICS, RATES_AT_GATEWAY, Answers, Value
from controlplane.metrics.series import Sample, Source
from controlplane.metrics.types import Scope

POINT_S: Final = 5.0  # between the moments whose lowest and highest are kept
DIGITS: Final = 7  # of a number that is kept and is no whole one
DIGITS_OF_BOUNDS: Final = 4  # of lowest and highest values, which charts alone show
DOWN: Final = Context(DIGITS_OF_BOUNDS, ROUND_FLOOR)
UP: Final = Context(DIGITS_OF_BOUNDS, ROUND_CEILING)
Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A sample with the labels that its table keeps beside it."""

    endpoint: str
    node: str
    data: Sample


@dataclass(frozen=True, slots=True)
class StoredWindow:
    """A ``formulas.Window`` over what a roll-up holds."""

    data: Data

    def rate(self, name: str) -> Value:
        seconds = self.data.get("s", 0.0)
        return self.data.get("sums", {}).get(name, 0.0) / seconds if seconds > 0 else None

    def total(self, name: str) -> float:
        return float(self.data.get("sums", {}).get(name, 0.0))

    def totals(self, prefix: str) -> dict[str, float]:
        start = f"{prefix}."
        return {
            name.removeprefix(start): value
            for name, value in self.data.get("sums", {}).items()
            if name.startswith(start)
        }

    def gauge(self, name: str) -> Value:
        gauges = self.data.get("gauge")
        return None if gauges is None else gauges.get(name, 0.0)

    def answers(self) -> Answers | None:
        seen = self.data.get("gw")
        if seen is None:
            return None
        return Answers(
            seconds=seen["s"],
            requests=seen["n"],
            classes=seen["classes"],
            histogram={int(bucket): count for bucket, count in seen["h"].items()},
            request_bytes=seen["in"],
            response_bytes=seen["out"],
        )

    def answered(self, name: str) -> Value:
        answers = self.answers()
        return None if answers is None else answers.counted(name) / answers.seconds


def shortened(data: Data) -> Data:
    """``data`` as it is kept: with as many digits as anybody sees, which are more than half of it.

    Counts stay exact. Lowest values are rounded down and highest up, so that no mean is outside.
    """
    short = {
        "sums": lambda number: _near(number, DIGITS),
        "gauge": lambda number: _near(number, DIGITS),
        "low": lambda number: _outward(number, DOWN),
        "high": lambda number: _outward(number, UP),
    }
    found: Data = {
        part: {name: short[part](number) for name, number in of.items()} if part in short else of
        for part, of in data.items()
    }
    if "s" in found:
        found["s"] = _near(found["s"], DIGITS)
    return found


def _near(number: float, digits: int) -> float:
    """Whole numbers as such, others with so many digits; both take fewer characters in JSON."""
    return int(number) if float(number).is_integer() else float(f"{number:.{digits}g}")


def _outward(number: float, rounding: Context) -> float:
    if float(number).is_integer() and abs(number) < 10**DIGITS_OF_BOUNDS:
        return int(number)
    found = float(rounding.create_decimal(repr(float(number))))
    return int(found) if found.is_integer() else found


def value(data: Data, metric: str, size: str = "") -> Value:
    window = StoredWindow(data)
    return formulas.value(lambda _: window, metric, size)


def bounds(data: Data, metric: str) -> tuple[Value, Value]:
    """Lowest and highest value of a metric in the time that ``data`` stands for."""
    if metric in data.get("low", {}):
        return data["low"][metric], data["high"][metric]
    mean = value(data, metric) if metric not in formulas.SIZED else None
    return mean, mean


def rolled(of: Source, start: float, end: float, told: float = inf) -> Data | None:
    """What to keep of ``of`` in (start, end]; None when nothing was sampled. Gateways have told of
    everything until ``told``."""
    data: Data = _counted(of, start, end)
    gauges = _gauges(of, start, end)
    if gauges:
        data["gauge"] = gauges
    seen = [one for one, at in zip(of.gateway, of.gateway_at, strict=True) if start < at <= end]
    if seen:
        width_s = end - start if told >= end else _known_s(seen, start, told)
        data["gw"] = _answers(series.answers(seen, width_s))
    if not data:
        return None
    names = list(METRICS) if not of.host else sorted(gauges)
    _add_bounds(data, names, _points(of, names, start, end, told))
    return data


def _known_s(seen: Sequence[Sample], start: float, told: float) -> float:
    """Of a time that is not over: what these samples and the silence before and after them are
    of."""
    first = min(float(one["at"]) - float(one["interval_s"]) for one in seen)
    return max(told, *(float(one["at"]) for one in seen)) - min(start, first)


def _counted(of: Source, start: float, end: float) -> Data:
    """From the last sample before to the last one within: neighbours count nothing twice."""
    longest, sums = 0.0, dict[str, float]()
    for one in of.tracks:
        last = bisect_right(one.at, end) - 1
        span = (one.before(start, last), last)
        if span[1] < 0 or one.at[span[1]] <= start or one.seconds(span) <= 0:
            continue
        longest = max(longest, one.seconds(span))
        for name in one.sums[span[1]]:
            sums[name] = sums.get(name, 0.0) + one.increase(name, span)
    if not longest:
        return {}
    return {"s": longest, "sums": {name: value for name, value in sums.items() if value}}


def _gauges(of: Source, start: float, end: float) -> dict[str, float]:
    """Means over time of the sums over replicas, or of the largest; of machines simply means."""
    if of.host:
        seen = [g for g, at in zip(of.host, of.host_at, strict=True) if start < at <= end]
        names = {name for gauges in seen for name in gauges}
        return {name: sum(g.get(name, 0.0) for g in seen) / len(seen) for name in names}
    totals: dict[str, float] = {}
    for one in of.tracks:
        seen = [g for g, at in zip(one.gauges, one.at, strict=True) if start < at <= end]
        for name in {name for gauges in seen for name in gauges}:
            mean = sum(g.get(name, 0.0) for g in seen) / len(seen)
            known = totals.get(name, 0.0)
            totals[name] = max(known, mean) if name in LARGEST else known + mean
    return totals


def _answers(seen: Answers) -> Data:
    return {
        "s": seen.seconds,
        "n": seen.requests,
        "classes": dict(seen.classes),
        "h": {str(bucket): count for bucket, count in seen.histogram.items() if count},
        "in": seen.request_bytes,
        "out": seen.response_bytes,
    }


def _points(
    of: Source, names: Sequence[str], start: float, end: float, told: float
) -> Iterable[Mapping[str, Value]]:
    count = max(1, round((end - start) / POINT_S))
    step_s = (end - start) / count
    for index in range(1, count + 1):
        t = start + index * step_s
        window = series.windows(of, t, step_s)
        known = (name for name in names if t <= told or name not in RATES_AT_GATEWAY)
        yield {name: formulas.value(window, name) for name in known}


def _add_bounds(data: Data, names: Iterable[str], points: Iterable[Mapping[str, Value]]) -> None:
    found = list(points)
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    for name in names:
        known = [point for values in found if (point := values.get(name)) is not None]
        mean = value(data, name)
        if known and (min(known) != mean or max(known) != mean):
            low[name], high[name] = min(known), max(known)
    if low:
        data["low"], data["high"] = low, high


def merged(rows: Sequence[Data]) -> Data:
    """Several roll-ups of one scope, of different times, as one."""
    if len(rows) == 1:
        return rows[0]
    data: Data = {}
    sums: dict[str, float] = {}
    for row in rows:
        for name, count in row.get("sums", {}).items():
            sums[name] = sums.get(name, 0.0) + count
    seconds = sum(row.get("s", 0.0) for row in rows)
    if seconds:
        data |= {"s": seconds, "sums": sums}
    measured = [row["gauge"] for row in rows if "gauge" in row]
    if measured:
        names = {name for gauges in measured for name in gauges}
        data["gauge"] = {
            name: sum(gauges.get(name, 0.0) for gauges in measured) / len(measured)
            for name in names
        }
    if seen := [row["gw"] for row in rows if "gw" in row]:
        # why also without: an idle gateway says nothing, and its rates are of all of the time
        quiet = sum(row.get("s", 0.0) for row in rows if "gw" not in row)
        data["gw"] = _merged_answers(seen, quiet)
    nodes = {node for row in rows for node in row.get("nodes", ())}
    if nodes:
        data["nodes"] = sorted(nodes)
    of_bounds = {name for row in rows for name in row.get("low", {})}
    _merge_bounds(data, rows, of_bounds | _varying(data, rows))
    return data


def _varying(data: Data, rows: Sequence[Data]) -> set[str]:
    """Metrics that may differ between rows although each row alone was steady."""
    if any("sums" in row or "gw" in row for row in rows):
        return set(METRICS)
    return set(data.get("gauge", {}))


def _merge_bounds(data: Data, rows: Sequence[Data], names: Iterable[str]) -> None:
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    for name in names:
        pairs = [bounds(row, name) for row in rows]
        lows = [a for a, _ in pairs if a is not None]
        highs = [b for _, b in pairs if b is not None]
        if lows and highs and (min(lows) != max(highs)):
            low[name], high[name] = min(lows), max(highs)
    if low:
        data["low"], data["high"] = low, high


def _merged_answers(seen: Sequence[Data], quiet_s: float) -> Data:
    classes: dict[str, int] = {}
    histogram: dict[str, int] = {}
    for one in seen:
        for table, of in ((classes, one["classes"]), (histogram, one["h"])):
            for key, count in of.items():
                table[key] = table.get(key, 0) + count
    total: dict[str, Any] = {
        name: sum(one[name] for one in seen) for name in ("s", "n", "in", "out")
    }
    total["s"] += quiet_s
    return {**total, "classes": classes, "h": histogram}


def minute(
    replicas: Sequence[Row],
    gateway: Sequence[Row],
    hosts: Mapping[str, Source],
    start: float,
    end: float,
) -> dict[Scope, Data]:
    """The roll-ups of every scope that was sampled in (start, end]; all in order of time, and
    what gateways told of until a little later."""
    found: dict[Scope, Data] = {}
    for endpoint in sorted({row.endpoint for row in (*replicas, *gateway)}):
        mine = [row for row in replicas if row.endpoint == endpoint]
        seen = [row.data for row in gateway if row.endpoint == endpoint]
        found |= _endpoint_minute(endpoint, mine, seen, start, end)
    found |= _model_minute(replicas, start, end)
    for node, host in hosts.items():
        if data := rolled(host, start, end):
            found[Scope("node", node)] = data
    return found


def _endpoint_minute(
    endpoint: str, rows: Sequence[Row], gateway: Sequence[Sample], start: float, end: float
) -> dict[Scope, Data]:
    by_node: dict[str, list[Sample]] = {}
    for row in rows:
        by_node.setdefault(row.node, []).append(row.data)
    found: dict[Scope, Data] = {}
    _put(found, endpoint, "", series.sources([r.data for r in rows], gateway), (start, end))
    nodes = {
        name: sorted({r.node for r in rows if r.data["deployment"] == name or name == ""})
        for name in {"", *(r.data["deployment"] for r in rows)}
    }
    for scope, data in found.items():
        data["nodes"] = nodes.get(scope.deployment, [])
    if len(by_node) > 1:
        for node, samples in by_node.items():
            _put(found, endpoint, node, series.sources(samples, ()), (start, end))
    return found


def _put(
    found: dict[Scope, Data],
    endpoint: str,
    node: str,
    by_deployment: Mapping[str, Source],
    span: tuple[float, float],
) -> None:
    for name, of in by_deployment.items():
        # why not "": requests that the gateway refused reached no deployment
        if name and (data := rolled(of, *span)):
            deployment = "" if name == series.ALL else name
            kind = "deployment" if deployment else "endpoint"
            found[Scope(kind, endpoint, deployment, node)] = data


def _model_minute(rows: Sequence[Row], start: float, end: float) -> dict[Scope, Data]:
    models = {str(model["model"]) for row in rows for model in row.data["models"]}
    found: dict[Scope, Data] = {}
    for name in sorted(models):
        tracks = series.tracks((row.data for row in rows), only=name)
        if data := rolled(series.source(tracks.values()), start, end):
            data.get("gauge", {}).pop("memory_bytes", None)  # of the process, not of the model
            found[Scope("model", name)] = data
    return found


def on_node(data: Data, node: str) -> Data | None:
    """The part of a whole scope's roll-up that ran on ``node``, where it ran nowhere else."""
    if data.get("nodes") != [node]:
        return None
    return {name: part for name, part in data.items() if name not in ("gw", "low", "high")}


def columns(
    rows: Sequence[tuple[float, Data]], times: Sequence[float], step_s: float
) -> list[Data | None]:
    """One merged roll-up per time, of the rows in (time - step_s, time]; None is a gap."""
    buckets: dict[int, list[Data]] = {}
    for at, data in rows:
        index = int(-(-(at - times[0]) // step_s))
        if 0 <= index < len(times):
            buckets.setdefault(index, []).append(data)
    return [merged(buckets[i]) if i in buckets else None for i in range(len(times))]


Reader = Callable[[str, str], tuple[list[Value], list[Value], list[Value]]]


def reader(found: Sequence[Data | None]) -> Reader:
    """Values, lowest and highest of a metric (and batch size) over ``columns``."""

    def read(metric: str, size: str) -> tuple[list[Value], list[Value], list[Value]]:
        values = [value(data, metric, size) if data else None for data in found]
        pairs = [bounds(data, metric) if data else (None, None) for data in found]
        return values, [low for low, _ in pairs], [high for _, high in pairs]

    return read
