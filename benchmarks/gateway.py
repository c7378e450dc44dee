"""What Envoy takes of the processor for a request: with our files, without one part of them, and as
a bare router; in turns, each in front of one and the same runtime with M0.

All have one worker thread. Only Envoy's own time counts, so that what load and runtime take of few
cores matters little.
"""

import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import gateway_files as files
from benchmarks.envoys import Envoy, running
from benchmarks.gateway_load import LOADS, Target
from benchmarks.gateway_parts import PARTS, WORSE, change
from benchmarks.repository import prepared
from benchmarks.server import running as runtime
from benchmarks.workloads import WORKLOADS, Protocol

TIMES_BARE = 1.15  # the promise
TURNS = 25
NEIGHBOURS = 40
BARE, OURS, CROWDED = "bare router", "with our files", f"{NEIGHBOURS} endpoints beside it"
_WORKLOAD = WORKLOADS[0]
_WARM_UP_S = 0.2


@dataclass(frozen=True, slots=True)
class Line:
    """How callers come in."""

    protocol: Protocol
    tls: bool

    def __str__(self) -> str:
        return f"{self.protocol}, {'TLS' if self.tls else 'plain'}"


PLAIN = tuple(Line(protocol, tls=False) for protocol in LOADS)
LINES = (*PLAIN, *(Line(protocol, tls=True) for protocol in LOADS))


@dataclass(frozen=True, slots=True)
class Pair:
    """µs of CPU per request of two Envoys, one for each turn."""

    one: list[float]
    other: list[float]

    def times(self) -> float:
        """The median over the turns, as both of a turn saw the same machine."""
        return statistics.median(
            one / other for one, other in zip(self.one, self.other, strict=True)
        )

    def more(self) -> float:
        return statistics.median(
            one - other for one, other in zip(self.one, self.other, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Costs:
    """``whole``: with our files, and the bare router. ``parts``: with and without each.

    ``worse``: with something more, and as it is.
    """

    whole: dict[Line, Pair]
    parts: dict[str, dict[Line, Pair]]
    worse: dict[str, dict[Line, Pair]]


def measured(seconds: float, turns: int, tell: Callable[[str], None] = lambda _: None) -> Costs:
    """``seconds`` of load for each turn of each Envoy. Parts are measured over plain lines only.

    No more than three Envoys at a time: each has an inotify instance per file that it follows, and
    a user has 128 of them.
    """
    with (
        runtime(prepared(_WORKLOAD), _WORKLOAD.model) as server,
        tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder,
        ExitStack() as stack,
    ):
        home = Path(folder)
        snapshot = files.rendered(server, 0)
        bare = stack.enter_context(running(files.bare(home / "bare", server)))
        ours = stack.enter_context(running(files.product(home / "ours", snapshot), files.PREFIX))
        tell(f"  as a whole: {turns} turns of {seconds:.2g} s each")
        whole = {line: _in_turns(line, (ours, bare), seconds, turns) for line in LINES}
        parts = {}
        for number, (name, without) in enumerate(PARTS.items()):
            settings = files.product(home / f"without-{number}", snapshot)
            change(settings, without)
            tell(f"  {name}")
            with running(settings, files.PREFIX) as lighter:
                parts[name] = {
                    line: _in_turns(line, (ours, lighter), seconds, turns) for line in PLAIN
                }
        heavy = {
            CROWDED: files.product(
                home / "crowded", files.rendered(server, NEIGHBOURS), files.ENDPOINT
            )
        }
        for number, (name, more) in enumerate(WORSE.items()):
            heavy[name] = files.product(home / f"worse-{number}", snapshot)
            change(heavy[name], more)
        worse = {}
        for name, settings in heavy.items():
            tell(f"  {name}")
            with running(settings, files.PREFIX) as heavier:
                worse[name] = {
                    line: _in_turns(line, (heavier, ours), seconds, turns) for line in PLAIN
                }
        return Costs(whole, parts, worse)


def _in_turns(line: Line, pair: tuple[Envoy, Envoy], seconds: float, turns: int) -> Pair:
    with ExitStack() as stack:
        loads = []
        for envoy in pair:
            loads.append(LOADS[line.protocol](target(line, envoy)))
            stack.callback(loads[-1].close)
            loads[-1].run(_WARM_UP_S)
        costs: tuple[list[float], list[float]] = ([], [])
        for _ in range(turns):
            for envoy, load, mine in zip(pair, loads, costs, strict=True):
                before = envoy.cpu_s()
                answered = load.run(seconds)
                mine.append((envoy.cpu_s() - before) / answered * 1e6)
    return Pair(*costs)


def target(line: Line, envoy: Envoy) -> Target:
    """The bare router passes the path on as it is, ours takes the endpoint off."""
    headers = [("authorization", f"Bearer {files.KEY}")]
    if line.protocol == "grpc":
        headers.append(("x-shoal-endpoint", files.ENDPOINT))
    port, ca = (envoy.tls_port, envoy.ca) if line.tls else (envoy.plain_port, None)
    path = f"{envoy.prefix}/v2/models/{_WORKLOAD.model}/infer"
    return Target(port, line.protocol, ca, path, tuple(headers))


def print_costs(costs: Costs) -> None:
    print(f"\n{'CPU of Envoy per request, µs':32}" + "".join(f"{line!s:>13}" for line in LINES))
    ours = [statistics.median(costs.whole[line].one) for line in LINES]
    bare = [statistics.median(costs.whole[line].other) for line in LINES]
    for name, row in {OURS: ours, BARE: bare}.items():
        print(f"{name:32}" + "".join(f"{value:13.1f}" for value in row))
    times = "".join(f"{costs.whole[line].times():13.2f}" for line in LINES)
    print(f"{'times the bare router':32}{times}")
    for title, rows in {"saved without": costs.parts, "more with": costs.worse}.items():
        print(title)
        for name, row in rows.items():
            print(f"  {name:30}" + "".join(f"{row[line].more():13.1f}" for line in PLAIN))


def verdicts(costs: Costs) -> list[tuple[bool, str]]:
    times = {line: pair.times() for line, pair in costs.whole.items()}
    return [
        (value <= TIMES_BARE, f"gateway, {line}: {value:.2f} x bare router (at most {TIMES_BARE})")
        for line, value in times.items()
    ]
