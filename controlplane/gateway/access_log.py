"""From Envoy's access log to samples: reading lines, telling deployments apart, counting."""

import math
import os
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

from controlplane.deployments.naming import HELD_OUT
from controlplane.gateway.listeners import ACCESS_LOG_COLUMNS
from controlplane.gateway.names import deployment_of
from wire.samples import GatewaySample

FIRST_BUCKET_US = 50.0
BUCKET_GROWTH = 1.05
READ_BYTES = 1 << 20
MOST_CONNECTIONS = 1 << 16  # that are known again
MAX_READ_BYTES = 16 << 20  # of one poll: after a long stop the rest comes with the next polls

SCORING_SUFFIXES = (
    "/infer",
    "/generate",
    "/generate_stream",
    "/score",
    "/invocations",
    "/ModelInfer",
)
STREAM_PATH = "/inference.GRPCInferenceService/ModelStreamInfer"
# By the key check, by the endpoint's limits of pace and of size: no replica has seen these.
REFUSED = frozenset({"lua_response", "local_rate_limited", "request_payload_too_large"})
GRPC_OK = 0
# Canceled, InvalidArgument, NotFound, AlreadyExists, PermissionDenied, FailedPrecondition,
# OutOfRange, Unimplemented, Unauthenticated: the caller's side; all other gRPC codes are ours.
GRPC_CALLER_ERRORS = frozenset({1, 3, 5, 6, 7, 9, 11, 12, 16})


# why not frozen: there is one for each request, and that would cost a third of a look at it
@dataclass(slots=True)
class Entry:
    """One request. ``duration_us`` is None for streams and refusals: no latency of a model.

    Of it ``receive_us`` passed until the client had sent everything, and ``send_us`` from the
    replica's first byte until the client had taken everything.
    """

    endpoint: str
    deployment: str  # empty when the gateway answered by itself
    status_class: str
    duration_us: float | None
    request_bytes: int
    response_bytes: int
    receive_us: float = 0.0
    send_us: float = 0.0
    connection: str = ""  # Envoy's number of it
    as_json: bool = False  # the tensors came as text
    columns: Sequence[str] = ()  # all of the line, for those that are told of one by one

    @property
    def began(self) -> float:
        """When its first byte was there, Unix seconds. Read for the few that are told of."""
        at = self.columns[0]
        if at.endswith("Z"):
            return datetime.fromisoformat(at).timestamp()
        # why: connections from before an upgrade keep their log's format, which had Unix seconds
        return float(at)


def parse(line: str) -> Entry | None:
    """The request of ``line``; None for those that charts do not count.

    Charts count scoring only: health and metadata calls would drown it, and an unknown endpoint has
    no chart.
    """
    columns = line.rstrip("\n").split("\t")
    if len(columns) != len(ACCESS_LOG_COLUMNS):
        return None  # cut short when Envoy was killed
    (
        _,
        endpoint,
        cluster,
        _,
        _,
        status,
        grpc_status,
        duration,
        receive,
        send,
        received,
        sent,
        _,
        details,
        connection,
        binary,
        _,
        _,
        path,
    ) = columns
    if endpoint == "-" or HELD_OUT in cluster or not _is_scoring(path, endpoint):
        return None  # what is held out gets no client's requests
    refused = details in REFUSED
    untimed = refused or duration == "-" or path == STREAM_PATH
    try:
        return Entry(
            endpoint=endpoint,
            deployment="" if refused else deployment_of(cluster),
            status_class="4xx" if refused else _status_class(status, grpc_status),
            duration_us=None if untimed else float(duration),
            request_bytes=int(received),
            response_bytes=int(sent),
            receive_us=0.0 if untimed or receive == "-" else float(receive),
            send_us=0.0 if untimed or send == "-" else float(send),
            connection=connection,
            as_json=binary == "-" and grpc_status == "-",
            columns=columns,
        )
    except ValueError:
        return None  # a line that two writers tore


def bucket(duration_us: float) -> int:
    """Index as in ``wire.samples.GatewaySample``: -1 below 50 µs, then steps of 5 %."""
    if duration_us < FIRST_BUCKET_US:
        return -1
    return int(math.log(duration_us / FIRST_BUCKET_US) / math.log(BUCKET_GROWTH))


