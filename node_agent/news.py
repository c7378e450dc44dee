"""Which news waits for nobody: a replica that has become ready, has failed or has stopped."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from wire.messages import ObservedReplica

# Others wait for these: requests for one that is ready, operations for all three.
URGENT: Final = frozenset({"ready", "failed", "stopped"})


class News:
    """Before a report of a change there is a pause, so that what changes in one moment is told in
    one, and a start of a few tenths of a second costs no report of each step; it ends early for a
    state of ``URGENT`` that the last report did not tell."""

    def __init__(self) -> None:
        self._told: Mapping[str, str] = {}  # replica -> its state, by the last report
        self._urgent = asyncio.Event()

    def tell(self, replicas: Iterable[ObservedReplica], states: Mapping[str, str]) -> None:
        """A report with these begins; ``states`` is what has become of them meanwhile."""
        self._told = {one.replica_id: one.state for one in replicas}
        self._urgent.clear()
        self.heard(states)

    def heard(self, states: Mapping[str, str]) -> None:
        """``states``: replica -> its state, after a change."""
        if any(state in URGENT and self._told.get(name) != state for name, state in states.items()):
            self._urgent.set()

    async def pause(self, longest_s: float) -> None:
        try:
            async with asyncio.timeout(longest_s):
                await self._urgent.wait()
        except TimeoutError:
            pass
