"""``make bench``: measures the workloads, prints the table and whether the promises are kept."""

import argparse
import sys
from importlib.metadata import version

from benchmarks import (
    gateway,
    host,
    idle,
    limit,
    load,
    payloads,
    python_backend,
    report,
    stalls,
    start,
)
from benchmarks.repository import prepared
from benchmarks.rounds import Row, measured
from benchmarks.server import running
from benchmarks.workloads import WORKLOADS
from tests.support import reaper

PAYLOADS, PYTHON, STALLS, START = "payloads", "python", "stalls", "start"
GATEWAY, IDLE = "gateway", "idle"


def main() -> int:
    options = arguments()
    reaper.guard()
    chosen = [item for item in WORKLOADS if not options.only or item.key in options.only]
    about = host.about() | {"onnxruntime": version("onnxruntime-gpu")}
    tell(f"{about['cpu']}, {about['cores']} cores, load average {about['load_average']:.1f}")
    if about["load_average"] > about["cores"] / 2:
        tell("This machine is busy: trust the ratios and the CPU figures, not the rates.")
    rows: list[Row] = []
    for workload in chosen:
        tell(f"{workload.key} {workload.title}")
        way, rates = limit.best(workload, options.duration / 4)
        tell(f"  bare limit: {way} ({rates[str(way)]:,.0f}/s, best of {len(rates)} ways)")
        with running(prepared(workload), workload.model) as server:
            for how in workload.drives:
                if options.protocol and how.protocol != options.protocol:
                    continue
                generator, reason = load.usable(options.load, how.protocol)
                tell(f"  {how.protocol}, {how.concurrency} under way, by {generator}")
                if reason:
                    tell(f"  {reason}")
                row = measured(
                    workload, how, server, way,
                    generator=generator, seconds=options.duration, rounds=options.rounds, tell=tell,
                )  # fmt: skip
                rows.append(row)
    print()
    if rows:
        report.print_table(rows)
    verdicts = report.verdicts(rows)
    large: list[payloads.Cost] = []
    if not options.only or PAYLOADS in options.only:
        tell(f"{PAYLOADS} of {payloads.SIZES[0]:,} to {payloads.SIZES[-1]:,} bytes")
        large = payloads.costs(options.duration / 6)
        payloads.print_costs(large)
        verdicts += payloads.verdicts(large)
    for name, measure in MORE.items():
        if not options.only or name in options.only:
            verdicts += measure(options.duration)
    print()
    for kept, text in verdicts:
        print(f"{'ok  ' if kept else 'MISS'} {text}")
    if options.save:
        parameters = {"seconds": options.duration, "rounds": options.rounds}
        tell(f"Saved {report.save(rows, large, about, parameters)}")
    return 1 if options.check and not all(kept for kept, _ in verdicts) else 0


def python_models(seconds: float) -> list[tuple[bool, str]]:
    tell(f"{PYTHON} batches to a Python model's process and back")
    found = python_backend.costs(seconds / 2)
    python_backend.print_costs(found)
    tell(f"{PYTHON} over HTTP, {python_backend.UNDER_WAY} under way")
    served = python_backend.served(seconds)
    return [python_backend.verdict(found), python_backend.served_verdict(served)]


def lateness(seconds: float) -> list[tuple[bool, str]]:
    tell(f"{STALLS}: M0 alone, then beside all that could hold up the event loop")
    seen = stalls.measured(seconds * 5)
    stalls.print_seen(*seen)
    return stalls.verdicts(*seen)


def starts(seconds: float) -> list[tuple[bool, str]]:
    turns = max(3, round(seconds * 3))
    tell(f"{START} to READY, {turns} times, in turns with ONNX Runtime alone")
    ours, bare = start.measured(turns)
    start.print_starts(ours, bare)
    return start.verdicts(ours)


def at_the_door(seconds: float) -> list[tuple[bool, str]]:
    tell(f"{GATEWAY}: Envoy with our files, without each part of them, and as a bare router")
    costs = gateway.measured(seconds / 60, gateway.TURNS, tell)
    gateway.print_costs(costs)
    return gateway.verdicts(costs)


def unused(seconds: float) -> list[tuple[bool, str]]:
    tell(f"{IDLE}: all of `shoal up` with {idle.REPLICAS} replicas, nobody calls")
    programs = idle.measured(seconds * 10)
    idle.print_programs(programs)
    return idle.verdicts(programs)


MORE = {
    PYTHON: python_models,
    STALLS: lateness,
    START: starts,
    GATEWAY: at_the_door,
    IDLE: unused,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=[*(item.key for item in WORKLOADS), PAYLOADS, *MORE],
    )
    parser.add_argument("--protocol", choices=["http", "grpc"])
    parser.add_argument("--duration", type=float, default=6.0, help="seconds per round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round of 2 seconds each")
    parser.add_argument("--load", choices=["auto", *load.GENERATORS], default="auto")
    parser.add_argument("--save", action="store_true", help="keep the result in benchmarks/results")
    parser.add_argument("--check", action="store_true", help="exit 1 when a promise is missed")
    options = parser.parse_args()
    if options.quick:
        options.duration, options.rounds = 2.0, 1
    return options


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
