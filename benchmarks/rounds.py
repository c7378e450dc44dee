"""One row of the result: rounds of bare limit and server in turn, so that drift hits both alike."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import limit, load
from benchmarks.limit import Limit, Way
from benchmarks.neighbours import Usage
from benchmarks.server import Counters, Server
from benchmarks.workloads import Drive, Workload

_WARM_UP_S = 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """Medians over the rounds. Rates per second, times in microseconds."""

    workload: str
    title: str
    protocol: str
    concurrency: int
    generator: str
    way: str
    per_second: float
    bare_per_second: float
    ratio: float
    cpu_us: float
    bare_cpu_us: float
    cpu_ratio: float
    p50_us: float
    p99_us: float
    mean_batch: float
    cores_of_others: float
    failures: int
    rounds: list[dict[str, float]]


def measured(
    workload: Workload,
    how: Drive,
    server: Server,
    way: Way,
    *,
    generator: str,
    seconds: float,
    rounds: int,
    tell: Callable[[str], None],
) -> Row:
    """``seconds`` per round under load; the bare limit takes half of that before and after each."""
    load.drive(generator, workload, how, server, min(seconds, _WARM_UP_S))
    seen: list[dict[str, float]] = []
    failures = 0
    ahead = limit.measure(workload, way, seconds / 2)
    for number in range(rounds):
        before = server.counters()
        usage = Usage.now(before.cpu_s)
        client = load.drive(generator, workload, how, server, seconds)
        after = server.counters()
        others = usage.cores_of_others_until(Usage.now(after.cpu_s))
        behind = limit.measure(workload, way, seconds / 2)
        bare = Limit((ahead.per_second + behind.per_second) / 2, (ahead.cpu_us + behind.cpu_us) / 2)
        ahead = behind
        failures += after.failures - before.failures
        cpu_us = _cpu_us(before, after)
        seen.append(
            {
                "per_second": client.per_second,
                "bare_per_second": bare.per_second,
                "ratio": client.per_second / bare.per_second,
                "cpu_us": cpu_us,
                "bare_cpu_us": bare.cpu_us,
                "cpu_ratio": bare.cpu_us / cpu_us,
                "p50_us": client.p50_us,
                "p99_us": client.p99_us,
                "cores_of_others": others,
                "mean_batch": (after.inferences - before.inferences)
                / max(after.executions - before.executions, 1),
            }
        )
        tell(
            f"  round {number + 1}/{rounds}: {client.per_second:,.0f}/s of "
            f"{bare.per_second:,.0f}/s, {cpu_us:,.1f} µs CPU, "
            f"others kept {others:.1f} cores busy"
        )
    median = {key: statistics.median(one[key] for one in seen) for key in seen[0]}
    return Row(
        workload.key, workload.title, how.protocol, how.concurrency, generator, str(way),
        failures=failures, rounds=seen, **median,
    )  # fmt: skip


def _cpu_us(before: Counters, after: Counters) -> float:
    served = after.requests - before.requests
    if served <= 0:
        raise load.LoadFailed("the server counted no successful request")
    return (after.cpu_s - before.cpu_s) / served * 1e6
