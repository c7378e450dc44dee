"""Finding load sweeps, and showing them with what they mean."""

from collections.abc import Collection
from typing import Any, Final

from django.db.models import OuterRef, QuerySet, Subquery

from controlplane.deployments.errors import SweepNotFound
from controlplane.deployments.models import LoadSweep
from controlplane.deployments.types import SWEEP_ACTIVE, SweepState
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
    row = sweep_list().filter(pk=sweep_id).first()
    if row is None:
        raise SweepNotFound(
            "There is no such load sweep; they are kept for 90 days, and 50 of a deployment."
        )
    return row


def sweeps_active(node: Node | None = None) -> list[LoadSweep]:
    rows = sweep_list().filter(state__in=SWEEP_ACTIVE).order_by("created_at")
    return list(rows if node is None else rows.filter(node=node))


def sweep_state(sweep_id: str) -> tuple[Any, ...] | None:
    """State alone, the cheapest look; None when there is none."""
    return LoadSweep.objects.filter(pk=sweep_id).values_list("state").first()


def desired_loads(node: Node) -> tuple[DesiredLoad, ...]:
    rows = LoadSweep.objects.filter(state__in=SWEEP_ACTIVE, node=node).order_by("created_at")
    return tuple(
        DesiredLoad(row.pk, row.replica, plan_of(row), begun=row.state == SweepState.RUNNING)
        for row in rows
    )


def plan_of(row: LoadSweep) -> LoadPlan:
    return codec.from_data(LoadPlan, row.plan)


def points_of(row: LoadSweep) -> list[LoadPoint]:
    return [codec.from_data(LoadPoint, point) for point in row.points]


def last_sweeps(deployments: Collection[int]) -> dict[int, LoadSweep]:
    """Deployment -> the newest sweep with points of the revision that it has now."""
    newest = (
        LoadSweep.objects.filter(
            deployment=OuterRef("deployment"), revision=OuterRef("deployment__revision")
        )
        .exclude(points=[])
        .exclude(state__in=SWEEP_ACTIVE)
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
        "id": row.id,
        "state": row.state,
        "endpoint": row.deployment.endpoint.name,
        "deployment": row.deployment.name,
        "revision": row.revision.number,
        "replica": row.replica,
        "node": row.node_name,
        "model": plan.model,
        "model_version": plan.version,
        "case": row.case,
        "batch": plan.batch,
        "shapes": {name: list(shape) for name, shape in plan.shapes.items()},
        "mode": plan.mode,
        "levels": list(plan.levels),
        "seconds": plan.seconds,
        "warm_up_s": plan.warm_up_s,
        "slo_percentile": plan.slo_percentile or None,
        "slo_ms": plan.slo_us / 1000 if plan.slo_percentile else None,
        "expected_s": nominal_s(plan),
        "traffic": row.traffic,
        "stopped_by": row.stopped_by,
        "error": row.error,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
    }


def sweep_csv(row: LoadSweep) -> list[list[Any]]:
    """A head line, then a line for each point."""
    plan = plan_of(row)
    unit = "concurrency" if plan.mode == CONCURRENCY else "requests_per_second"
    head = [unit, *CSV_COLUMNS[1:]]
    shown = [point_shown(point, plan) for point in points_of(row)]
    return [head, *([point[name] for name in CSV_COLUMNS] for point in shown)]
