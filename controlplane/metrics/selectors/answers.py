"""Reads of what gateways answered over days: hours, minutes, and what is not rolled up yet."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Q

from controlplane.metrics.models import GatewaySample, GatewayTotal, RollUp
from controlplane.metrics.types import HOUR_S, MINUTE_S, TEN_MINUTES_S, Scope


@dataclass(frozen=True, slots=True)
class Answered:
    """Of one deployment in the time that ended at ``end``: an hour, ten minutes, one or less."""

    deployment: str
    end: float
    classes: Mapping[str, int]
    histogram: Mapping[str, int]


def answered(
    endpoint: str, since: float, *, minutes_since: float, born: datetime
) -> list[Answered]:
    """What deployments of ``endpoint`` answered after ``since`` (Unix seconds), by the minute from
    about ``minutes_since`` on. What gateways refused themselves is nobody's.

    ``born`` is when the endpoint was made: what was before it was another's of the same name.
    """
    totals = GatewayTotal.objects.filter(endpoint=endpoint).exclude(deployment="")
    scopes = {
        Scope("deployment", endpoint, name).key: name
        for name in totals.values_list("deployment", flat=True)
    }
    if not scopes:
        return []
    birth = born.timestamp()
    whole = math.ceil(birth / HOUR_S) * HOUR_S  # the hour before has something of before, too
    # why the newest hour: where roll-ups are late, minutes tell of what no hour does
    turn = max(whole, min(minutes_since // HOUR_S * HOUR_S, _newest(HOUR_S)))
    rows = RollUp.objects.filter(scope__in=scopes, at__gt=since)
    hours = rows.filter(span_s=HOUR_S, at__gt=whole, at__lte=turn)
    own = rows.filter(
        Q(span_s=MINUTE_S, at__gte=birth + MINUTE_S)
        | Q(span_s=TEN_MINUTES_S, at__gte=birth + TEN_MINUTES_S)
    )
    minutes = own.filter(Q(at__gt=turn) | Q(at__lte=whole))
    # why the part alone: the rest of a roll-up is ten times as long
    wanted = ("scope", "at", "data__gw")
    parts = [*hours.values_list(*wanted), *minutes.values_list(*wanted)]
    # samples tell of the minute in which it was made, as long as they are kept, and of the latest
    first = math.ceil(birth / MINUTE_S) * MINUTE_S
    mine = GatewaySample.objects.filter(endpoint=endpoint, at__gt=max(since, birth))
    fresh = mine.filter(Q(at__gt=_newest(MINUTE_S)) | Q(at__lte=first)).exclude(deployment="")
    return [
        Answered(scopes[key], float(at), part["classes"], part["h"])
        for key, at, part in parts
        if part
    ] + [
        Answered(name, at, data["status_classes"], data["histogram"])
        for name, at, data in fresh.values_list("deployment", "at", "data")
    ]


def _newest(span_s: int) -> float:
    newest = RollUp.objects.filter(span_s=span_s).aggregate(at=Max("at"))["at"]
    return float(newest or 0)
