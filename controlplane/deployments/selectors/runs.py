"""Finding what a node does once: trials, load sweeps, tunings."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import QuerySet

from controlplane.core.errors import NotFound
from controlplane.deployments.models import Measurement, Run
from controlplane.deployments.types import RUN_ACTIVE
from controlplane.nodes.models import Node
from wire import codec
from wire.load import LoadPlan

RunT = TypeVar("RunT", bound=Run)


def run_get(rows: QuerySet[RunT], run_id: str, missing: NotFound) -> RunT:
    """Raises ``missing``."""
    row = rows.filter(pk=run_id).first()
    if row is None:
        raise missing
    return row


def runs_active(rows: QuerySet[RunT], node: Node | None) -> list[RunT]:
    """Oldest first. Every report of a node and every tick ask, and mostly there are none: then one
    look without any join is all."""
    active = rows.model._default_manager.filter(state__in=RUN_ACTIVE)
    if not active.exists():
        return []
    found = rows.filter(state__in=RUN_ACTIVE).order_by("created_at")
    return list(found if node is None else found.filter(node=node))


def run_state(model: type[Run]) -> Callable[[str], tuple[Any, ...] | None]:
    """Asks for the state alone, the cheapest look; None when there is none."""
    return lambda run_id: model._default_manager.filter(pk=run_id).values_list("state").first()


def plan_of(row: Measurement) -> LoadPlan:
    return codec.from_data(LoadPlan, row.plan)


def measurement_shown(row: Measurement, plan: LoadPlan) -> dict[str, Any]:
    """What sweeps and tunings show alike."""
    return {
        "id": row.pk,
        "state": row.state,
        "endpoint": row.deployment.endpoint.name,
        "deployment": row.deployment.name,
        "revision": row.revision.number,
        "node": row.node_name,
        "case": row.case,
        "mode": plan.mode,
        "levels": list(plan.levels),
        "seconds": plan.seconds,
        "warm_up_s": plan.warm_up_s,
        "slo_percentile": plan.slo_percentile or None,
        "slo_ms": plan.slo_us / 1000 if plan.slo_percentile else None,
        "error": row.error,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
    }
