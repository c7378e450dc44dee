"""What stays of what arrived: minutes, hours, and what is dropped."""

import math
from time import monotonic

from django.db import transaction
from django.db.models import Max, Min

from controlplane.metrics import stored
from controlplane.metrics.models import (
    GatewaySample,
    GatewayTotal,
    LogLine,
    NodeSample,
    ReplicaSample,
    RequestSample,
    RequestTrace,
    RollUp,
    Watch,
)
from controlplane.metrics.selectors import log_owners
from controlplane.metrics.selectors.live import host_sources
from controlplane.metrics.series import TOLD_AFTER_S
from controlplane.metrics.types import (
    HOUR_S,
    KEEP_LOG_LINES,
    KEEP_MINUTES_S,
    KEEP_ROLL_UPS_S,
    KEEP_SAMPLES_S,
    MINUTE_S,
    TEN_MINUTES_S,
)

DATABASE = "metrics"
BATCH_ROWS = 500
LATE_S = 10.0  # samples may arrive so late and still be in their minute
BEFORE_S = 10.0  # of samples before a minute, to count from
MOST_MINUTES = 120  # in one call; the next goes on
THINNED_FOR_S = 10.0  # of one call: what heals waits for it
SAMPLES = (ReplicaSample, GatewaySample, NodeSample)


def roll_up(*, now: float, minutes: int = MOST_MINUTES) -> int:
    """Roll up the whole minutes, and then hours, that are not yet; at most so many minutes.

    ``now`` is Unix seconds. Returns how many minutes had samples. Doing it twice is harmless.
    """
    done = 0
    newest = _newest(MINUTE_S)
    while done < minutes:
        found = [first for model in SAMPLES if (first := _first_after(model, newest)) is not None]
        if not found:
            break
        # why the first sample's: minutes in which nothing ran cost nothing
        start = math.ceil(min(found) / MINUTE_S) * MINUTE_S - MINUTE_S
        if start + MINUTE_S > now - LATE_S:
            break
        _roll_minute(start)
        newest = start + MINUTE_S
        done += 1
    _roll_hours(newest)
    return done


def _newest(span_s: int) -> int:
    return RollUp.objects.filter(span_s=span_s).aggregate(at=Max("at"))["at"] or 0


def _first_after(model: type[ReplicaSample | GatewaySample | NodeSample], at: int) -> float | None:
    found: float | None = model._default_manager.filter(at__gt=at).aggregate(at=Min("at"))["at"]
    return found


def _roll_minute(start: int) -> None:
    end = start + MINUTE_S
    span = {"at__gt": start - BEFORE_S, "at__lte": end}
    replicas = [
        stored.Row(*row)
        for row in ReplicaSample.objects.filter(**span)
        .order_by("pk")
        .values_list("endpoint", "node", "data")
    ]
    gateway = [
        stored.Row(endpoint, "", data)
        # why later ones: they tell of an interval that may have begun in this minute
        for endpoint, data in GatewaySample.objects.filter(
            at__gt=start - BEFORE_S, at__lte=end + TOLD_AFTER_S
        )
        .order_by("at")
        .values_list("endpoint", "data")
    ]
    hosts = host_sources(None, start - BEFORE_S, end)
    made = stored.minute(replicas, gateway, hosts, start, end)
    _keep({scope.key: data for scope, data in made.items()}, MINUTE_S, end)


def _roll_hours(until: int) -> None:
    """Hours that ended before ``until``, from the minutes that they have."""
    newest = _newest(HOUR_S)
    while True:
        minutes = RollUp.objects.filter(span_s=MINUTE_S, at__gt=newest)
        first = minutes.aggregate(at=Min("at"))["at"]
        if first is None:
            return
        end = math.ceil(first / HOUR_S) * HOUR_S
        if end > until:
            return
        by_scope: dict[str, list[stored.Data]] = {}
        rows = minutes.filter(at__lte=end).order_by("at").values_list("scope", "data")
        for scope, data in rows.iterator():
            by_scope.setdefault(scope, []).append(data)
        _keep({scope: stored.merged(datas) for scope, datas in by_scope.items()}, HOUR_S, end)
        newest = end


def thin(*, now: float) -> int:
    """Make one row of ten minutes that are older than minutes are kept. Returns of how many times.

    Each in a transaction of its own, and no more than a while of them; the next call goes on.
    """
    until = monotonic() + THINNED_FOR_S
    # why the newest hour: where roll-ups are late, it is still to be made of minutes
    old = min(now - KEEP_MINUTES_S, _newest(HOUR_S)) // TEN_MINUTES_S * TEN_MINUTES_S
    done = 0
    while monotonic() < until:
        minutes = RollUp.objects.filter(span_s=MINUTE_S, at__lte=old)
        first = minutes.aggregate(at=Min("at"))["at"]
        if first is None:
            break
        end = math.ceil(first / TEN_MINUTES_S) * TEN_MINUTES_S
        ten = minutes.filter(at__lte=end)
        by_scope: dict[str, list[stored.Data]] = {}
        with transaction.atomic(using=DATABASE):
            for scope, data in ten.order_by("at").values_list("scope", "data"):
                by_scope.setdefault(scope, []).append(data)
            made = {scope: stored.merged(datas) for scope, datas in by_scope.items()}
            _keep(made, TEN_MINUTES_S, end)
            ten.delete()
        done += 1
    return done


def _keep(made: dict[str, stored.Data], span_s: int, end: int) -> None:
    rows = [
        RollUp(scope=key, span_s=span_s, at=end, data=stored.shortened(data))
        for key, data in made.items()
    ]
    with transaction.atomic(using=DATABASE):
        RollUp.objects.bulk_create(rows, batch_size=BATCH_ROWS, ignore_conflicts=True)


def logs_forget(*, endpoint: str, deployment: str = "") -> int:
    """Drop the log lines of a deployment, or of all of an endpoint's. Returns how many."""
    lines = LogLine.objects.filter(endpoint=endpoint)
    if deployment:
        lines = lines.filter(deployment=deployment)
    return lines.delete()[0]


def prune(*, now: float) -> None:
    """Drop samples, roll-ups and log lines beyond what is kept. ``now`` is Unix seconds."""
    for model in (*SAMPLES, RequestSample, RequestTrace):
        model._default_manager.filter(at__lt=now - KEEP_SAMPLES_S).delete()
    RollUp.objects.filter(at__lt=now - KEEP_ROLL_UPS_S).delete()
    GatewayTotal.objects.filter(at__lt=now - KEEP_ROLL_UPS_S).delete()  # nobody calls it any more
    Watch.objects.filter(expires_at__lt=now).delete()
    for endpoint, deployment in log_owners():
        mine = LogLine.objects.filter(endpoint=endpoint, deployment=deployment)
        oldest_kept = mine.order_by("-id").values_list("id", flat=True)[
            KEEP_LOG_LINES - 1 : KEEP_LOG_LINES
        ]
        for line_id in oldest_kept:
            mine.filter(id__lt=line_id).delete()
