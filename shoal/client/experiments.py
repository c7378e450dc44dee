"""The client's calls about how the arms of an endpoint's split compare, and a change of it."""

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


class ComparedAnswers(TypedDict):
    """``arms``: the baseline first, which stands beside itself. ``missing``: why there are fewer
    inputs than there could be, each with a ``text``."""

    endpoint: str
    baseline: str
    seconds: float
    sources: list[dict[str, Any]]
    missing: list[dict[str, Any]]
    arms: list[dict[str, Any]]
    differing: list[dict[str, Any]]


class TrafficWatch(TypedDict):
    endpoint: str
    change: dict[str, Any] | None
    left_s: float | None
    found: dict[str, Any] | None


class Experiments(Administration):
    """A part of ``Client``."""

    def get_traffic_watch(self, endpoint: str) -> TrafficWatch:
        """How those do who got more of the traffic by its last change, beside how the endpoint did
        in the five minutes before; ``change`` is None an hour later."""
        return cast(TrafficWatch, self._get(f"/endpoints/{quoted(endpoint)}/traffic/watch"))

    def get_experiment(
        self, endpoint: str, *, baseline: str | None = None, range_s: int | None = None
    ) -> Experiment:
        """What was measured of each deployment with a share or a rule in the last ``range_s``
        seconds (3600), and how sure it is that one does worse or better than ``baseline``, else
        than the one with the largest share."""
        path = f"/endpoints/{quoted(endpoint)}/experiment"
        return cast(Experiment, self._get(path, baseline=baseline, range=range_s))

    def compare_answers(
        self,
        endpoint: str,
        *,
        baseline: str | None = None,
        inputs: int | None = None,
        hours: int | None = None,
        relative: float | None = None,
        absolute: float | None = None,
    ) -> ComparedAnswers:
        """Ask all deployments with a share or a rule the same: golden cases of their models, and
        ``inputs`` (50) of the newest requests that each has captured in the last ``hours`` (24).
        A floating-point value may differ from the baseline's by ``absolute + relative * |it|``
        (1e-5, 1e-3). Takes up to half a minute."""
        asked = {
            "baseline": baseline,
            "inputs": inputs,
            "hours": hours,
            "relative": relative,
            "absolute": absolute,
        }
        body = {name: value for name, value in asked.items() if value is not None}
        path = f"/endpoints/{quoted(endpoint)}/experiment/answers"
        return cast(ComparedAnswers, self._transport.json("POST", path, json=body))
