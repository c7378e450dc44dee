"""Finding tunings, and showing them with what they mean."""

from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet

from controlplane.deployments.errors import TuningNotFound
from controlplane.deployments.models import Tuning
from controlplane.deployments.selectors.runs import (
    measurement_shown,
    plan_of,
    run_get,
    runs_active,
)
from controlplane.nodes.models import Node
from controlplane.tuning.outcome import Outcome, latency_us, outcome_of
from controlplane.tuning.search import Measured, choice, frontier
from controlplane.tuning.space import Setting, Space
from load_client.points import point_shown
from wire import codec
from wire.load import DesiredLoad, LoadPlan, LoadPoint

STARTING, MEASURING, CHOOSING = "starting", "measuring", "choosing"  # phases of a run


def tuning_list() -> QuerySet[Tuning]:
    return Tuning.objects.select_related(
        "deployment__endpoint",
        "revision__model_version__model",
        "revision__config_revision",
    )


def tuning_get(tuning_id: str) -> Tuning:
    """Raises TuningNotFound."""
    missing = TuningNotFound(
        "There is no such tuning; they are kept for 90 days, and 50 of a deployment."
    )
    return run_get(tuning_list(), tuning_id, missing)


def tunings_active(node: Node | None = None) -> list[Tuning]:
    return runs_active(tuning_list(), node)


def run_id(row: Tuning) -> str:
    """Of the replica and of the load sweep that a node is asked for now."""
    attempt = (row.current or {}).get("attempt", 0)
    return f"{row.pk}-{row.step}" + (f"-{attempt}" if attempt else "")


def tuning_load(row: Tuning) -> DesiredLoad | None:
    """What its node must measure now."""
    current = row.current or {}
    if current.get("phase") != MEASURING:
        return None
    run = run_id(row)
    return DesiredLoad(run, run, plan_of(row), begun=bool(current.get("begun")))


def space_of(row: Tuning) -> Space:
    kept = row.space
    return Space(tuple(kept["instances"]), tuple(kept["batch_sizes"]), tuple(kept["delays_us"]))


def setting_now(row: Tuning) -> Setting:
    """What its deployment ran when it began."""
    return Setting(**row.space["now"])


def run_points(run: dict[str, Any]) -> list[LoadPoint]:
    return [codec.from_data(LoadPoint, point) for point in run["points"]]


def measured_of(row: Tuning) -> list[Measured]:
    plan = plan_of(row)
    return [_measured(run, outcome_of(run_points(run), plan)) for run in row.runs]


def _measured(run: dict[str, Any], outcome: Outcome) -> Measured:
    value = None if run["error"] else outcome.value
    within = outcome.within and value is not None
    return Measured(Setting(**run["setting"]), value, within, run["memory_bytes"])


def choice_of(row: Tuning) -> Setting | None:
    """Of what was measured so far."""
    found = choice(measured_of(row), space_of(row))
    return found.setting if found else None


def tuning_shown(row: Tuning) -> dict[str, Any]:
    plan = plan_of(row)
    chosen = choice_of(row)
    shown = [_run_shown(run, plan) for run in row.runs]
    known = [run for run in shown if run["throughput"] is not None and not run["error"]]
    best = frontier([(run["throughput"], run["latency_us"]) for run in known])
    for run, ahead in zip(known, best, strict=True):
        run["frontier"] = ahead
    for run in shown:
        run["chosen"] = chosen is not None and Setting(**run["setting"]) == chosen
    return {**summary_shown(row), "runs": shown, "gain": _gain(shown, plan)}


def _run_shown(run: dict[str, Any], plan: LoadPlan) -> dict[str, Any]:
    outcome = outcome_of(run_points(run), plan)
    point = outcome.point
    return {
        "setting": run["setting"],
        "reason": run["reason"],
        "memory_bytes": run["memory_bytes"],
        "gpu_memory_bytes": run.get("gpu_memory_bytes", 0),  # of before nothing was kept
        "load_seconds": run["load_seconds"],
        "error": run["error"],
        "within": outcome.within and not run["error"],
        "throughput": point.throughput if point else None,
        "latency_us": latency_us(point, plan) if point else None,
        "level": point.level if point else None,
        "points": [point_shown(one, plan) for one in run_points(run)],
        "frontier": False,
        "chosen": False,
    }


def _gain(shown: list[dict[str, Any]], plan: LoadPlan) -> float | None:
    """Of the chosen one over what runs today, as a share of the latter; by latency at a rate."""
    chosen = next((run for run in shown if run["chosen"]), None)
    if chosen is None or shown[0]["throughput"] is None:
        return None
    if plan.mode == "rate":
        return 1 - float(chosen["latency_us"]) / float(shown[0]["latency_us"])
    return float(chosen["throughput"]) / float(shown[0]["throughput"]) - 1


def summary_shown(row: Tuning) -> dict[str, Any]:
    """Without its runs."""
    plan, space, current = plan_of(row), space_of(row), row.current
    config = row.revision.config_revision
    return {
        **measurement_shown(row, plan),
        "model": row.model,
        "registered_model": row.revision.model_version.model.name,
        "version": row.revision.model_version.version,
        "config_revision": config.number if config else None,
        "instances": list(space.instances),
        "batch_sizes": [size for size in space.batches if size],
        "delays_us": list(space.delays_us) if space.batches != (0,) else [],
        "now": asdict(setting_now(row)),
        "configurations": len(space.settings()),
        "budget": row.budget,
        "measured": len(row.runs),
        "current": current
        and {name: current[name] for name in ("setting", "reason", "phase") if name in current}
        | {"points": len(current.get("points", []))},
        "stopped_by": row.space.get("stopped_by", ""),
        "applied": row.applied,
    }
