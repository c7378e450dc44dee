"""Reading captured data: files, statistics of a window, and how far it is from its baseline."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import QuerySet

from controlplane.capture.errors import CapturedFileNotFound
from controlplane.capture.models import CaptureBaseline, CapturedFile, CaptureHour
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
WINDOW_HOURS: Final = 24
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
    """``dropped``: records for which there was no room where they were captured."""

    records: int
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
    rows = CaptureHour.objects.filter(
        deployment=deployment, hour__gte=hour_of(begin), hour__lte=hour_of(end)
    )
    return list(rows.order_by("hour"))


def together(rows: Iterable[CaptureHour]) -> Summary:
    return merged_summaries(row.summary for row in rows)


def baseline_of(deployment: Deployment) -> CaptureBaseline | None:
    return CaptureBaseline.objects.filter(deployment=deployment).first()


def statistics(
    deployment: Deployment, baseline: CaptureBaseline | None, *, hours: int, now: datetime
) -> Statistics:
    rows = hours_between(deployment, now - timedelta(hours=hours), now)
    window = together(rows)
    kept = {} if baseline is None else baseline.summary.sketches
    keys = sorted({*window.sketches, *kept}, key=_natural)
    return Statistics(
        records=window.records,
        dropped=sum(row.dropped for row in rows),
        untold_features=window.untold,
        features=[
            Feature(
                key,
                window.sketches.get(key),
                kept.get(key),
                compared(kept.get(key), window.sketches.get(key), features=len(keys)),
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
