"""Reading captured data: files, statistics of a window, and how far it is from its baseline."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import QuerySet

from controlplane.capture.errors import CapturedFileNotFound
from controlplane.capture.models import WINDOW_HOURS, CaptureBaseline, CapturedFile, CaptureHour
from controlplane.deployments.errors import DeploymentNotFound, EndpointNotFound
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.drift import (
    Bar,
    Comparison,
    Sketch,
    Summary,
    Verdict,
    bars,
    compared,
    merged_summaries,
)

APART: Final = timedelta(seconds=30)
MOST_ABOUT: Final = 20  # files, of 4 MiB at most each
LONGEST_HOURS: Final = 7 * 24
MOVED: Final = frozenset({Verdict.MODERATE, Verdict.DRIFT})


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature in the window, beside its baseline."""

    key: str
    now: Sketch | None
    baseline: Sketch | None
    comparison: Comparison

    @property
    def bars(self) -> list[Bar]:
        return bars(self.baseline, self.now)


@dataclass(frozen=True, slots=True)
class Statistics:
    """``dropped``: records for which there was no room where they were captured; ``left_out``:
    those in the window of which the baseline was made, which are not compared with it."""

    hours: int
    records: int
    left_out: int
    dropped: int
    untold_features: int
    features: list[Feature]


def deployment_named(endpoint: str, name: str) -> Deployment:
    """Without all that showing it would need. Raises EndpointNotFound, DeploymentNotFound."""
    rows = Deployment.objects.select_related("endpoint", "revision")
    row = rows.filter(endpoint__name=endpoint, name=name).first()
    if row is not None:
        return row
    if Endpoint.objects.filter(name=endpoint).exists():
        raise DeploymentNotFound(f"Endpoint {endpoint} has no deployment called {name}.")
    raise EndpointNotFound(f"There is no endpoint called {endpoint}.")


def captured_list(deployment: Deployment) -> QuerySet[CapturedFile]:
    return CapturedFile.objects.filter(deployment=deployment)


def captured_about(deployment: Deployment, at: datetime) -> list[CapturedFile]:
    """Files that may have a request of then; clocks of nodes go as they like."""
    rows = captured_list(deployment).filter(first_at__lte=at + APART, last_at__gte=at - APART)
    return list(rows.order_by("first_at")[:MOST_ABOUT])


def captured_get(deployment: Deployment, file_id: str) -> CapturedFile:
    """Raises CapturedFileNotFound."""
    row = captured_list(deployment).filter(pk=file_id).first()
    if row is None:
        raise CapturedFileNotFound(f"{deployment} has no captured file {file_id[:40]!r}.")
    return row


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def hours_between(deployment: Deployment, begin: datetime, end: datetime) -> list[CaptureHour]:
    """Whole hours: those in which the window begins and ends count in full."""
    rows = CaptureHour.objects.filter(deployment=deployment, hour__gte=hour_of(begin), hour__lt=end)
    return list(rows.order_by("hour"))


def hour_for(file: CapturedFile) -> datetime:
    """Of the row that counts it: what came after a baseline was made is apart from what is in it,
    within the same hour as well."""
    hour = hour_of(file.last_at)
    baseline = CaptureBaseline.objects.filter(deployment=file.deployment).only("ends_at").first()
    end = None if baseline is None else baseline.ends_at
    return end if end is not None and hour < end <= file.first_at else hour


def _is_own(baseline: CaptureBaseline | None, row: CaptureHour) -> bool:
    """Whether the baseline was made of it."""
    if baseline is None or baseline.begins_at is None or baseline.ends_at is None:
        return False
    return hour_of(baseline.begins_at) <= row.hour < baseline.ends_at


def together(rows: Iterable[CaptureHour]) -> Summary:
    return merged_summaries(row.summary for row in rows)


def baseline_of(deployment: Deployment) -> CaptureBaseline | None:
    return CaptureBaseline.objects.filter(deployment=deployment).first()


def statistics(
    deployment: Deployment,
    baseline: CaptureBaseline | None,
    *,
    now: datetime,
    hours: int | None = None,
) -> Statistics:
    """Of the last ``hours``, or as many as are held against the baseline, without its own."""
    if hours is None:
        hours = WINDOW_HOURS if baseline is None else baseline.window_hours
    found = hours_between(deployment, now - timedelta(hours=hours), now)
    rows = [row for row in found if not _is_own(baseline, row)]
    left_out = sum(row.records for row in found) - sum(row.records for row in rows)
    besides = f" without the baseline's own {left_out} requests" if left_out else ""
    window = together(rows)
    kept = {} if baseline is None else baseline.summary.sketches
    keys = sorted({*window.sketches, *kept}, key=_natural)
    return Statistics(
        hours=hours,
        records=window.records,
        left_out=left_out,
        dropped=sum(row.dropped for row in rows),
        untold_features=window.untold,
        features=[
            Feature(
                key,
                window.sketches.get(key),
                kept.get(key),
                compared(
                    kept.get(key), window.sketches.get(key), features=len(keys), besides=besides
                ),
            )
            for key in keys
        ],
    )


def _natural(key: str) -> tuple[str, int]:
    """``x[2]`` before ``x[10]``."""
    name, _, column = key.rstrip("]").rpartition("[")
    return (name, int(column)) if column.isdecimal() and name else (key, -1)


def worst(features: Iterable[Feature]) -> tuple[float | None, str, str]:
    """The largest index of those that have moved by more than chance, 0 where none has, with its
    feature; None where nothing could be compared, and why."""
    judged = [one for one in features if one.comparison.psi is not None]
    if not judged:
        told = {one.comparison.told for one in features if one.comparison.told}
        return None, "", min(told, default="nothing was captured")
    moved = [one for one in judged if one.comparison.verdict in MOVED]
    if not moved:
        return 0.0, "", ""
    first = max(moved, key=lambda one: one.comparison.psi or 0.0)
    return first.comparison.psi, first.key, ""
