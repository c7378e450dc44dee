"""Single requests that replicas tell of, on their way to the control plane.

What a replica says is a stranger's: it has bounds of bytes and number, and nothing of it is
believed but that it is of this replica.
"""

import dataclasses
import time
from typing import Final

import httpx

from node_agent import answers
from node_agent.sampler import TIMEOUT_S
from wire import codec
from wire.messages import DesiredReplica
from wire.samples import TracedRequest, TracedRequests

LIMIT_BYTES: Final = 1 << 20
MOST_OF_ONE: Final = 20  # of a replica in one round
MOST: Final = 40  # of the node in one round
RENEWED_S: Final = 10.0  # between looks where nothing was asked: a runtime keeps on for 30 s
FIRST: Final = {"failed": 0, "slow": 1}  # what goes first where there is no room for all


@dataclasses.dataclass(slots=True)
class _Known:
    pid: int
    asked_at: float
    number: int = 0  # the largest that has come


class RequestTraces:
    """``salt`` is the installation's, as the control plane tells it."""

    def __init__(self) -> None:
        self.salt = 0
        self._known: dict[str, _Known] = {}
        self._found: list[TracedRequest] = []

    async def look(
        self, client: httpx.AsyncClient, replica: DesiredReplica, pid: int, port: int, *, busy: bool
    ) -> None:
        """Ask a replica, if it has had requests (``busy``) or would stop to keep any.

        Raises httpx.HTTPError, ValueError for an answer that is none. A runtime of before answers
        with nothing.
        """
        known = self._known.get(replica.replica_id)
        now = time.monotonic()
        if known is None or known.pid != pid:
            known = self._known[replica.replica_id] = _Known(pid, float("-inf"))
        if not busy and now - known.asked_at < RENEWED_S:
            return
        known.asked_at = now
        response = await client.get(
            f"http://127.0.0.1:{port}/requests?salt={self.salt}&after={known.number}",
            timeout=TIMEOUT_S,
            extensions={answers.MOST_BYTES: LIMIT_BYTES},
        )
        said = response.raise_for_status().content
        if not said:
            return
        traced = codec.decode(TracedRequests, said).requests
        known.number = max((one.number for one in traced), default=known.number)
        self._found += [
            dataclasses.replace(
                one,
                replica_id=replica.replica_id,
                endpoint=replica.endpoint,
                deployment=replica.deployment,
            )
            for one in sorted(traced, key=_first)[:MOST_OF_ONE]
        ]

    def take(self, serving: set[str]) -> tuple[TracedRequest, ...]:
        """What the looks since the last time have brought; only ``serving`` replicas stay known."""
        self._known = {key: one for key, one in self._known.items() if key in serving}
        found, self._found = self._found, []
        return tuple(sorted(found, key=_first)[:MOST])


def _first(traced: TracedRequest) -> int:
    return FIRST.get(traced.why, len(FIRST))
