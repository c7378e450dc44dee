"""The client's calls about tunings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict, cast

from shoal.client.administration import Administration, quoted
from shoal.client.runs import Measurement, load_body, path_of
from shoal.client.sweeps import SweepPoint


class Setting(TypedDict):
    instances: int
    batch: int  # max_batch_size; 0: it takes no batches
    delay_us: int


class TuningRun(TypedDict):
    setting: Setting
    reason: str
    within: bool
    throughput: float | None
    latency_us: float | None
    level: float | None
    memory_bytes: int
    load_seconds: float | None
    error: dict[str, Any] | None
    frontier: bool
    chosen: bool
    points: list[SweepPoint]


class TuningSummary(Measurement):
    registered_model: str
    version: int
    config_revision: int | None
    instances: list[int]
    batch_sizes: list[int]
    delays_us: list[int]
    now: Setting
    configurations: int
    budget: int
    measured: int
    current: dict[str, Any] | None
    applied: int | None


class Tuning(TuningSummary):
    runs: list[TuningRun]
    gain: float | None


class Tunings(Administration):
    """A part of ``Client``."""

    def start_tuning(
        self,
        endpoint: str,
        deployment: str,
        *,
        instances: Sequence[int] = (),
        batch_sizes: Sequence[int] = (),
        delays_us: Sequence[int] = (),
        slo_percentile: int | None = None,
        slo_ms: float | None = None,
        shapes: Mapping[str, Sequence[int]] | None = None,
        **more: Any,
    ) -> Tuning:
        """Seek a configuration for its model; follow it with ``get_tuning``.

        ``more``: model, levels, mode, case (an id), batch, seconds, warm_up_s, runs, node,
        while_serving, as in REST.
        """
        body: dict[str, Any] = {
            "instances": list(instances),
            "batch_sizes": list(batch_sizes),
            "delays_us": list(delays_us),
            **more,
        }
        body |= load_body(slo_percentile, slo_ms, shapes)
        path = path_of(endpoint, deployment, "tunings")
        return cast(Tuning, self._transport.json("POST", path, json=body))

    def list_tunings(self, endpoint: str, deployment: str) -> Iterator[TuningSummary]:
        """The newest first."""
        for item in self._items(path_of(endpoint, deployment, "tunings")):
            yield cast(TuningSummary, item)

    def get_tuning(self, tuning_id: str) -> Tuning:
        return cast(Tuning, self._get(f"/tunings/{quoted(tuning_id)}"))

    def cancel_tuning(self, tuning_id: str) -> Tuning:
        """What was measured until then is kept."""
        return cast(Tuning, self._transport.json("POST", f"/tunings/{quoted(tuning_id)}/cancel"))

    def apply_tuning(self, tuning_id: str, setting: Setting | None = None) -> Tuning:
        """Save the chosen configuration, or ``setting``, as a revision: its number is ``applied``.

        Roll it out by ``change_deployment(endpoint, deployment, config_revision=number)``.
        """
        path, body = f"/tunings/{quoted(tuning_id)}/apply", {"setting": setting}
        return cast(Tuning, self._transport.json("POST", path, json=body))
