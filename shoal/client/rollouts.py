"""The client's calls that move traffic step by step, as long as the candidate does no worse."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from shoal.client.administration import Administration, quoted
from shoal.client.errors import ShoalError
from shoal.client.rollout_types import Rollout, RolloutDifference

UNDER_WAY: Final = frozenset({"Running", "Paused"})
POLL_S: Final = 1.0


class Rollouts(Administration):
    """A part of ``Client``. Where ``rollout_id`` is left out the endpoint's latest is meant."""

    def start_rollout(
        self,
        endpoint: str,
        deployment: str,
        *,
        steps: Sequence[Mapping[str, int]] | None = None,
        min_requests: int | None = None,
        guardrails: Mapping[str, Mapping[str, float] | None] | None = None,
        compare: Mapping[str, Any] | None = None,
        strategy: str | None = None,
        shadow: Mapping[str, int] | None = None,
        supersede: bool = False,
    ) -> Rollout:
        """``steps``: ``{"percent": 10, "hold_s": 300}``, the last of them 100 percent.

        ``guardrails``: by name, ``{"errors": {"tolerance": 1.5, "confidence": 0.99}}``; None turns
        one off. ``compare``: ``{"per_minute": 30}`` asks both versions so many inputs and compares
        the answers ``by`` their ``values`` or their ``best_class``; ``sources`` says where they
        come from: saved ``cases``, ``random``, ``captured``. ``strategy``: by ``steps``, or
        ``blue_green``, from 0 to 100 percent at once. ``shadow``: ``{"percent": 10}`` sends copies
        of so many requests before that, for ``hold_s`` seconds at least. What is not said has the
        installation's defaults.
        """
        asked = {
            "steps": steps,
            "min_requests": min_requests,
            "guardrails": guardrails,
            "compare": compare,
            "strategy": strategy,
            "shadow": shadow,
        }
        body: dict[str, Any] = {"deployment": deployment}
        body |= {name: value for name, value in asked.items() if value is not None}
        params = {"supersede": "true"} if supersede else {}
        answer = self._transport.json("POST", _path(endpoint), json=body, params=params)
        return cast(Rollout, answer)

    def list_rollouts(self, endpoint: str) -> list[Rollout]:
        """Newest first."""
        return cast(list[Rollout], list(self._items(_path(endpoint))))

    def get_rollout(self, endpoint: str, rollout_id: str | None = None) -> Rollout:
        """Raises ShoalError where there has been none."""
        if rollout_id is not None:
            return cast(Rollout, self._transport.json("GET", _path(endpoint, rollout_id)))
        answer = self._transport.json("GET", _path(endpoint), params={"limit": "1"})
        if not answer["items"]:
            raise ShoalError(
                f"{endpoint} has had no rollout",
                "",
                [f"Start one: `shoal rollout start {endpoint} DEPLOYMENT`."],
            )
        return cast(Rollout, answer["items"][0])

    def rollout_differences(
        self, endpoint: str, rollout_id: str | None = None
    ) -> list[RolloutDifference]:
        """The last inputs that the candidate answered otherwise, the newest first."""
        found = rollout_id or self.get_rollout(endpoint)["id"]
        answer = self._transport.json("GET", f"{_path(endpoint, found)}/differences")
        return cast(list[RolloutDifference], answer["items"])

    def pause_rollout(self, endpoint: str, rollout_id: str | None = None) -> Rollout:
        """No next step until it is resumed; guardrails go on, and may withdraw it."""
        return self._done(endpoint, rollout_id, "pause")

    def resume_rollout(self, endpoint: str, rollout_id: str | None = None) -> Rollout:
        return self._done(endpoint, rollout_id, "resume")

    def promote_rollout(self, endpoint: str, rollout_id: str | None = None) -> Rollout:
        """All of the traffic to the candidate now."""
        return self._done(endpoint, rollout_id, "promote")

    def abort_rollout(self, endpoint: str, rollout_id: str | None = None) -> Rollout:
        """The traffic goes back to what it was."""
        return self._done(endpoint, rollout_id, "abort")

    def wait_rollout(
        self,
        endpoint: str,
        rollout_id: str | None = None,
        *,
        on_change: Callable[[Rollout], None] | None = None,
    ) -> Rollout:
        """The rollout once it has ended, in whatever way: its ``state`` says which."""
        rollout, last = self.get_rollout(endpoint, rollout_id), None
        while True:
            if on_change is not None and rollout != last:
                on_change(rollout)
            if rollout["state"] not in UNDER_WAY:
                return rollout
            last = rollout
            self._transport.concurrency.pause(POLL_S)
            rollout = self.get_rollout(endpoint, rollout["id"])

    def _done(self, endpoint: str, rollout_id: str | None, what: str) -> Rollout:
        found = rollout_id or self.get_rollout(endpoint)["id"]
        path = f"{_path(endpoint, found)}/{what}"
        return cast(Rollout, self._transport.json("POST", path))


def _path(endpoint: str, rollout_id: str = "") -> str:
    path = f"/endpoints/{quoted(endpoint)}/rollouts"
    return f"{path}/{quoted(rollout_id)}" if rollout_id else path
