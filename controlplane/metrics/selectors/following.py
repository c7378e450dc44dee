"""An endpoint that somebody watches: its samples are read and decoded once, as they come."""

from bisect import insort
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from controlplane.metrics import series
from controlplane.metrics.counters import Growing
from controlplane.metrics.models import GatewaySample, NodeSample, ReplicaSample
from controlplane.metrics.selectors.live import columns_of, deployments_known

# Samples that come so late, or from processes that commit in another order than they began, are
# found by their times; what is later than that, by reading all anew.
LATE_S: Final = 10.0
WHOLE_EVERY_S: Final = 30.0
Row = tuple[float, Any]  # Unix seconds, and what was sampled


@dataclass(slots=True)
class Following:
    """Of one endpoint, for one reader at a time.

    ``tick`` gives what reading all anew would; only of a replica that was away for longer than 16 s
    and has come back, what it counted before its first sample may be missing until that is done.
    """

    endpoint: str
    _replicas: dict[tuple[str, str], Growing] = field(default_factory=dict)  # by deployment and id
    _gateway: list[Row] = field(default_factory=list)
    _hosts: dict[str, list[Row]] = field(default_factory=dict)
    _placed: dict[str, float] = field(default_factory=dict)  # node -> latest sample from there
    _deployments: set[str] = field(default_factory=set)
    _taken: dict[str, set[int]] = field(default_factory=dict)  # table -> keys of recent rows
    _whole_at: float = float("-inf")

    def tick(self, now: float) -> tuple[list[str], list[float | None]]:
        """Names of the series as of ``now`` (Unix seconds), and a value for each."""
        recent = 0 <= now - self._whole_at < WHOLE_EVERY_S
        if not recent or not self._take(now, LATE_S):
            self._whole(now)
        self._forget(now - series.LOOKBACK_S)
        sources = self._sources()
        keys = columns_of(self._deployments, sources)
        return keys, series.values(sources, keys, now, told=now - series.TOLD_AFTER_S)

    def _whole(self, now: float) -> None:
        self._replicas, self._gateway, self._hosts, self._placed = {}, [], {}, {}
        self._taken = {}
        self._deployments = deployments_known(self.endpoint, now)
        self._whole_at = now
        self._take(now, series.LOOKBACK_S)

    def _take(self, now: float, back_s: float) -> bool:
        """What is new of so long ago; False where it does not follow on what is kept."""
        mine = {"endpoint": self.endpoint}
        follows = True
        for node, data in self._new(ReplicaSample, now, back_s, mine):
            follows = self._add_replica(node, data) and follows
        for _, data in self._new(GatewaySample, now, back_s, mine):
            self._add_gateway(data)
        of_nodes = {"node__in": sorted(self._placed)}
        for node, sampled in self._new(NodeSample, now, back_s, of_nodes) if self._placed else ():
            self._add_host(node, *sampled)
        return follows

    def _new(
        self, model: Any, now: float, back_s: float, mine: dict[str, Any]
    ) -> list[tuple[str, Any]]:
        """Label and content of the rows that were not taken yet: replicas' in the order in which
        they came, others' in order of time."""
        label = "deployment" if model is GatewaySample else "node"
        recent = model.objects.filter(**mine, at__gt=now - back_s, at__lte=now)
        keys = set(recent.order_by().values_list("pk", flat=True))
        fresh = keys - self._taken.get(model.__name__, set())
        self._taken[model.__name__] = keys
        if not fresh:
            return []
        rows = recent if len(fresh) == len(keys) else model.objects.filter(pk__in=fresh)
        order = ("pk",) if model is ReplicaSample else ("at", "pk")
        found = rows.order_by(*order).values_list(label, "at", "data")
        if model is NodeSample:
            return [(node, (at, data)) for node, at, data in found]
        return [(name, data) for name, _, data in found]

    def _add_replica(self, node: str, data: Any) -> bool:
        key = (str(data["deployment"]), str(data["replica_id"]))
        growing = self._replicas.setdefault(key, Growing())
        at = float(data["at"])
        if growing.track.at and at < growing.track.at[-1]:
            return False
        growing.add(data)
        self._deployments |= {key[0]} - {""}
        if node:
            self._placed[node] = max(at, self._placed.get(node, at))
        return True

    def _add_gateway(self, data: Any) -> None:
        # why in order: gateways send as they like
        insort(self._gateway, (float(data["at"]), data), key=itemgetter(0))
        self._deployments |= {str(data["deployment"])} - {""}

    def _add_host(self, node: str, at: float, info: Any) -> None:
        rows = self._hosts.setdefault(node, [])
        insort(rows, (at, series.host_gauges(info)), key=itemgetter(0))

    def _forget(self, until: float) -> None:
        for growing in self._replicas.values():
            growing.trim(until)
        self._replicas = {key: one for key, one in self._replicas.items() if one.track.at}
        self._gateway = [row for row in self._gateway if row[0] > until]
        self._placed = {node: at for node, at in self._placed.items() if at > until}
        self._hosts = {
            node: [row for row in rows if row[0] > until]
            for node, rows in self._hosts.items()
            if node in self._placed
        }

    def _sources(self) -> dict[str, series.Source]:
        tracks = {key: growing.track for key, growing in self._replicas.items()}
        found = series.sources_of(tracks, [data for _, data in self._gateway])
        for node, rows in self._hosts.items():
            if rows:
                found[f"{series.NODE}{node}"] = series.Source(
                    host=tuple(gauges for _, gauges in rows), host_at=tuple(at for at, _ in rows)
                )
        return found