@dataclass(slots=True)
class _Tally:
    requests: int = 0
    status_classes: Counter[str] = field(default_factory=Counter)
    histogram: Counter[str] = field(default_factory=Counter)
    request_bytes: int = 0
    response_bytes: int = 0
    timed: int = 0
    total_us: float = 0.0
    receive_us: float = 0.0
    send_us: float = 0.0
    new_connections: int = 0
    json_requests: int = 0


class Sampler:
    """Counts entries per deployment until they are taken as samples."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, str], _Tally] = {}
        self._connections: OrderedDict[str, None] = OrderedDict()  # by their latest request

    def add(self, entry: Entry) -> None:
        tally = self._tallies.setdefault((entry.endpoint, entry.deployment), _Tally())
        tally.requests += 1
        tally.status_classes[entry.status_class] += 1
        tally.request_bytes += entry.request_bytes
        tally.response_bytes += entry.response_bytes
        tally.json_requests += entry.as_json
        if entry.connection not in self._connections:
            tally.new_connections += 1
            if len(self._connections) >= MOST_CONNECTIONS:
                self._connections.popitem(last=False)
        self._connections[entry.connection] = None
        self._connections.move_to_end(entry.connection)
        if entry.duration_us is not None:
            tally.histogram[str(bucket(entry.duration_us))] += 1
            tally.timed += 1
            tally.total_us += entry.duration_us
            tally.receive_us += entry.receive_us
            tally.send_us += entry.send_us

    def take(self, at: float, interval_s: float) -> tuple[GatewaySample, ...]:
        """Samples since the last call, one per deployment that saw a request."""
        tallies, self._tallies = self._tallies, {}
        return tuple(
            GatewaySample(
                endpoint=endpoint,
                deployment=deployment,
                at=at,
                interval_s=interval_s,
                requests=tally.requests,
                status_classes=dict(tally.status_classes),
                histogram=dict(tally.histogram),
                request_bytes=tally.request_bytes,
                response_bytes=tally.response_bytes,
                timed=tally.timed,
                total_us=tally.total_us,
                receive_us=tally.receive_us,
                send_us=tally.send_us,
                new_connections=tally.new_connections,
                json_requests=tally.json_requests,
            )
            for (endpoint, deployment), tally in sorted(tallies.items())
        )


class Tail:
    """Lines appended to a log since the last look.

    It starts at the log's end: what was before has been counted, or is too old for live charts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: IO[bytes] | None = self._open()
        self._rest = b""
        if self._stream is not None:
            self._stream.seek(0, os.SEEK_END)

    def lines(self) -> Iterator[str]:
        """Whole lines only. Follows the log to its successor once the old file is read up."""
        taken = 0
        while taken < MAX_READ_BYTES:
            if self._stream is None:
                self._stream = self._open()
                if self._stream is None:
                    return
            # why this order: lines written before the new file exists are still read.
            replaced = self._replaced(self._stream)
            content = self._stream.read(READ_BYTES)
            if not content:
                if not replaced:
                    return
                self._stream.close()
                self._stream, self._rest = None, b""
                continue
            taken += len(content)
            *whole, self._rest = (self._rest + content).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace")

    def size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def rotate(self) -> None:
        """Move the log aside. The writer must be told to open a new one; reading goes on in the old
        one until the new one is there and the old one is read."""
        self._path.replace(self._path.with_name(f"{self._path.name}.1"))

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def _open(self) -> IO[bytes] | None:
        try:
            return self._path.open("rb")
        except FileNotFoundError:
            return None

    def _replaced(self, stream: IO[bytes]) -> bool:
        try:
            current = self._path.stat()
        except FileNotFoundError:
            return False
        ours = os.fstat(stream.fileno())
        return current.st_ino != ours.st_ino or current.st_size < stream.tell()


def _is_scoring(path: str, endpoint: str) -> bool:
    if path.endswith(SCORING_SUFFIXES) or path == STREAM_PATH:
        return True
    return path.rstrip("/") == f"/endpoints/{endpoint}"


def _status_class(status: str, grpc_status: str) -> str:
    if grpc_status != "-" and int(grpc_status) != GRPC_OK:
        return "4xx" if int(grpc_status) in GRPC_CALLER_ERRORS else "5xx"
    code = int(status)
    # 0: the client went away before there was an answer.
    return "4xx" if code == 0 else f"{code // 100}xx"
