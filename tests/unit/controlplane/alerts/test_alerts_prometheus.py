"""Burn rates as we compute them, beside those of a real Prometheus that has scraped us.

What it said is in ``tests/support/promql/answers.json``; ``make objectives-oracle`` asks it anew.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rest_framework.test import APIClient

from controlplane.alerts.selectors.objectives import LONGEST_BURN_S, slices_read, status_of
from controlplane.deployments.models import Endpoint
from controlplane.gateway.models import Gateway
from controlplane.metrics.models import GatewaySample as SampleRow
from controlplane.metrics.models import GatewayTotal, RollUp
from controlplane.metrics.services import gateway_samples_ingest, roll_up
from controlplane.objectives import PAIRS, Kind, Objective
from tests.support.promql import histories
from tests.support.promql.histories import (
    HISTORIES,
    HOUR,
    MINUTE,
    START,
    TARGETS,
    WINDOWS,
    Counters,
    History,
)
from wire.samples import GatewaySampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ANSWERS: Final = json.loads(Path(histories.__file__).with_name("answers.json").read_text())
Rates = dict[str, float | None]  # by window
# How far the two are apart at most where they may be (``same``), as a share of Prometheus's figure.
APART: Final = {
    "steady": 0.05,  # between whole minutes
    "outage": 0.15,  # the same, while all of a minute's requests fail
    "first-failure": 0.003,  # windows that begin before there was anything to scrape
    "newborn": 0.1,  # what a deployment was asked before its first scrape
    "unscraped": 1.2,  # five minutes, of which Prometheus knows one
    "gateways": 1e-9,
    "quiet": 0.008,
    "days": 0.007,  # between whole hours
}
# A counter that goes back is none to Prometheus: it takes all that is counted now for new, and
# keeps what we have forgotten.
FORGOTTEN: Final = ("lost", "put-back")
SAME_AT_LEAST: Final = {
    "steady": 16, "outage": 36, "first-failure": 18, "newborn": 6, "unscraped": 22,
    "gateways": 18, "lost": 8, "put-back": 8, "quiet": 12, "days": 22,
}  # fmt: skip


@pytest.fixture
def endpoint(api: APIClient) -> Endpoint:
    assert api.post("/api/v1/endpoints", {"name": "quote"}, format="json").status_code == 201
    Endpoint.objects.update(created_at=datetime.fromtimestamp(START, UTC) - timedelta(days=9))
    Gateway.objects.create(name="gw")
    return Endpoint.objects.get()


def exported(api: APIClient) -> dict[Any, float]:
    """The series that ``Counters`` has."""
    found = {}
    names = ("answers_total", "request_seconds_bucket", "request_seconds_count")
    wanted = {f"shoal_gateway_{name}" for name in names}
    for family in text_string_to_metric_families(api.get("/api/v1/metrics").content.decode()):
        for one in family.samples:
            if one.name in wanted and one.labels.get("le", "0.25") == "0.25":
                found[one.name, tuple(sorted(one.labels.items()))] = one.value
    return found


def moments_passed(api: APIClient, history: History) -> Iterator[float]:
    """Each moment of the history, once all has been told until then and is rolled up."""
    waiting = sorted(history.samples, key=lambda one: one.at)
    counted = Counters("quote")
    stops = [*history.moments, *([history.lost_at] if history.lost_at else [])]
    for moment in sorted(stops):
        mine = tuple(one for one in waiting if one.at <= moment)
        waiting = waiting[len(mine) :]
        gateway_samples_ingest(GatewaySampleBatch(mine))
        while roll_up(now=moment):
            pass
        if moment == history.lost_at:
            GatewayTotal.objects.all().delete()
            RollUp.objects.filter(at__gt=history.kept_until).delete()
            SampleRow.objects.filter(at__gt=history.kept_until).delete()
            continue
        if history.lost_at is None:
            for one in mine:
                counted.add(one)
            assert exported(api) == counted.series(), "the oracle scrapes what we do not export"
        Gateway.objects.update(last_seen_at=datetime.fromtimestamp(moment, UTC))
        yield moment


def our_rates(endpoint: Endpoint, kind: Kind, moment: float) -> Rates:
    threshold = 250.0 if kind == Kind.LATENCY else None
    objective = Objective(kind, TARGETS[kind], 28, threshold)
    read = slices_read(endpoint, LONGEST_BURN_S, datetime.fromtimestamp(moment, UTC))
    by_width: dict[float, float | None] = {}
    for one in status_of(objective, read).burns:
        by_width |= {one.pair.long_s: one.long_rate, one.pair.short_s: one.short_rate}
    return {name: by_width[width] for name, width in WINDOWS.items()}


def same(history: History, moment: float, width: float) -> bool:
    """Where nothing stands between the two: whole minutes (of days: hours), scrapes at both edges,
    each deployment was there before, and nothing was forgotten."""
    start = moment - width
    births: dict[str, float] = {}
    for one in history.samples:
        births.setdefault(one.deployment, one.at)
    return (
        moment % (HOUR if width > 6 * HOUR else MINUTE) == 0
        and {start, moment} <= set(history.scrapes)
        and all(born <= start or born > moment for name, born in births.items() if name)
        and not (history.lost_at is not None and start < history.lost_at)
    )


def burning(rates: Rates) -> list[bool]:
    """By pair of windows."""
    by_width = {width: rates[name] or 0.0 for name, width in WINDOWS.items()}
    return [
        by_width[int(one.long_s)] > one.factor and by_width[int(one.short_s)] > one.factor
        for one in PAIRS
    ]


@pytest.mark.parametrize("name", HISTORIES)
def test_burn_rates_are_those_of_prometheus(api: APIClient, endpoint: Endpoint, name: str) -> None:
    history, alike, farthest = HISTORIES[name], 0, 0.0
    for moment in moments_passed(api, history):
        for kind in Kind:
            rates = our_rates(endpoint, kind, moment)
            theirs: Rates = ANSWERS["answers"][name][kind][f"{moment - START:g}"]
            where = (kind, (moment - START) / MINUTE)
            for window, width in WINDOWS.items():
                one, other = rates[window], theirs[window]
                assert (one is None) == (other is None), (*where, window, one, other)
                if one is None or other is None:
                    continue
                if same(history, moment, width):
                    assert one == pytest.approx(other, rel=1e-9, abs=1e-12), (*where, window)
                    alike += 1
                elif one != other:
                    farthest = max(farthest, abs(one / other - 1) if other else 9.0)
            if name not in FORGOTTEN:
                assert burning(rates) == burning(theirs), where
    assert alike >= SAME_AT_LEAST[name], alike
    if name in FORGOTTEN:
        assert farthest > 0.5, "docs/alerts.md says that these differ"
    else:
        assert farthest <= APART[name], farthest


def test_what_never_failed_has_failed_no_time(api: APIClient, endpoint: Endpoint) -> None:
    """And not: there is no such series, of which Prometheus would miss the first failures."""
    gateway_samples_ingest(GatewaySampleBatch((histories.sample(START, 7, 0),)))
    answers = {
        dict(labels)["status_class"]: value
        for (name, labels), value in exported(api).items()
        if name == "shoal_gateway_answers_total"
    }
    assert answers == {"2xx": 7, "3xx": 0, "4xx": 0, "5xx": 0}
