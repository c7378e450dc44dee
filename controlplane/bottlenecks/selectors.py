"""What was measured of a deployment, made into the facts that causes are found in."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from controlplane.bottlenecks.facts import Facts, ModelFacts, ModelSettings, NodeFacts
from controlplane.core.errors import DomainError
from controlplane.deployments.live_config import config_served
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.selectors import told_since
from controlplane.metrics import series
from controlplane.metrics.counters import STALE_S, Track, track
from controlplane.metrics.histogram import merged, quantile_us
from controlplane.metrics.models import GatewaySample, NodeSample, ReplicaSample

NEIGHBOURS_S: Final = 15.0  # back, for what else runs on its machines
MOST_MODELS: Final = 8  # whose configuration is asked for
OTHER_REPLICAS: Final = "other endpoints"
NO_REPLICAS: Final = "other programs"
Rows = Sequence[tuple[str, Any]]  # deployment or node, and what was sampled


def facts_of(endpoint: Endpoint, deployment: str, seconds: float, now: float) -> Facts | None:
    """Of the last ``seconds``; without a ``deployment`` of the one that answered most.

    None where the endpoint has no such deployment, or none at all.
    """
    since = max(now - seconds, told_since(endpoint))
    span = {"endpoint": endpoint.name, "at__gt": since, "at__lte": now}
    gateway = list(GatewaySample.objects.filter(**span).values_list("deployment", "data"))
    rows = {row.name: row for row in endpoint.deployments.all()}
    name = deployment or _busiest(gateway, endpoint)
    if name not in rows:
        return None
    answered = [data for owner, data in gateway if owner == name]
    # why more: a counter's increase needs a sample from before
    span |= {"deployment": name, "at__gt": max(since - STALE_S, told_since(endpoint))}
    samples = ReplicaSample.objects.filter(**span).order_by("pk").values_list("node", "data")
    found = list(samples)
    tracks = series.tracks(data for _, data in found)
    window = series.LiveWindow(series.source(tracks.values()), now, seconds)
    looks, done = window.total("loop_looks"), window.total("success")
    return Facts(
        deployment=name,
        seconds=seconds,
        **_answered(answered),
        refused=window.total("failure.REJECTED"),
        replicas=len(tracks),
        late_us=window.total("loop_late_s") / looks * 1e6 if looks else 0.0,
        waited_us=window.total("waited_s") / done * 1e6 if done else 0.0,
        models=_models([data for _, data in found], _settings(rows[name]), seconds, now),
        nodes=_nodes(endpoint.name, name, [node for node, _ in found], since, now),
    )


def _busiest(gateway: Rows, endpoint: Endpoint) -> str:
    requests: dict[str, int] = {}
    for owner, data in gateway:
        requests[owner] = requests.get(owner, 0) + int(data["requests"])
    requests.pop("", None)  # what the gateway refused
    if requests:
        return max(sorted(requests), key=lambda name: requests[name])
    return max(sorted(endpoint.traffic), key=lambda name: endpoint.traffic[name], default="")


def _answered(samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What gateways saw. Samples of gateways of before have no sums of times."""

    def total(name: str) -> float:
        return float(sum(sample.get(name, 0) for sample in samples))

    requests, timed = total("requests"), total("timed")
    wakes = [second for sample in samples for second in sample.get("wakes_s", ())]
    histogram = merged(sample["histogram"] for sample in samples)
    per_request = requests or 1.0
    per_timed = timed or 1.0
    return {
        "requests": int(requests),
        "timed": int(timed),
        "total_us": total("total_us") / per_timed,
        "receive_us": total("receive_us") / per_timed,
        "send_us": total("send_us") / per_timed,
        "p50_us": quantile_us(histogram, 0.5),
        "p95_us": quantile_us(histogram, 0.95),
        "p99_us": quantile_us(histogram, 0.99),
        "request_bytes": total("request_bytes") / per_request,
        "response_bytes": total("response_bytes") / per_request,
        "as_json": total("json_requests") / per_request,
        "new_connections": total("new_connections") / per_request,
        "held": int(total("held")),
        "wake_s": sum(wakes) / len(wakes) if wakes else 0.0,
    }


def _models(
    samples: Sequence[Mapping[str, Any]],
    settings: Mapping[str, ModelSettings],
    seconds: float,
    now: float,
) -> tuple[ModelFacts, ...]:
    """Of all models that were asked in the time, those that are asked by clients first."""
    steps = {one["model"]: bool(one.get("step")) for data in samples for one in data["models"]}
    windows = {
        name: series.LiveWindow(series.source(series.tracks(samples, name).values()), now, seconds)
        for name in steps
    }
    asked = sum(windows[name].total("success") for name, step in steps.items() if not step)
    found = []
    for name, step in sorted(steps.items(), key=lambda item: (item[1], item[0])):
        window = windows[name]
        done = window.total("success")
        if not asked or not done:
            continue
        executions, busy = window.total("executions"), window.rate("busy_us")
        instances = window.gauge("instances") or 0.0
        found.append(
            ModelFacts(
                name=name,
                share=done / asked,
                step=step,
                request_us=window.total("request_us") / done,
                queue_us=window.total("queue_us") / done,
                input_us=window.total("input_us") / done,
                infer_us=window.total("infer_us") / done,
                output_us=window.total("output_us") / done,
                batch=window.total("rows") / executions if executions else None,
                busy=busy / 1e6 / instances if busy is not None and instances else None,
                instances=instances,
                settings=settings.get(name),
            )
        )
    return tuple(found)


