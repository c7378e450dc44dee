"""``python -m benchmarks.gpu``: models on a GPU, each beside a bare loop of its own library.

Results are written after each point, so that a run that is cut off keeps what it has. What cannot
be measured is told and the rest goes on; the exit status is 1 then, and where an answer was wrong.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from benchmarks import gpu_page, gpu_report
from benchmarks.gpu_card import Card, NoCard
from benchmarks.gpu_catalog import LIBRARIES, SCALED, Library, Point, points, served
from benchmarks.gpu_child import ChildFailed
from benchmarks.gpu_measure import Clients, Limits, wait_loaded, warm
from benchmarks.gpu_models import Kit, write_configs
from benchmarks.gpu_report import Results
from benchmarks.repository import CORES, ROOT
from benchmarks.server import Server, running
from tests.support import reaper

_QUICK_S = 150.0  # all in all
_LOAD_S = 90.0
_WARM_S = 0.5
_START_S = 8.0  # of a server with one model
_OVERHEAD_S = 1.5  # of a point: connecting, and what is under way at its end
_LENIENT = ("--exit-on-error=false", "--strict-readiness=false", "--model-control-mode=explicit")


def main() -> int:
    options = arguments()
    card = None
    if options.device == "cuda":
        try:
            card = Card()
        except (NoCard, ImportError) as error:
            print(f"No GPU to measure on: {error}. Try --device cpu --tiny.", file=sys.stderr)
            return 2
    keeper = reaper.start()  # what is left when this is killed ends, too
    results = Results(options.output, gpu_report.about(card, options))
    run = Run(options, card, results)
    try:
        run.all()
    finally:
        results.write()
        del keeper
    gpu_report.print_results(results.body)
    if options.docs:
        gpu_page.rewrite(options.docs, results.body)
    return 0 if results.good() else 1


class Run:
    def __init__(self, options: argparse.Namespace, card: Card | None, results: Results) -> None:
        self._options, self._card, self._results = options, card, results
        self._started = time.monotonic()
        self._kit = Kit(options.device, options.tiny)
        wanted = [point for point in points() if _chosen(point, options)]
        self._points = [point for point in wanted if point.frontends == 1]
        self._scaled = [point for point in wanted if point.frontends > 1]

    def all(self) -> None:
        made = self._make(sorted({point.model for point in (*self._points, *self._scaled)}))
        self._points = [point for point in self._points if point.model in made]
        self._scaled = [point for point in self._scaled if point.model in made]
        which = [(key, library) for key in LIBRARIES for library in LIBRARIES[key] if key in made]
        which = [pair for pair in which if any((p.model, p.library) == pair for p in self._points)]
        with ExitStack() as stack:
            clients = Clients(self._kit, self._options.clients)
            stack.callback(clients.close)
            limits = Limits(self._kit, which)
            stack.callback(limits.close)
            serving = stack.enter_context(ExitStack())
            server = self._server(serving, which)
            limits.loaded(self._failed)
            tell("bare limits")
            for row in limits.measured(self._options.seconds / 4, self._card, self._failed):
                self._results.add("limits", row)
                tell(f"  {gpu_report.limit_line(row)}")
            limits.close()
            if server is not None:
                self._measure(clients, server, self._points)
            serving.close()
            self._scale(clients)

    def _make(self, keys: Sequence[str]) -> set[str]:
        """Makes the networks' files that are not there; the keys of all that are there then."""
        at_once = max(1, CORES // 4)
        waiting = [key for key in keys if not self._kit.made(key)]
        tell(f"models in {self._kit.folder}" + (f": {', '.join(waiting)}" if waiting else ""))
        for first in range(0, len(waiting), at_once):
            running_now = {key: _maker(self._kit, key) for key in waiting[first : first + at_once]}
            for key, process in running_now.items():
                output, _ = process.communicate()
                if process.returncode:
                    self._failed(f"making {key}", output[-3000:])
        made = {key for key in keys if self._kit.made(key)}
        for key in made:
            write_configs(self._kit, key, self._options.instances)
        tell(f"  made after {self._elapsed():.0f} s")
        return made

    def _server(
        self, stack: ExitStack, which: Sequence[tuple[str, Library]], frontends: int = 1
    ) -> Server | None:
        """None when it does not start. Models that it could not load lose their points."""
        names = [served(*pair) for pair in which]
        load = [f"--load-model={name}" for name in names]
        flags = [*_LENIENT, *load, *self._options.server_flag]
        if frontends > 1:
            flags.append(f"--frontends={frontends}")
        log = self._results.log(frontends)
        try:
            server = stack.enter_context(running(self._kit.repository, "", flags, log))
            unloaded = wait_loaded(server, names, _LOAD_S)
        except (RuntimeError, OSError) as error:
            self._failed("the server", f"{error} (its log: {log})")
            return None
        for name, reason in unloaded.items():
            self._failed(f"loading {name}", reason)
            self._points = [point for point in self._points if point.served != name]
        tell(f"  the server has loaded after {self._elapsed():.0f} s")
        return server

    def _measure(self, clients: Clients, server: Server, wanted: Sequence[Point]) -> None:
        warmed: dict[str, bool] = {}
        for point in wanted:
            if not warmed.get(point.served, True):
                continue  # why: it has been told of
            if not self._time_for(point):
                continue
            if point.served not in warmed:
                warmed[point.served] = self._warm(point, server)
                if not warmed[point.served]:
                    continue
            try:
                found = clients.measured(point, server, self._card, _WARM_S, self._options.seconds)
            except (ChildFailed, OSError, RuntimeError) as error:
                self._failed(str(point), f"{type(error).__name__}: {error}")
                clients.replaced()
                continue
            row = asdict(point) | asdict(found)
            self._results.add("points", row)
            tell(f"  {gpu_report.point_line(row)}")

    def _time_for(self, point: Point, more_s: float = 0.0) -> bool:
        """Whether the point can be measured in time, ``more_s`` included; else it is left out."""
        need = _WARM_S + self._options.seconds + _OVERHEAD_S + more_s
        if self._elapsed() + need <= self._options.within:
            return True
        self._results.add("left_out", {"point": str(point), "why": "no time was left"})
        return False

    def _warm(self, point: Point, server: Server) -> bool:
        try:
            warm(self._kit, point.model, point.library, server)
        except (OSError, RuntimeError) as error:
            self._failed(f"warming {point.served}", f"{type(error).__name__}: {error}")
            return False
        return True

    def _scale(self, clients: Clients) -> None:
        """The same load on servers with more front ends, each started anew."""
        if self._scaled and not _has_frontends():
            why = "this runtime has no flag --frontends"
            for point in self._scaled:
                self._results.add("left_out", {"point": str(point), "why": why})
            return
        for point in self._scaled:
            if not self._time_for(point, _START_S):
                continue
            with ExitStack() as stack:
                server = self._server(stack, [SCALED], point.frontends)
                if server is not None:
                    self._measure(clients, server, [point])

    def _failed(self, what: str, why: str) -> None:
        tell(f"  FAILED {what}: {why}")
        self._results.add("failures", {"what": what, "why": why})

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


def _maker(kit: Kit, key: str) -> "subprocess.Popen[str]":
    job = {"device": kit.device, "tiny": kit.tiny, "key": key}
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.gpu_models", json.dumps(job)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def _has_frontends() -> bool:
    command = [sys.executable, "-m", "worker_runtime", "--help"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "--frontends" in text.stdout + text.stderr


def _chosen(point: Point, options: argparse.Namespace) -> bool:
    if options.quick and not point.quick:
        return False
    if options.device == "cpu" and point.transport == "cuda" and not options.cuda_memory:
        return False
    names = {point.model, point.served, point.transport, str(point)}
    return not options.only or bool(names & set(options.only))


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="small networks of the same shapes")
    parser.add_argument(
        "--only", action="append", metavar="NAME",
        help="points of a model, a served model (bert_pytorch), a transport, or one (in quotes, as "
        "it is printed: bert_pytorch grpc 16x8); several times",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="the first points, in 150 seconds")
    parser.add_argument("--seconds", type=float, default=3.0, help="measured per point")
    parser.add_argument("--within", type=float, help="seconds after which no point is begun")
    parser.add_argument("--instances", type=int, default=1, help="of each model")
    parser.add_argument(
        "--clients",
        type=int,
        default=min(8, max(CORES // 2, 1)),
        help="processes that put the load on",
    )
    parser.add_argument(
        "--cuda-memory", action="store_true", help="CUDA shared memory also with --device cpu"
    )
    parser.add_argument("--server-flag", action="append", default=[], metavar="FLAG")
    parser.add_argument("--output", type=Path, help="JSON; by default in benchmarks/results")
    parser.add_argument("--docs", type=Path, help="rewrite the measured part of this page")
    options = parser.parse_args(given)
    if options.quick:
        options.seconds = min(options.seconds, 2.0)
    if options.within is None:
        options.within = _QUICK_S if options.quick else float("inf")
    if options.tiny and options.device == "cpu" and options.output is None:
        # why: what tiny networks do on a CPU is no result to keep
        options.output = Path(tempfile.gettempdir()) / "gpu-on-cpu.json"
    return options


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
