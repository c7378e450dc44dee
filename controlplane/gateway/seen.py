"""Which requests are told of one by one: failed ones, slow ones, and a few of all. Bounded, however
many there are."""

import heapq
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from controlplane.gateway.access_log import Entry
from wire.samples import LAST, RANDOM, VERSION, SeenRequest, is_skipped, rank, skipped

OF_EACH: Final = 3  # failed by us, refused, slow, and any; of each endpoint between two reports
MOST: Final = 200  # of all endpoints together
LONGEST_PATH: Final = 200
LONGEST_WORD: Final = 64
OURS, THEIRS, FINE = "5xx", "4xx", "2xx"
TROUBLE: Final = (OURS, THEIRS)
SLOW, FAILED, SAMPLED = "slow", "failed", "sampled"
REQUEST_ID: Final = -3  # of an entry's columns
GRPC_PREFIX: Final = "/inference.GRPCInferenceService/"


@dataclass(slots=True)
class _Some:
    """A few of however many: those with the smallest ranks, each id once. Which these are clients
    do not know, and the replicas choose the same."""

    heap: list[tuple[int, int, Entry]] = field(default_factory=list)  # the largest rank first
    ids: set[str] = field(default_factory=set)
    skipped: str = ""  # last digits of random ids whose ranks are too large

    def add(self, entry: Entry, number: int, salt: int) -> None:
        request_id = entry.columns[REQUEST_ID]
        if is_skipped(request_id, self.skipped):
            return
        item = (-rank(request_id, salt), number, entry)
        if request_id in self.ids or (len(self.heap) >= OF_EACH and item < self.heap[0]):
            return
        self.ids.add(request_id)
        if len(self.heap) < OF_EACH:
            heapq.heappush(self.heap, item)
        else:
            _, _, gone = heapq.heapreplace(self.heap, item)
            self.ids.discard(gone.columns[REQUEST_ID])
        if len(self.heap) >= OF_EACH:
            self.skipped = skipped(salt, -self.heap[0][0])

    @property
    def kept(self) -> list[Entry]:
        return [entry for _, _, entry in sorted(self.heap, key=lambda item: item[1])]


@dataclass(slots=True)
class _Chosen:
    ours: _Some = field(default_factory=_Some)
    theirs: _Some = field(default_factory=_Some)
    any: _Some = field(default_factory=_Some)
    slow: list[tuple[float, int, Entry]] = field(default_factory=list)  # a heap, the quickest first
    slower_than: float = -1.0  # what takes no longer is not among the slow ones
    skipped: str = ""  # as ``any`` has it

    def add(self, entry: Entry, number: int, salt: int) -> None:
        if entry.status_class in TROUBLE:
            failed = self.ours if entry.status_class == OURS else self.theirs
            failed.add(entry, number, salt)
            return
        self.any.add(entry, number, salt)
        self.skipped = self.any.skipped
        if entry.duration_us is None:
            return
        if len(self.slow) < OF_EACH:
            heapq.heappush(self.slow, (entry.duration_us, number, entry))
        elif entry.duration_us > self.slow[0][0]:
            heapq.heapreplace(self.slow, (entry.duration_us, number, entry))
        if len(self.slow) >= OF_EACH:
            self.slower_than = self.slow[0][0]


class Chooser:
    """Of the requests since the last ``take`` those that people may want to look at."""

    def __init__(self) -> None:
        self._chosen: dict[str, _Chosen] = {}
        self._number = 0
        self.salt = 0  # the installation's, once the control plane has told it

    def add(self, entry: Entry) -> None:
        chosen = self._chosen.get(entry.endpoint)
        # why not setdefault: it would make one of these for each request
        if chosen is None:
            chosen = self._chosen[entry.endpoint] = _Chosen()
        # why here, and ``is_skipped`` written out: of nearly all it is seen that nobody wants to
        # know of them, and another call would cost a third of it
        elif (
            entry.status_class == FINE
            and (found := entry.columns[REQUEST_ID])[LAST] in chosen.skipped
            and found[VERSION] == RANDOM
            and ((took := entry.duration_us) is None or took <= chosen.slower_than)
        ):
            return
        self._number += 1
        chosen.add(entry, self._number, self.salt)

    def take(self) -> tuple[SeenRequest, ...]:
        """What failed through us first, where there are too many of all endpoints."""
        chosen, self._chosen = self._chosen, {}
        found: dict[str, SeenRequest] = {}
        each = list(chosen.values())
        for why, entry in chain(
            ((FAILED, entry) for one in each for entry in one.ours.kept),
            ((SLOW, entry) for one in each for _, _, entry in one.slow),
            ((FAILED, entry) for one in each for entry in one.theirs.kept),
            ((SAMPLED, entry) for one in each for entry in one.any.kept),
        ):
            if len(found) < MOST and entry.columns[REQUEST_ID] not in found:
                found[entry.columns[REQUEST_ID]] = seen(entry, why)
        return tuple(found.values())


def seen(entry: Entry, why: str) -> SeenRequest:
    _, _, _, host, attempts, status, grpc_status, *_, flags, details, _, _ = entry.columns[:-3]
    request_id, method, path = entry.columns[-3:]
    path = path.removeprefix(f"/endpoints/{entry.endpoint}").removeprefix(GRPC_PREFIX) or "/"
    return SeenRequest(
        id=plain(request_id, LONGEST_WORD),
        endpoint=entry.endpoint,
        deployment=entry.deployment,
        at=entry.began,
        why=why,
        method=plain(method, LONGEST_WORD),
        path=plain(path, LONGEST_PATH),
        status=int(status),
        grpc_status=None if grpc_status == "-" else int(grpc_status),
        status_class=entry.status_class,
        host="" if host == "-" else plain(host, LONGEST_WORD),
        attempts=0 if attempts == "-" else int(attempts),
        duration_us=entry.duration_us,
        receive_us=entry.receive_us,
        send_us=entry.send_us,
        request_bytes=entry.request_bytes,
        response_bytes=entry.response_bytes,
        as_json=entry.as_json,
        flags="" if flags == "-" else plain(flags, LONGEST_WORD),
        details=plain(details, LONGEST_WORD),
    )


def plain(text: str, most: int) -> str:
    """Clients write it: databases and terminals take no control characters."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text[:most])
