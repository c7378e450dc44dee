"""What a deployment's captured data is compared with, and the looks that compare them."""

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from django.conf import settings
from django.db import transaction

from controlplane.capture import selectors
from controlplane.capture.errors import CapturedDataInvalid, NoCapturedData
from controlplane.capture.models import CaptureBaseline
from controlplane.core import events
from controlplane.deployments.models import Deployment
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.drift import Malformed, Summary, summarised

_draws = Random()  # noqa: S311 # a sample, no secret


def baseline_from_window(
    *, deployment: Deployment, begin: datetime, end: datetime, actor: str, now: datetime
) -> CaptureBaseline:
    """Raises NoCapturedData."""
    found = selectors.together(selectors.hours_between(deployment, begin, end))
    if not found.sketches:
        raise NoCapturedData(
            f"Nothing was captured of {deployment} from {begin.isoformat()} to {end.isoformat()}."
        )
    source = f"{begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
    return _baseline_set(deployment, found, source, actor, now)


def baseline_from_file(
    *, deployment: Deployment, content: bytes, actor: str, now: datetime
) -> CaptureBaseline:
    """Records as files of captured data have them. Raises CapturedDataInvalid."""
    try:
        found = summarised(content.splitlines(), _draws)
    except Malformed as error:
        raise CapturedDataInvalid(f"{error}.") from error
    if not found.sketches:
        raise CapturedDataInvalid("The file has no tensors, expected one record at least.")
    digest = hashlib.sha256(content).hexdigest()[:12]
    return _baseline_set(deployment, found, f"a file ({digest})", actor, now)


def _baseline_set(
    deployment: Deployment, found: Summary, source: str, actor: str, now: datetime
) -> CaptureBaseline:
    with transaction.atomic():
        endpoint_lock(deployment.endpoint.name)  # why: of two people the second one's stays
        row = selectors.baseline_of(deployment) or CaptureBaseline(deployment=deployment)
        row.summary = found
        row.source, row.set_by, row.looked_at = source, actor, None
        row.save()
        events.record(
            actor=actor,
            verb="capture.baseline_set",
            subject=f"endpoint/{deployment.endpoint.name}",
            message=f"Data of {deployment.name} is compared with {source}, {found.records} records",
            data={"deployment": deployment.name, "records": found.records},
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
    found = selectors.statistics(row.deployment, row, hours=selectors.WINDOW_HOURS, now=now)
    index, feature, told = selectors.worst(found.features)
    CaptureBaseline.objects.filter(pk=row.pk).update(
        looked_at=now, worst_psi=index, worst_feature=feature[:300], told=told[:300]
    )
