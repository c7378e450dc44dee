"""What a deployment's captured data is compared with, and the looks that compare them."""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from random import Random
from typing import Any

from django.conf import settings
from django.db import transaction

from controlplane.capture import selectors
from controlplane.capture.errors import CapturedDataInvalid, NoBaseline, NoCapturedData
from controlplane.capture.models import CaptureBaseline
from controlplane.core import events
from controlplane.deployments.models import Deployment
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.drift import Malformed, Summary, summarised

_draws = Random()  # noqa: S311 # a sample, no secret


def baseline_from_window(
    *,
    deployment: Deployment,
    begin: datetime,
    end: datetime,
    actor: str,
    now: datetime,
    window_hours: int | None = None,
) -> CaptureBaseline:
    """``window_hours``: how many are held against it; None: as many as now. Raises
    NoCapturedData."""
    end = min(end, now)  # why: what is yet to come is not in it
    found = selectors.together(selectors.hours_between(deployment, begin, end))
    if not found.sketches:
        raise NoCapturedData(
            f"Nothing was captured of {deployment} from {begin.isoformat()} to {end.isoformat()}."
        )
    source = f"{begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
    said = {"source": source, "begins_at": begin, "ends_at": end}
    return _baseline_set(deployment, found, said, window_hours, actor, now)


def baseline_from_file(
    *,
    deployment: Deployment,
    content: bytes,
    actor: str,
    now: datetime,
    window_hours: int | None = None,
) -> CaptureBaseline:
    """Records as files of captured data have them. Raises CapturedDataInvalid."""
    try:
        found = summarised(content.splitlines(), _draws)
    except Malformed as error:
        raise CapturedDataInvalid(f"{error}.") from error
    if not found.sketches:
        raise CapturedDataInvalid("The file has no tensors, expected one record at least.")
    digest = hashlib.sha256(content).hexdigest()[:12]
    said = {"source": f"a file ({digest})", "begins_at": None, "ends_at": None}
    return _baseline_set(deployment, found, said, window_hours, actor, now)


def _baseline_set(
    deployment: Deployment,
    found: Summary,
    said: Mapping[str, Any],
    window_hours: int | None,
    actor: str,
    now: datetime,
) -> CaptureBaseline:
    with transaction.atomic():
        endpoint_lock(deployment.endpoint.name)  # why: of two people the second one's stays
        row = selectors.baseline_of(deployment) or CaptureBaseline(deployment=deployment)
        row.summary = found
        row.set_by, row.looked_at = actor, None
        for name, value in said.items():
            setattr(row, name, value)
        if window_hours is not None:
            row.window_hours = window_hours
        row.save()
        events.record(
            actor=actor,
            verb="capture.baseline_set",
            subject=f"endpoint/{deployment.endpoint.name}",
            message=f"The last {row.window_hours} h of {deployment.name} are compared with "
            f"{row.source}, {found.records} records",
            data={
                "deployment": deployment.name,
                "records": found.records,
                "window_hours": row.window_hours,
            },
        )
        _look(row, now)
    return row


def baseline_window_set(
    *, deployment: Deployment, window_hours: int, actor: str, now: datetime
) -> CaptureBaseline:
    """Hold another window against the same baseline. Raises NoBaseline."""
    with transaction.atomic():
        endpoint_lock(deployment.endpoint.name)
        row = selectors.baseline_of(deployment)
        if row is None:
            raise NoBaseline(f"{deployment} has no baseline.")
        before = row.window_hours
        if before != window_hours:
            row.window_hours = window_hours
            # why not save(): when it was set, and by whom, is of the baseline
            CaptureBaseline.objects.filter(pk=row.pk).update(window_hours=window_hours)
            events.record(
                actor=actor,
                verb="capture.window_changed",
                subject=f"endpoint/{deployment.endpoint.name}",
                message=f"The last {window_hours} h of {deployment.name} are compared with its "
                f"baseline, {before} h before",
                before={"window_hours": before},
                after={"window_hours": window_hours},
                data={"deployment": deployment.name},
            )
            _look(row, now)
    return row


def baseline_delete(*, deployment: Deployment, actor: str) -> None:
    """Harmless where there is none."""
    with transaction.atomic():
        if CaptureBaseline.objects.filter(deployment=deployment).delete()[0]:
            events.record(
                actor=actor,
                verb="capture.baseline_removed",
                subject=f"endpoint/{deployment.endpoint.name}",
                message=f"Data of {deployment.name} is compared with nothing any more",
                data={"deployment": deployment.name},
            )


def baselines_look(*, now: datetime) -> int:
    """Compare anew what was compared ``SHOAL_DRIFT_INTERVAL_S`` ago. Returns how many were."""
    due = list(_due(now))
    for row in due:
        _look(row, now)
    return len(due)


def _due(now: datetime) -> Iterator[CaptureBaseline]:
    rows = CaptureBaseline.objects.select_related("deployment__endpoint").order_by("looked_at")
    rest = timedelta(seconds=settings.SHOAL_DRIFT_INTERVAL_S)
    for row in rows.iterator(chunk_size=20):
        # why not in the future: the clock was set back, and nothing would be seen until it is there
        if row.looked_at is None or not now - rest < row.looked_at <= now:
            yield row


def _look(row: CaptureBaseline, now: datetime) -> None:
    found = selectors.statistics(row.deployment, row, now=now)
    index, feature, told = selectors.worst(found.features)
    CaptureBaseline.objects.filter(pk=row.pk).update(
        looked_at=now, worst_psi=index, worst_feature=feature[:300], told=told[:300]
    )
