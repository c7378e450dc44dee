"""``make autopilot``: it scales, wakes, rolls out, judges, compares and alarms by itself, live.

    python -m tests.autopilot [CASE ...]

A fresh installation, and for each case what was seen beside its bar. A bar of time that a busy
machine misses is printed as MISSED; what was decided wrongly is WRONG, and the exit code is then 1.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from shoal.client import Client
from tests.autopilot import alarms, canaries, scaling, shifted
from tests.autopilot.report import Report, say
from tests.autopilot.world import Later, World
from tests.chaos.system import System
from tests.support import reaper

CASES: Mapping[str, Callable[[World], Later]] = {
    "alarms": alarms.burnt,  # the first: its alert is resolved while the others run
    "drift": shifted.shifted,
    "step": scaling.step,
    "zero": scaling.zero,
    "errors": canaries.errors,
    "answers": canaries.answers,
    "copies": canaries.copies,
    "switch": canaries.switch,
    "same": canaries.same,
    "lost-samples": scaling.lost_samples,
}
TRIES = 4
# Receivers of webhooks are on this machine; a frozen agent is not given up; drift is looked for
# every few seconds, not minutes.
SETTINGS = {
    "SHOAL_ALERT_NETWORKS": "127.0.0.0/8",
    "SHOAL_NODE_LOST_AFTER_S": "120",
    "SHOAL_DRIFT_INTERVAL_S": "5",
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.autopilot",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], metavar="CASE",
                        help=f"one or several of {', '.join(CASES)}; all unless said")  # fmt: skip
    parser.add_argument("--tries", type=int, default=TRIES, help="steps and wakes (%(default)s)")
    asked = parser.parse_args()
    reaper.guard()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    began, report = time.monotonic(), Report()
    with tempfile.TemporaryDirectory(prefix="shoal-autopilot-") as folder:
        say("== make up, on free ports")
        system = System(Path(folder), more=SETTINGS)
        try:
            system.start()
            with Client(system.product.url, system.product.client["token"]) as client:
                world = World(system, client, report, Path(folder), asked.tries)
                _run(world, asked.cases or list(CASES))
            if report.wrong:
                say(system.product.last_words())
        finally:
            system.stop()
    took, cores, busy = time.monotonic() - began, os.cpu_count(), os.getloadavg()[0]
    say(f"== {took:.0f} s on {cores} cores, load {busy:.1f}")
    for text in report.missed:
        say(f"MISSED  {text}")
    for text in report.wrong:
        say(f"WRONG   {text}")
    return 1 if report.wrong else 0


def _run(world: World, names: list[str]) -> None:
    later = []
    for name in names:
        say(f"== {name}: {(CASES[name].__doc__ or '').strip().splitlines()[0]}")
        with _told(world, name):
            if (rest := CASES[name](world)) is not None:
                later.append((name, rest))
    for name, rest in later:
        say(f"== {name}, later")
        with _told(world, name):
            rest()


@contextmanager
def _told(world: World, name: str) -> Iterator[None]:
    """What breaks a case is a finding, and keeps nobody from the next."""
    try:
        yield
    except Exception as error:
        traceback.print_exc()
        world.report.must("it runs to its end", False, f"{name}: {error}")


if __name__ == "__main__":
    sys.exit(main())
