"""The client's call about how the arms of an endpoint's split compare."""

from typing import Any, TypedDict, cast

from shoal.client.administration import Administration, quoted


class Arm(TypedDict):
    deployment: str
    model: str
    version: int
    revision: int
    asked_percent: int
    measured_percent: float | None
    rules: list[str]
    requests: int
    failed: int
    refused: int
    failed_share: float | None
    failed_low: float
    failed_high: float
    p50_us: float | None
    p95_us: float | None
    p99_us: float | None
    missing: int
    verdict: str
    text: str
    differences: list[dict[str, Any]]
    golden: dict[str, Any] | None
    answers: dict[str, Any] | None


class Experiment(TypedDict):
    endpoint: str
    seconds: float
    baseline: str
    interval: float
    changed_at: str | None
    notes: list[str]
    arms: list[Arm]


class Experiments(Administration):
    """A part of ``Client``."""

    def get_experiment(
        self, endpoint: str, *, baseline: str | None = None, range_s: int | None = None
    ) -> Experiment:
        """What was measured of each deployment with a share or a rule in the last ``range_s``
        seconds (3600), and how sure it is that one does worse or better than ``baseline``, else
        than the one with the largest share."""
        path = f"/endpoints/{quoted(endpoint)}/experiment"
        return cast(Experiment, self._get(path, baseline=baseline, range=range_s))
