"""What was measured of each model of a deployment in the last seconds."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from controlplane.bottlenecks.pipeline import CallFigures, Marked, StepFigures, marked
from controlplane.deployments.models import Deployment
from controlplane.metrics import formulas, series
from controlplane.metrics.counters import STALE_S
from controlplane.metrics.models import ReplicaSample

WINDOW_S: Final = 10.0
BEFORE_S: Final = 20.0  # what the failures of the window are compared with
CANCELED: Final = "failure.CANCELED"  # a client went away: no fault of the model


def pipeline_of(deployment: Deployment, now: float) -> Any:
    """As REST and the live topic tell it: ensembles first, then their steps, by name."""
    figures = figures_of(deployment, now)
    return {
        "deployment": deployment.name,
        "seconds": WINDOW_S,
        "models": [_shown(one) for one in marked(figures)],
        "calls": [_call_shown(call, one.requests) for one in figures for call in one.calls],
    }


def figures_of(deployment: Deployment, now: float) -> list[StepFigures]:
    """Of every model that its replicas have loaded."""
    # why not before it was made: another project may have had an endpoint of this name
    made = deployment.endpoint.created_at.timestamp()
    rows = ReplicaSample.objects.filter(
        endpoint=deployment.endpoint.name,
        deployment=deployment.name,
        at__gt=max(now - WINDOW_S - BEFORE_S - STALE_S, made),
        at__lte=now,
    )
    samples = list(rows.order_by("pk").values_list("data", flat=True))
    loaded = {one["model"]: one for data in samples for one in data["models"]}
    last_of = {sample["replica_id"]: sample for sample in samples}  # each replica's
    latest = [model for sample in last_of.values() for model in sample["models"]]
    steps = [_figures(name, loaded[name], samples, latest, now) for name in loaded]
    return sorted(steps, key=lambda one: (one.step, one.executes, one.name))


def _figures(
    name: str,
    loaded: Mapping[str, Any],
    samples: Sequence[Mapping[str, Any]],
    latest: Sequence[Mapping[str, Any]],
    now: float,
) -> StepFigures:
    of = series.source(series.tracks(samples, name).values())
    window = series.LiveWindow(of, now, WINDOW_S)
    values = {metric: formulas.value(lambda _: window, metric) for metric in formulas.OF_REPLICAS}
    parts = [values[f"compute_{part}_us"] for part in ("input", "infer", "output")]
    # why get: older agents say nothing of calls
    callers = [one for one in latest if one["model"] == name and one.get("calls")]
    return StepFigures(
        name=name,
        step=bool(loaded.get("step")),
        executes=float(loaded.get("instances", 0.0)) > 0,
        requests=window.total("success"),
        request_rate=values["request_rate"],
        request_us=values["request_us"],
        queue_us=values["queue_us"],
        compute_us=None if None in parts else sum(part for part in parts if part is not None),
        mean_batch=values["mean_batch"],
        busy=values["busy"],
        busy_us=window.total("busy_us"),
        pending=values["pending"],
        failed=_failed(window) / WINDOW_S,
        failed_before=_failed(series.LiveWindow(of, now - WINDOW_S, BEFORE_S)) / BEFORE_S,
        calls=_calls(name, callers, window),
    )


def _calls(
    caller: str, counted: Sequence[Mapping[str, Any]], window: series.LiveWindow
) -> list[CallFigures]:
    """``counted`` is what each replica last said of a version of the model."""
    return [
        CallFigures(
            caller=caller,
            callee=callee,
            calls=sum(one["calls"].get(callee, 0.0) for one in counted),
            last_at=max(one["last_call"].get(callee, 0.0) for one in counted),
            rate=window.rate(f"calls.{callee}"),
            ended=window.total(f"calls.{callee}"),
            total_us=window.total(f"call_us.{callee}"),
            failed=window.total(f"call_failures.{callee}") / WINDOW_S,
        )
        for callee in sorted({callee for one in counted for callee in one["calls"]})
    ]


def _failed(window: series.LiveWindow) -> float:
    return window.total("failure") - window.total(CANCELED)


def _shown(one: Marked) -> dict[str, Any]:
    figures = one.figures
    return {
        "name": figures.name,
        "step": figures.step,
        "executes": figures.executes,
        "request_rate": figures.request_rate,
        "request_us": figures.request_us,
        "queue_us": figures.queue_us,
        "compute_us": figures.compute_us,
        "mean_batch": figures.mean_batch,
        "busy": figures.busy,
        "pending": figures.pending,
        "failure_rate": figures.failed,
        "share": one.share,
        "slow": one.slow,
        "faulty": one.faulty,
    }


def _call_shown(one: CallFigures, requests: float) -> dict[str, Any]:
    return {
        "caller": one.caller,
        "callee": one.callee,
        "calls": one.calls,
        "call_rate": one.rate,
        "per_request": one.per_request(requests),
        "mean_us": one.mean_us,
        "failure_rate": one.failed,
        "last_at": datetime.fromtimestamp(one.last_at, UTC).isoformat(),
    }
