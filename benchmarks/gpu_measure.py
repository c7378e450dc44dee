"""Measures: the bare limits in turn, and points on a running server."""

import json
import time
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from benchmarks.gpu_card import Card, watched
from benchmarks.gpu_catalog import MAX_BATCH, Library, Point, served
from benchmarks.gpu_child import Child, ChildFailed, close_all
from benchmarks.gpu_models import Kit, samples_of
from benchmarks.server import Server

_ANSWER_S = 60.0  # for what may have to start a library, to compile, or to give up a request
_WARM_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, MAX_BATCH)


@dataclass(frozen=True, slots=True)
class Measured:
    """Of a point. Rates are items per second; ``cpu_us`` is the server's CPU time per request."""

    per_second: float
    p50_ms: float
    p99_ms: float
    busy: float | None  # share of the time in which the GPU ran anything
    watts: float | None
    gpu_bytes: int
    cpu_us: float
    mean_batch: float
    answers: int  # items, in the time that counts
    checked: int  # items, warm-up included
    wrong: int
    errors: int
    first_error: str
    server_failures: int


class Limits:
    """The loops of all models and libraries: loaded side by side, measured one after another."""

    def __init__(self, kit: Kit, wanted: Iterable[tuple[str, Library]]) -> None:
        self._kit = kit
        self._children = {
            (key, library): Child(
                "benchmarks.gpu_limit",
                {"device": kit.device, "tiny": kit.tiny, "key": key, "library": library},
            )
            for key, library in wanted
        }

    def loaded(self, failed: Callable[[str, str], None]) -> None:
        """Wait for all. ``failed`` is told of those that cannot be measured, which are left out."""
        for which, child in list(self._children.items()):
            try:
                child.hear(_ANSWER_S)
            except ChildFailed as error:
                failed(f"limit {served(*which)}", str(error))
                self._children.pop(which).close()

    def measured(
        self, seconds: float, card: Card | None, failed: Callable[[str, str], None]
    ) -> Iterable[dict[str, Any]]:
        for (key, library), child in self._children.items():
            for batch in self._kit.model(key).batches:
                row = {"model": key, "library": library, "batch": batch}
                try:
                    with watched(card) as seen:
                        asked = {"batch": batch, "seconds": seconds}
                        row |= child.ask(asked, _ANSWER_S + seconds)
                except ChildFailed as error:
                    failed(f"limit {served(key, library)} batch {batch}", str(error))
                    continue
                yield row | {"busy": seen.busy_share}

    def close(self) -> None:
        close_all(self._children.values())
        self._children.clear()


class Clients:
    """Processes that put the load on, started once."""

    def __init__(self, kit: Kit, count: int) -> None:
        self._kit = kit
        self._children = [self._child() for _ in range(count)]

    def _child(self) -> Child:
        job = {"device": self._kit.device, "tiny": self._kit.tiny}
        return Child("benchmarks.gpu_clients", job)

    def measured(
        self, point: Point, server: Server, card: Card | None, warm_s: float, seconds: float
    ) -> Measured:
        """Raises ChildFailed, OSError."""
        server = replace(server, model=point.served)
        children = self._children[: point.under_way]
        self._connect(children, point, server)
        start = time.monotonic() + warm_s
        end = start + seconds
        for child in children:
            child.say([start, end])
        time.sleep(max(start - time.monotonic(), 0))
        with watched(card) as seen:
            before = server.counters()
            time.sleep(max(end - time.monotonic(), 0))
            after = server.counters()
        told = [child.hear(_ANSWER_S) for child in children]
        latencies = np.array([value for one in told for value in one["latencies_us"]]) / 1000
        if not len(latencies):
            errors = [one["first_error"] for one in told if one["first_error"]]
            raise ChildFailed(f"no request was answered in time: {'; '.join(errors[:2])}")
        p50, p99 = np.percentile(latencies, [50, 99])
        return Measured(
            per_second=len(latencies) * point.batch / seconds,
            p50_ms=float(p50),
            p99_ms=float(p99),
            busy=seen.busy_share,
            watts=seen.mean_watts,
            gpu_bytes=seen.used_bytes,
            cpu_us=(after.cpu_s - before.cpu_s) / max(after.requests - before.requests, 1) * 1e6,
            mean_batch=(after.inferences - before.inferences)
            / max(after.executions - before.executions, 1),
            answers=len(latencies) * point.batch,
            checked=sum(one["checked"] for one in told),
            wrong=sum(one["wrong"] for one in told),
            errors=sum(one["errors"] for one in told),
            first_error=next((one["first_error"] for one in told if one["first_error"]), ""),
            server_failures=after.failures - before.failures,
        )

    def _connect(self, children: Sequence[Child], point: Point, server: Server) -> None:
        asked = asdict(point) | {"http_port": server.http_port, "grpc_port": server.grpc_port}
        for number, child in enumerate(children):
            # each process its share, the first ones what is left over
            share, rest = divmod(point.under_way, len(children))
            child.say(asked | {"lanes": share + (number < rest)})
        failed = ""
        connected = []
        for child in children:
            try:
                child.hear(_ANSWER_S)
                connected.append(child)
            except ChildFailed as error:
                failed = str(error)
        if failed:
            for child in connected:  # let those go that wait for the word to begin
                child.ask([0, 0], _ANSWER_S)
            raise ChildFailed(failed)

    def replaced(self) -> None:
        """Anew: of those before, some may have been left in the middle of a point."""
        count = len(self._children)
        self.close()
        self._children = [self._child() for _ in range(count)]

    def close(self) -> None:
        close_all(self._children)


def warm(kit: Kit, key: str, library: Library, server: Server) -> None:
    """Ask for batches of many sizes, twice: libraries compile, and choose kernels, by size."""
    from benchmarks.gpu_lanes import Load, lanes  # noqa: PLC0415  # why: it loads gRPC

    samples, expected = samples_of(kit, key)
    model = kit.model(key)
    for size in _WARM_SIZES:
        load = Load(
            model, served(key, library), size, expected[0].nbytes * size, samples,
            server.http_port, server.grpc_port,
        )  # fmt: skip
        (lane,) = lanes(load, "http", 1)
        try:
            lane.infer(0)
            lane.infer(1)
        finally:
            lane.close()


def wait_loaded(server: Server, wanted: Sequence[str], seconds: float) -> dict[str, str]:
    """Until each of these models is loaded or has failed; the reasons by model that failed."""
    give_up = time.monotonic() + seconds
    while True:
        states = {entry["name"]: entry for entry in _index(server)}
        found = {name: states.get(name, {}) for name in wanted}
        settled = {
            name for name, entry in found.items() if entry.get("state") in {"READY", "UNAVAILABLE"}
        }
        late = time.monotonic() > give_up
        if len(settled) == len(wanted) or late:
            return {
                name: entry.get("reason", "") or f"not loaded after {seconds:.0f} s"
                for name, entry in found.items()
                if entry.get("state") != "READY"
            }
        time.sleep(0.1)


def _index(server: Server) -> list[dict[str, str]]:
    url = f"http://127.0.0.1:{server.http_port}/v2/repository/index"
    request = urllib.request.Request(url, data=b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: list[dict[str, str]] = json.load(answer)
    return found
