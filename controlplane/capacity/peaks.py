"""What the roll-ups of the last day say: the busiest hours of deployments and of nodes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Avg, FloatField, Max
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from controlplane.capacity.facts import Measured
from controlplane.metrics.models import RollUp
from controlplane.metrics.types import HOUR_S, MINUTE_S, Scope

DAY_S: Final = 86_400.0
# Of a roll-up only these: the whole of it is a hundred times as much.
FIGURES: Final[Mapping[str, Any]] = {
    "seconds": KT("data__s"),
    "busy_us": KT("data__sums__busy_us"),
    "cpu_s": KT("data__sums__cpu_s"),
    "request_us": KT("data__sums__request_us"),
    "instances": KT("data__gauge__instances"),
    "memory": KT("data__gauge__memory_bytes"),
    "answered": KT("data__gw__n"),
    "answered_s": KT("data__gw__s"),
}


@dataclass(frozen=True, slots=True)
class Span:
    """What was counted of one deployment in one hour, or in one minute."""

    width_s: float
    seconds: float = 0.0  # between the first and the last sample
    busy_us: float = 0.0
    cpu_s: float = 0.0
    request_us: float = 0.0
    instances: float = 0.0
    memory: float = 0.0
    answered: float = 0.0  # by gateways, in so many seconds:
    answered_s: float = 0.0

    def per_second(self, total: float) -> float | None:
        return total / self.seconds if self.seconds > 0 else None

    @property
    def busy(self) -> float | None:
        at_work = self.per_second(self.busy_us / 1e6)
        return at_work / self.instances if at_work is not None and self.instances else None


def deployments_measured(
    since: Mapping[tuple[str, str], float], now: float
) -> dict[tuple[str, str], Measured]:
    """(endpoint, deployment) -> its last day; those of which nothing was measured are not in it.

    ``since``: Unix seconds before which something else may have had the name. Whole hours; of what
    is younger, the minutes so far, as one.
    """
    first = {scope_of(*key): max(at, now - DAY_S) for key, at in since.items()}
    spans = _spans(first, HOUR_S)
    young = {key: at for key, at in first.items() if key not in spans}
    for key, minutes in _spans(young, MINUTE_S).items():
        spans[key] = [_together(minutes)]
    return {key: _measured(spans[scope]) for key in since if (scope := scope_of(*key)) in spans}


def scope_of(endpoint: str, deployment: str) -> str:
    return Scope("deployment", endpoint, deployment).key


def _spans(first: Mapping[str, float], width_s: int) -> dict[str, list[Span]]:
    if not first:
        return {}
    rows = RollUp.objects.filter(
        scope__in=list(first), span_s=width_s, at__gt=min(first.values())
    ).annotate(**FIGURES)
    found: dict[str, list[Span]] = {}
    for scope, at, *figures in rows.values_list("scope", "at", *FIGURES):
        if at - width_s >= first[scope]:
            values = {
                name: float(figure or 0.0) for name, figure in zip(FIGURES, figures, strict=True)
            }
            values["answered_s"] = values["answered_s"] or width_s  # gateways without a word idle
            found.setdefault(scope, []).append(Span(width_s, **values))
    return found


def _together(spans: Sequence[Span]) -> Span:
    """One span after another: counters add up, gauges are means."""

    def total(name: str) -> float:
        return sum(float(getattr(one, name)) for one in spans)

    gauges = {"instances", "memory"}
    figures = {name: total(name) / (len(spans) if name in gauges else 1) for name in FIGURES}
    return Span(total("width_s"), **figures)


def _measured(spans: Sequence[Span]) -> Measured:
    return Measured(
        seconds=sum(one.width_s for one in spans),
        requests=int(sum(one.answered for one in spans)),
        request_rate=_most(one.answered / one.answered_s for one in spans),
        busy=_most(one.busy for one in spans),
        cpu=_most(one.per_second(one.cpu_s) for one in spans),
        concurrency=_most(one.per_second(one.request_us / 1e6) for one in spans),
        memory_bytes=max(one.memory for one in spans) or None,
    )


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


@dataclass(frozen=True, slots=True)
class NodePeak:
    """In the busiest hour of each, 0..1. ``gpus`` by their index."""

    cpu: float | None
    gpus: tuple[float | None, ...] = ()


def nodes_peaks(names: Collection[str], gpus: int, now: float) -> dict[str, NodePeak]:
    """By name of the node. ``gpus``: as many cards as any of them has. One row for each node: the
    database finds the highest hour, or the mean of what there is of a node younger than an hour."""
    found = _peaks(names, gpus, (HOUR_S, now - DAY_S), Max)
    return found | _peaks(set(names) - set(found), gpus, (MINUTE_S, now - HOUR_S), Avg)


def _peaks(
    names: Collection[str], gpus: int, span: tuple[int, float], highest: type[Max | Avg]
) -> dict[str, NodePeak]:
    if not names:
        return {}
    name_of = {Scope("node", name).key: name for name in names}
    width_s, since = span
    gauges = {"cpu": "host_cpu"} | {f"gpu{index}": f"gpu{index}_util" for index in range(gpus)}
    figures = {
        key: highest(Cast(KT(f"data__gauge__{gauge}"), FloatField()))
        for key, gauge in gauges.items()
    }
    kept = RollUp.objects.filter(scope__in=list(name_of), span_s=width_s, at__gt=since)
    rows = kept.order_by().values("scope").annotate(**figures).values_list("scope", *figures)
    return {name_of[scope]: NodePeak(cpu, tuple(cards)) for scope, cpu, *cards in rows}
