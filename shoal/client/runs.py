"""What the calls about load sweeps and tunings have alike: both ask a deployment under load."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from shoal.client.administration import quoted

UNDER_WAY: Final = ("Queued", "Running")  # of what a node does once, trials too


class Measurement(TypedDict):
    id: str
    state: str
    endpoint: str
    deployment: str
    revision: int
    node: str
    model: str
    case: str
    mode: str
    levels: list[float]
    seconds: float
    warm_up_s: float
    slo_percentile: int | None
    slo_ms: float | None
    stopped_by: str
    error: dict[str, Any] | None
    created_by: str
    created_at: str
    finished_at: str | None


def load_body(
    slo_percentile: int | None,
    slo_ms: float | None,
    shapes: Mapping[str, Sequence[int]] | None,
) -> dict[str, Any]:
    """The objective and the shapes, where there are any."""
    body: dict[str, Any] = {}
    if slo_percentile is not None or slo_ms is not None:
        body |= {"slo_percentile": slo_percentile, "slo_ms": slo_ms}
    if shapes:
        body["shapes"] = {name: list(shape) for name, shape in shapes.items()}
    return body


def path_of(endpoint: str, deployment: str, kind: str) -> str:
    return f"/endpoints/{quoted(endpoint)}/deployments/{quoted(deployment)}/{kind}"
