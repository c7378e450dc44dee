"""The client's call about single requests of an endpoint."""

from typing import TypedDict, cast

from shoal.client.administration import Administration, quoted


class SeenRequest(TypedDict):
    id: str
    deployment: str
    at: float
    why: str
    method: str
    path: str
    status: int
    status_class: str
    grpc_status: int | None
    replica: str
    node: str
    host: str
    attempts: int
    duration_us: float | None
    receive_us: float
    replica_us: float | None
    send_us: float
    request_bytes: int
    response_bytes: int
    as_json: bool
    flags: str
    details: str


class ModelSpan(TypedDict):
    model: str
    version: int
    parent: int
    via: str
    start_us: float
    total_us: float
    batch: int
    accept_us: float | None
    queue_us: float | None
    input_us: float | None
    infer_us: float | None
    output_us: float | None
    error: str


class RequestTrace(TypedDict):
    replica: str
    node: str
    deployment: str
    at: float
    why: str
    spans: list[ModelSpan]
    left_out: int
    shared_with: list[str]


class RequestBar(TypedDict):
    what: str
    depth: int
    start_us: float
    took_us: float
    span: int | None
    leaf: bool
    slow: bool


class RequestStory(TypedDict):
    seen: SeenRequest | None
    trace: RequestTrace | None
    bars: list[RequestBar]
    told: str


class SeenRequests(Administration):
    """A part of ``Client``."""

    def list_requests(
        self,
        endpoint: str,
        *,
        deployment: str | None = None,
        status: str | None = None,
        min_ms: float | None = None,
        request_id: str | None = None,
        order: str | None = None,
        range_s: int | None = None,
        limit: int | None = None,
    ) -> list[SeenRequest]:
        """Of the few that gateways tell of, the newest first, or (``order="slowest"``) the slowest.

        ``status``: failed, 2xx, 4xx, 5xx; ``request_id`` or how it begins; ``range_s``: 3600.
        """
        body = self._get(
            f"/endpoints/{quoted(endpoint)}/requests",
            deployment=deployment,
            status=status,
            min_ms=min_ms,
            id=request_id,
            order=order,
            range=range_s,
            limit=limit,
        )
        return cast(list[SeenRequest], body["items"])

    def get_request(self, endpoint: str, request_id: str) -> list[RequestStory]:
        """All that is kept of requests with exactly this x-request-id, the newest first: what the
        gateway saw, and where the time went in the replica."""
        body = self._get(f"/endpoints/{quoted(endpoint)}/requests/{quoted(request_id)}")
        return cast(list[RequestStory], body["items"])
