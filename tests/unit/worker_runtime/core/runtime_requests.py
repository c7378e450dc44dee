"""Requests for tests of the core: only what the queue and the policy look at."""

from typing import Any

from worker_runtime.types.request import Arrays, InferRequest, Plan, Response


class RecordingSink:
    """Keeps what it is told, in order."""

    def __init__(self) -> None:
        self.delivered: list[tuple[str, Arrays]] = []
        self.failed: list[tuple[str, Exception]] = []
        self.responded: list[tuple[str, Response | None, bool]] = []

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self.delivered.append((request.id, outputs))

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        self.responded.append((request.id, response, final))

    def fail(self, request: InferRequest, error: Exception) -> None:
        self.failed.append((request.id, error))


KEYS: dict[Any, tuple[Any, ...]] = {}


def request(
    rows: int = 1,
    *,
    key: Any = "a",
    at: int = 0,
    name: str = "",
    priority: int = 0,
    sink: Any = None,
) -> InferRequest:
    """A request of `rows` rows that arrived at `at`; equal `key`s may share a batch."""
    batch_key = KEYS.setdefault(key, (key,))
    plan = Plan(inputs=(), order=None, rows=rows, batch_key=batch_key, outputs=())
    return InferRequest(
        plan=plan,
        inputs=[],
        sink=sink or RecordingSink(),
        id=name,
        queued_ns=at,
        arrived_ns=at,
        priority=priority,
    )
