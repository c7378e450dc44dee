"""The client's calls about load sweeps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict, cast

from shoal.client.administration import Administration, quoted
from shoal.client.runs import Measurement, load_body, path_of


class SweepPoint(TypedDict):
    level: float
    seconds: float
    good: int
    throughput: float
    mean_us: float
    p50_us: float
    p90_us: float
    p95_us: float
    p99_us: float
    errors: dict[str, int]
    failed: int
    error_share: float
    within_slo: bool | None
    batch: float | None
    queue_us: float | None
    compute_us: float | None
    others: int
    client_busy: float


class SweepRow(Measurement):
    replica: str
    model_version: str
    batch: int
    shapes: dict[str, list[int]]
    expected_s: float
    traffic: int


class SweepSummary(SweepRow):
    measured: int


class LoadSweep(SweepRow):
    points: list[SweepPoint]
    knee: float | None
    knee_throughput: float | None
    slo_level: float | None
    slo_throughput: float | None
    perf_analyzer: str


class Sweeps(Administration):
    """A part of ``Client``."""

    def start_sweep(
        self,
        endpoint: str,
        deployment: str,
        levels: Sequence[float],
        *,
        mode: str = "concurrency",
        slo_percentile: int | None = None,
        slo_ms: float | None = None,
        while_serving: bool = False,
        shapes: Mapping[str, Sequence[int]] | None = None,
        **more: Any,
    ) -> LoadSweep:
        """Have a ready replica measured at each of ``levels``; follow it with ``get_sweep``.

        ``more``: model, model_version, case (an id), batch, seconds, warm_up_s, as in REST.
        """
        body: dict[str, Any] = {"levels": list(levels), "mode": mode, **more}
        body |= load_body(slo_percentile, slo_ms, shapes)
        if while_serving:
            body["while_serving"] = True
        path = path_of(endpoint, deployment, "sweeps")
        return cast(LoadSweep, self._transport.json("POST", path, json=body))

    def list_sweeps(self, endpoint: str, deployment: str) -> Iterator[SweepSummary]:
        """The newest first."""
        for item in self._items(path_of(endpoint, deployment, "sweeps")):
            yield cast(SweepSummary, item)

    def get_sweep(self, sweep_id: str) -> LoadSweep:
        return cast(LoadSweep, self._get(f"/sweeps/{quoted(sweep_id)}"))

    def cancel_sweep(self, sweep_id: str) -> LoadSweep:
        """What was measured until then is kept."""
        path = f"/sweeps/{quoted(sweep_id)}/cancel"
        return cast(LoadSweep, self._transport.json("POST", path))

    def sweep_csv(self, sweep_id: str) -> str:
        """A head line, and a line for each point."""
        return b"".join(self._transport.stream(f"/sweeps/{quoted(sweep_id)}/csv")).decode()
