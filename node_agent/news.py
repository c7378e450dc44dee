"""Which news waits for nobody: a replica that has become ready, as requests wait for it."""

import asyncio
from collections.abc import Iterable, Mapping

from wire.messages import ObservedReplica


class News:
    """Between two reports there is a pause, so that what changes in one moment is told in one; it
    ends early for a replica that is ready, and was not when it was told of last."""

    def __init__(self) -> None:
        self._told: frozenset[str] = frozenset()  # ready, by the last report
        self._urgent = asyncio.Event()

    def tell(self, replicas: Iterable[ObservedReplica], states: Mapping[str, str]) -> None:
        """A report with these begins; ``states`` is what has become of them meanwhile."""
        self._told = frozenset(one.replica_id for one in replicas if one.state == "ready")
        self._urgent.clear()
        self.heard(states)

    def heard(self, states: Mapping[str, str]) -> None:
        """``states``: replica -> its state, after a change."""
        if any(state == "ready" and name not in self._told for name, state in states.items()):
            self._urgent.set()

    async def pause(self, longest_s: float) -> None:
        try:
            async with asyncio.timeout(longest_s):
                await self._urgent.wait()
        except TimeoutError:
            pass
