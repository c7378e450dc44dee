"""Finding load sweeps, and showing them with what they mean."""

from collections.abc import Collection
from typing import Any, Final

from django.db.models import OuterRef, QuerySet, Subquery

from controlplane.deployments.errors import SweepNotFound
from controlplane.deployments.models import LoadSweep
from controlplane.deployments.selectors.runs import (
    measurement_shown,
    plan_of,
    run_get,
    runs_active,
)
from controlplane.deployments.types import RUN_ACTIVE, RunState
from controlplane.nodes.models import Node
from load_client import perf_analyzer
from load_client.plans import nominal_s
from load_client.points import point_shown, points_shown
from wire import codec
from wire.load import CONCURRENCY, DesiredLoad, LoadPlan, LoadPoint

CSV_COLUMNS: Final = (
    "level", "seconds", "good", "throughput", "mean_us", "p50_us", "p90_us", "p95_us", "p99_us",
    "failed", "batch", "queue_us", "compute_us", "others", "client_busy",
)  # fmt: skip


def sweep_list() -> QuerySet[LoadSweep]:
    return LoadSweep.objects.select_related("deployment__endpoint", "revision")


def sweep_get(sweep_id: str) -> LoadSweep:
    """Raises SweepNotFound."""
    missing = SweepNotFound(
        "There is no such load sweep; they are kept for 90 days, and 50 of a deployment."
    )
    return run_get(sweep_list(), sweep_id, missing)


def sweeps_active(node: Node | None = None) -> list[LoadSweep]:
    return runs_active(sweep_list(), node)


def desired_loads(node: Node) -> tuple[DesiredLoad, ...]:
    rows = runs_active(LoadSweep.objects.all(), node)
    return tuple(
        DesiredLoad(row.pk, row.replica, plan_of(row), begun=row.state == RunState.RUNNING)
        for row in rows
    )


def points_of(row: LoadSweep) -> list[LoadPoint]:
    return [codec.from_data(LoadPoint, point) for point in row.points]


def last_sweeps(deployments: Collection[int]) -> dict[int, LoadSweep]:
    """Deployment -> the newest sweep with points of the revision that it has now."""
    newest = (
        LoadSweep.objects.filter(
            deployment=OuterRef("deployment"), revision=OuterRef("deployment__revision")
        )
        .exclude(points=[])
        .exclude(state__in=RUN_ACTIVE)
        .order_by("-created_at", "-id")
        .values("pk")[:1]
    )
    rows = LoadSweep.objects.filter(deployment__in=deployments, pk=Subquery(newest))
    return {row.deployment_id: row for row in rows}


def sweep_shown(row: LoadSweep) -> dict[str, Any]:
    plan, points = plan_of(row), points_of(row)
    return {
        **_summary(row, plan),
        **points_shown(points, plan),
        "perf_analyzer": perf_analyzer.command(
            plan, "REPLICA:PORT", "case.json" if row.case else ""
        ),
    }


def summary_shown(row: LoadSweep) -> dict[str, Any]:
    """Without its points."""
    return _summary(row, plan_of(row)) | {"measured": len(row.points)}


def _summary(row: LoadSweep, plan: LoadPlan) -> dict[str, Any]:
    return {
        **measurement_shown(row, plan),
        "replica": row.replica,
        "model": plan.model,
        "model_version": plan.version,
        "batch": plan.batch,
        "shapes": {name: list(shape) for name, shape in plan.shapes.items()},
        "expected_s": nominal_s(plan),
        "traffic": row.traffic,
        "stopped_by": row.stopped_by,
    }


def sweep_csv(row: LoadSweep) -> list[list[Any]]:
    """A head line, then a line for each point."""
    plan = plan_of(row)
    unit = "concurrency" if plan.mode == CONCURRENCY else "requests_per_second"
    head = [unit, *CSV_COLUMNS[1:]]
    shown = [point_shown(point, plan) for point in points_of(row)]
    return [head, *([point[name] for name in CSV_COLUMNS] for point in shown)]
