"""What gateways have answered in all, for Prometheus: rows, since whoever takes samples in (the
agents' port) is not whoever is scraped (the studio's process), and there may be several of each.

Counters that only rise; they outlive processes.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from django.db import transaction
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from controlplane.metrics.formulas import CLASSES
from controlplane.metrics.histogram import BOUNDS_S, edge_s, within
from controlplane.metrics.models import GatewayTotal
from wire.samples import GatewaySample

DATABASE: Final = "metrics"
BOUNDS: Final = {f"{bound:g}": bound for bound in BOUNDS_S} | {"+Inf": math.inf}


@dataclass(slots=True)
class _More:
    """Of one deployment in one message."""

    classes: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)  # answers by bound, and all
    seconds: float = 0.0
    received: int = 0
    sent: int = 0
    held: int = 0
    wakes: Counter[str] = field(default_factory=Counter)  # by bound, as answers
    wake_seconds: float = 0.0

    def add(self, sample: GatewaySample) -> None:
        self.classes.update(sample.status_classes)
        for name, bound in BOUNDS.items():
            self.within[name] += within(sample.histogram, bound)
        self.seconds += sum(edge_s(int(one)) * count for one, count in sample.histogram.items())
        self.received += sample.request_bytes
        self.sent += sample.response_bytes
        self.held += sample.held
        self.wake_seconds += sum(sample.wakes_s)
        for name, bound in BOUNDS.items():
            self.wakes[name] += sum(seconds <= bound for seconds in sample.wakes_s)


def gateway_totals_add(samples: Iterable[GatewaySample]) -> None:
    """Inside the transaction that keeps them, so that each counts once."""
    more: dict[tuple[str, str], _More] = {}
    for sample in samples:
        more.setdefault((sample.endpoint, sample.deployment), _More()).add(sample)
    with transaction.atomic(using=DATABASE):
        # why sorted: gateways that report at once wait for one another, and never in a ring
        for (endpoint, deployment), one in sorted(more.items()):
            rows = GatewayTotal.objects.select_for_update()
            row, _ = rows.get_or_create(endpoint=endpoint, deployment=deployment)
            row.classes = dict(Counter(row.classes) + one.classes)
            row.within = dict(Counter(row.within) + one.within)
            row.seconds += one.seconds
            row.received += one.received
            row.sent += one.sent
            row.held += one.held
            row.wakes = dict(Counter(row.wakes) + one.wakes)
            row.wake_seconds += one.wake_seconds
            row.at = time.time()
            row.save()


class GatewayTotals(Collector):
    """Reads the rows when scraped."""

    def collect(self) -> Iterator[Metric]:
        labels = ("endpoint", "deployment")
        answers = CounterMetricFamily(
            "shoal_gateway_answers",
            "Answers of the gateways, as clients saw them",
            labels=(*labels, "status_class"),
        )
        seconds = HistogramMetricFamily(
            "shoal_gateway_request_seconds",
            "Time that requests took at the gateways; the sum is at most 5 % too high",
            labels=labels,
        )
        received = CounterMetricFamily(
            "shoal_gateway_received_bytes",
            "Bytes of request bodies at the gateways",
            labels=labels,
        )
        sent = CounterMetricFamily(
            "shoal_gateway_sent_bytes", "Bytes of answers' bodies at the gateways", labels=labels
        )
        held = CounterMetricFamily(
            "shoal_gateway_held_requests",
            "Requests that waited at the gateways for a replica to wake",
            labels=labels,
        )
        wakes = HistogramMetricFamily(
            "shoal_gateway_wake_seconds",
            "From the first request that waited to the replica that took it",
            labels=labels,
        )
        for row in GatewayTotal.objects.order_by("endpoint", "deployment"):
            names = (row.endpoint, row.deployment)
            # why those that were never counted, too: what begins with its first count, as failures
            # do, Prometheus takes for a counter that it did not know, and counts no increase
            for kind in sorted({*CLASSES, *row.classes}):
                answers.add_metric((*names, kind), row.classes.get(kind, 0))
            seconds.add_metric(
                names, [(name, row.within.get(name, 0)) for name in BOUNDS], row.seconds
            )
            received.add_metric(names, row.received)
            sent.add_metric(names, row.sent)
            if row.held:
                held.add_metric(names, row.held)
                wakes.add_metric(
                    names, [(name, row.wakes.get(name, 0)) for name in BOUNDS], row.wake_seconds
                )
        yield from (answers, seconds, received, sent, held, wakes)
