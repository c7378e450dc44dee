"""The newest snapshot, kept by each process for as long as nothing changes that gateways route."""

import time
from dataclasses import dataclass
from threading import Lock
from typing import Final

from controlplane.deployments.selectors import RoutingRevision, routing_revision
from controlplane.gateway.services import snapshot_release
from wire import codec

RENDERED_ANEW_S: Final = 30.0  # whatever the revision says: no gateway stays behind for good


@dataclass(frozen=True, slots=True)
class Encoded:
    version: str
    content: bytes  # a ``GatewaySnapshot`` as ``wire.codec`` writes it


@dataclass(frozen=True, slots=True)
class _Kept:
    revision: RoutingRevision
    made_at: float  # monotonic seconds
    encoded: Encoded


class Snapshots:
    """Thread-safe: of many gateways that ask after a change, one has it rendered for all."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: _Kept | None = None

    def newest(self) -> Encoded:
        """In two queries while nothing has changed."""
        with self._lock:
            revision, now = routing_revision(), time.monotonic()
            kept = self._kept
            if kept is None or kept.revision != revision or now - kept.made_at > RENDERED_ANEW_S:
                snapshot = snapshot_release()
                encoded = Encoded(snapshot.version, codec.encode(snapshot))
                self._kept = kept = _Kept(revision, now, encoded)
            return kept.encoded


snapshots: Final = Snapshots()  # of this process
