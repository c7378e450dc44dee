"""Requests that the control plane makes to compare answers: they count for no deployment."""

from typing import Final

from controlplane.gateway.access_log import Entry
from controlplane.gateway.seen import REQUEST_ID
from wire.own_requests import COMPARISON, is_signed

MOST_REMEMBERED: Final = 10_000  # ids, for longer than they are valid


class OwnRequests:
    """Tells them apart. Each id does so once: whoever reads one, such as the owner of the model
    that was asked, hides nothing by sending it again."""

    def __init__(self) -> None:
        self.key = ""  # the installation's, once the control plane has told it
        self._seen: dict[str, None] = {}  # the oldest first

    def has(self, entry: Entry) -> bool:
        """Whether ``entry`` is one of them; of those with one id the first."""
        request_id = entry.columns[REQUEST_ID]
        if not request_id.startswith(COMPARISON):  # as all but a few
            return False
        if not is_signed(self.key, entry.endpoint, request_id, entry.began):
            return False
        if request_id in self._seen:
            return False
        if len(self._seen) >= MOST_REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[request_id] = None
        return True