def _settings(deployment: Deployment) -> dict[str, ModelSettings]:
    """What a ready replica serves with; nothing where none can be asked."""
    version = deployment.revision.model_version
    found: dict[str, ModelSettings] = {}
    for model in version.repo_models.all()[:MOST_MODELS]:
        try:
            found[model.name] = settings_of(config_served(deployment, model.name))
        except DomainError:  # why at the first: they are all asked of the same replica
            break
    return found


def settings_of(config: Mapping[str, Any]) -> ModelSettings:
    """From what ``/v2/models/<model>/config`` says."""
    groups = config.get("instance_group", ())
    return ModelSettings(
        max_batch_size=int(config.get("max_batch_size", 0)),
        batches="dynamic_batching" in config,
        delay_us=float(config.get("dynamic_batching", {}).get("max_queue_delay_microseconds", 0)),
        sequences="sequence_batching" in config,
        ensemble="ensemble_scheduling" in config,
        on_gpu=any(group.get("kind") == "KIND_GPU" for group in groups),
    )


def _nodes(
    endpoint: str, deployment: str, names: Sequence[str], since: float, now: float
) -> tuple[NodeFacts, ...]:
    placed = set(names) - {""}
    machines: dict[str, list[Any]] = {name: [] for name in placed}
    rows = NodeSample.objects.filter(node__in=placed, at__gt=since, at__lte=now).order_by("at")
    for name, data in rows.values_list("node", "data"):
        machines[name].append(data)
    taken = _taken(placed, now)
    shown = _shown(taken)
    return tuple(
        _node(name, told, taken.get(name, {}), (endpoint, deployment), shown)
        for name, told in sorted(machines.items())
        if told
    )


def _node(
    name: str,
    told: Sequence[Mapping[str, Any]],
    taken: Mapping[tuple[str, str], float],
    own: tuple[str, str],
    shown: set[str],
) -> NodeFacts:
    processors = int(told[-1].get("cpu_count", 0))
    cpu = sum(float(one.get("cpu_utilization", 0.0)) for one in told) / len(told)
    others: dict[str, float] = {}
    for (endpoint, deployment), cores in taken.items():
        if (endpoint, deployment) != own:
            label = endpoint if endpoint in shown else OTHER_REPLICAS
            others[label] = others.get(label, 0.0) + cores
    others[NO_REPLICAS] = cpu * processors - sum(taken.values())
    cards = [one.get("utilization") for one in told[-1].get("gpus", ())]
    return NodeFacts(
        name=name,
        processors=processors,
        cpu=cpu,
        own=taken.get(own, 0.0),
        others=tuple(sorted(_worth(others), key=lambda item: -item[1])),
        gpu=max((card for card in cards if card is not None), default=None),
    )


def _worth(others: Mapping[str, float]) -> list[tuple[str, float]]:
    """What takes a tenth of a processor or more."""
    return [(name, cores) for name, cores in others.items() if cores >= 0.1]


def _taken(nodes: set[str], now: float) -> dict[str, dict[tuple[str, str], float]]:
    """Node -> endpoint and deployment -> processors that its replicas take."""
    rows = ReplicaSample.objects.filter(node__in=nodes, at__gt=now - NEIGHBOURS_S, at__lte=now)
    by_node: dict[str, dict[tuple[str, str, str], list[Any]]] = {}
    for node, data in rows.order_by("at").values_list("node", "data"):
        key = (data["endpoint"], data["deployment"], data["replica_id"])
        of_replica = {**data, "models": []}
        by_node.setdefault(node, {}).setdefault(key, []).append(of_replica)
    found: dict[str, dict[tuple[str, str], float]] = {}
    for node, replicas in by_node.items():
        for (endpoint, deployment, _), samples in replicas.items():
            cores = _cores(track(samples), now)
            owner = found.setdefault(node, {})
            owner[endpoint, deployment] = owner.get((endpoint, deployment), 0.0) + cores
    return found


def _cores(track: Track, now: float) -> float:
    return series.LiveWindow(series.source([track]), now, NEIGHBOURS_S).rate("cpu_s") or 0.0


def _shown(taken: Mapping[str, Mapping[tuple[str, str], float]]) -> set[str]:
    """Of the endpoints that run beside it those whose names the caller may read."""
    names = {endpoint for owners in taken.values() for endpoint, _ in owners}
    return set(Endpoint.objects.filter(name__in=names).values_list("name", flat=True))
