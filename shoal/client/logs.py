"""The client's call that reads log lines."""

from typing import cast

from shoal.client.administration import Administration, quoted
from shoal.client.types import LogLine


class Logs(Administration):
    """A part of ``Client``."""

    def get_logs(
        self,
        endpoint: str,
        deployment: str,
        *,
        tail: int = 200,
        replica: str | None = None,
        stream: str | None = None,
        after: int | None = None,
        since: str | None = None,
        q: str | None = None,
        level: str | None = None,
    ) -> list[LogLine]:
        """Lines of the deployment's replicas, oldest first; ``after``: the last id already seen.

        ``q``: only lines with this text; ``level``: ``warn`` or ``error``, and what is worse;
        ``since``: an ISO 8601 time. All that is kept is searched.
        """
        path = f"/endpoints/{quoted(endpoint)}/deployments/{quoted(deployment)}/logs"
        chosen = {"replica": replica, "stream": stream, "since": since, "q": q, "level": level}
        body = self._get(path, tail=tail, after=after, **chosen)
        return cast(list[LogLine], body["lines"])
