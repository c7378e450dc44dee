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
