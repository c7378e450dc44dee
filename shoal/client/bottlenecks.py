"""The client's calls about why an endpoint is slow, and what each of its models is doing."""

from typing import TypedDict, cast

from shoal.client.administration import Administration, quoted


class Part(TypedDict):
    name: str
    us: float


class Finding(TypedDict):
    code: str
    title: str
    text: str
    change: str
    us: float
    area: str
    where: str


class BottlenecksFound(TypedDict):
    deployment: str
    seconds: float
    summary: str
    requests: int
    refused: float
    total_us: float
    p50_us: float | None
    p95_us: float | None
    p99_us: float | None
    parts: list[Part]
    findings: list[Finding]


class PipelineStep(TypedDict):
    name: str
    step: bool
    executes: bool
    request_rate: float | None
    request_us: float | None
    queue_us: float | None
    compute_us: float | None
    mean_batch: float | None
    busy: float | None
    pending: float | None
    failure_rate: float
    share: float | None
    slow: str
    faulty: str


class PipelineCalls(TypedDict):
    caller: str
    callee: str
    calls: float
    call_rate: float | None
    per_request: float | None
    mean_us: float | None
    failure_rate: float
    last_at: str


class Pipeline(TypedDict):
    deployment: str
    seconds: float
    models: list[PipelineStep]
    calls: list[PipelineCalls]


class Bottlenecks(Administration):
    """A part of ``Client``."""

    def get_bottlenecks(
        self, endpoint: str, *, deployment: str | None = None, range_s: int | None = None
    ) -> BottlenecksFound:
        """Where a mean request's time went in the last ``range_s`` seconds (60), and why.

        Without ``deployment`` of the one that answered most.
        """
        path = f"/endpoints/{quoted(endpoint)}/bottlenecks"
        body = self._get(path, deployment=deployment, range=range_s)
        return cast(BottlenecksFound, body)

    def get_pipeline(self, endpoint: str, deployment: str) -> Pipeline:
        """What each model of a deployment is doing now: ensembles, the steps that they call, and
        which models call which others (BLS)."""
        path = f"/endpoints/{quoted(endpoint)}/deployments/{quoted(deployment)}/pipeline"
        return cast(Pipeline, self._get(path))
