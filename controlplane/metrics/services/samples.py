"""What arrives: samples, log lines, and that somebody watches."""

import dataclasses
import time

from django.db import transaction

from controlplane.metrics import selectors
from controlplane.metrics.gateway_totals import gateway_totals_add
from controlplane.metrics.models import (
    GatewaySample,
    LogLine,
    NodeSample,
    ReplicaSample,
    RequestSample,
    RequestTrace,
    Watch,
)
from controlplane.metrics.types import MAX_LOG_LINE, WATCH_LIFETIME_S
from wire import codec
from wire.samples import GatewaySampleBatch, LogBatch, SampleBatch, TracedRequest

DATABASE = "metrics"
BATCH_ROWS = 500
MOST_TRACES = 50  # of one batch; agents send fewer
MOST_SPANS = 101
LONGEST_ID, LONGEST_EXECUTION = 64, 32


def samples_ingest(*, node_id: str, node: str, batch: SampleBatch, ahead_s: float = 0.0) -> None:
    """Keep what a node scraped of its replicas, and what it says of itself. ``node`` is its
    name, ``ahead_s`` how far its clock is ahead of ours."""
    # why: samples of a slow clock would miss the minute that they are rolled up into, those of a
    # fast one would be the newest for ever
    samples = [
        dataclasses.replace(
            sample, at=_ours(sample.at, ahead_s), started_at=_ours(sample.started_at, ahead_s)
        )
        for sample in batch.samples
    ]
    rows = [
        ReplicaSample(
            endpoint=sample.endpoint,
            deployment=sample.deployment,
            replica_id=sample.replica_id,
            node=node,
            at=sample.at,
            data=codec.as_data(sample),
        )
        for sample in samples
    ]
    traces = [_trace(traced, node, ahead_s) for traced in batch.requests[:MOST_TRACES]]
    with transaction.atomic(using=DATABASE):
        ReplicaSample.objects.bulk_create(rows, batch_size=BATCH_ROWS)
        RequestTrace.objects.bulk_create(traces, batch_size=BATCH_ROWS)
        if batch.node is not None:
            NodeSample.objects.create(
                node_id=node_id, node=node, at=time.time(), data=codec.as_data(batch.node)
            )


def _trace(traced: TracedRequest, node: str, ahead_s: float) -> RequestTrace:
    traced = dataclasses.replace(
        traced, at=_ours(traced.at, ahead_s), spans=traced.spans[:MOST_SPANS]
    )
    return RequestTrace(
        endpoint=traced.endpoint,
        deployment=traced.deployment,
        replica_id=traced.replica_id,
        node=node,
        request_id=traced.id[:LONGEST_ID],
        at=traced.at,
        execution=traced.spans[0].execution[:LONGEST_EXECUTION] if traced.spans else "",
        data=codec.as_data(traced),
    )


def gateway_samples_ingest(batch: GatewaySampleBatch, gateway: str = "") -> float:
    """Keep what a gateway saw; returns how long it shall wait until its next sample, in seconds.

    ``gateway`` is its name: of several each tells in moments of its own.
    """
    rows = [
        GatewaySample(
            endpoint=sample.endpoint,
            deployment=sample.deployment,
            at=sample.at,
            data={**codec.as_data(sample), "gateway": gateway},
        )
        for sample in batch.samples
    ]
    requests = [
        RequestSample(
            endpoint=seen.endpoint,
            deployment=seen.deployment,
            request_id=seen.id,
            at=seen.at,
            why=seen.why,
            status_class=seen.status_class,
            duration_us=seen.duration_us,
            data=codec.as_data(seen),
        )
        for seen in batch.requests
    ]
    if rows or requests:
        with transaction.atomic(using=DATABASE):
            GatewaySample.objects.bulk_create(rows, batch_size=BATCH_ROWS)
            RequestSample.objects.bulk_create(requests, batch_size=BATCH_ROWS)
            gateway_totals_add(batch.samples)
    return selectors.sample_interval_s()


def _ours(at: float, ahead_s: float) -> float:
    """A moment of a node's clock by ours; never one that is still to come."""
    return min(at - ahead_s, time.time()) if at else at


def logs_ingest(batch: LogBatch, *, ahead_s: float = 0.0) -> None:
    """Keep log lines; one that came before (same replica, stream and number) is dropped."""
    LogLine.objects.bulk_create(
        [
            LogLine(
                endpoint=entry.endpoint,
                deployment=entry.deployment,
                replica_id=entry.replica_id,
                stream=entry.stream,
                seq=entry.seq,
                at=_ours(entry.at, ahead_s),
                # why: PostgreSQL stores no NUL in text
                text=entry.text[:MAX_LOG_LINE].replace("\x00", "\ufffd"),
            )
            for entry in batch.entries
        ],
        batch_size=BATCH_ROWS,
        ignore_conflicts=True,
    )


def watch(endpoint: str) -> bool:
    """Somebody looks at this endpoint: agents sample every half second for the next 30 s.

    To be called again while they look. True where nobody did: agents do not know yet.
    """
    now = time.time()
    known = Watch.objects.filter(endpoint=endpoint, expires_at__gt=now).exists()
    Watch.objects.update_or_create(
        endpoint=endpoint, defaults={"expires_at": now + WATCH_LIFETIME_S}
    )
    return not known
