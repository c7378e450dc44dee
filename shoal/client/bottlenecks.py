"""The client's call about why an endpoint is slow."""

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
