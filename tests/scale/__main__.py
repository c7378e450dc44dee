"""Measures the control plane beside simulated nodes and gateways, and prints the bars."""

import argparse
import asyncio
import math
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import psutil

from tests.scale import seeding
from tests.scale.figures import CONFIGURED, LISTS, OVERVIEW, PLACED, REPORTS, quantile
from tests.scale.fleet import (
    ANSWER_S,
    RAMP_S,
    Caller,
    Calls,
    SimulatedAgent,
    SimulatedGateway,
    running,
)
from tests.support import reaper
from tests.support.installation import ROOT, Installation

GATEWAYS: Final = 4
ROUTED_S: Final = 300.0  # at most, until gateways have confirmed what was rolled out
LIST_CALLS: Final = 40
KEYS: Final = 5
LISTED: Final = (
    "/api/v1/endpoints?limit=50",
    "/api/v1/nodes?limit=50",
    "/api/v1/operations?limit=50",
)


@dataclass(slots=True)
class Measured:
    """Seconds, kB and shares of a core."""

    placed: dict[str, float]
    routed_s: float
    rolling: Calls
    resting: Calls
    keys_s: list[float]
    lists_s: list[float]
    overview_kb: float
    cores: dict[str, float]


@contextmanager
def plane(home: Path) -> Iterator[Installation]:
    """Web, agents' port, worker and beat, on the databases that the environment names."""
    made = Installation(home)
    try:
        made.prepare()
        made.start_web()
        made.start_agents()
        made.start_worker()
        made.spawn(
            "beat",
            [sys.executable, "-m", "controlplane.config.jobs", "beat", "-s", str(home / "beat")],
        )
        yield made
    finally:
        made.stop()


async def measured(made: Installation, options: argparse.Namespace) -> Measured:
    nodes = seeding.decoded(_run(made, seeding.NODES, options.nodes))
    trusted = ssl.create_default_context(cafile=made.home / "agents-ca.pem")
    calls = Calls()
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30, ssl=trusted)
    async with aiohttp.ClientSession(
        f"{made.agents_url}/agent/v1/",
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=ANSWER_S),
    ) as session:
        token = made.environment["SHOAL_GATEWAY_TOKEN"]
        gateways = [
            SimulatedGateway(f"gateway-{number}", Caller(session, token, calls))
            for number in range(GATEWAYS)
        ]
        agents = [
            SimulatedAgent(number, Caller(session, credential, calls))
            for number, credential in enumerate(nodes)
        ]
        loops = [loop for one in (*agents, *gateways) for loop in one.loops()]
        async with running(loops), _people(made) as web:
            await asyncio.sleep(RAMP_S + options.settle)
            calls.forget()
            began = time.monotonic()
            placed = seeding.decoded(
                await asyncio.to_thread(
                    _run, made, seeding.ROLL_OUT, options.endpoints, options.replicas
                )
            )
            routed_s = await _until_routed(web, began)
            rolling = Calls(dict(calls.took), calls.failed.copy())
            calls.forget()
            await asyncio.sleep(options.settle)  # upkeep has seen it all
            calls.forget()
            before = _cpu_s(made)
            await asyncio.sleep(options.seconds)
            cores = {name: (s - before[name]) / options.seconds for name, s in _cpu_s(made).items()}
            resting = Calls(dict(calls.took), calls.failed.copy())
            keys_s = [await _key_changed(web, gateways) for _ in range(KEYS)]
            lists_s = [await _timed(web, path) for _ in range(LIST_CALLS) for path in LISTED]
            async with web.get("/api/v1/overview") as answer:
                overview_kb = len(await answer.read()) / 1000
    return Measured(placed, routed_s, rolling, resting, keys_s, lists_s, overview_kb, cores)


def _people(made: Installation) -> aiohttp.ClientSession:
    headers = {"Authorization": f"Bearer {made.token}"}
    return aiohttp.ClientSession(made.url, headers=headers, raise_for_status=True)


async def _until_routed(web: aiohttp.ClientSession, began: float) -> float:
    """Seconds until no operation is under way; NaN where that takes too long."""
    while time.monotonic() - began < ROUTED_S:
        async with web.get("/api/v1/operations?state=Running&limit=1") as answer:
            if not (await answer.json())["items"]:
                return time.monotonic() - began
        await asyncio.sleep(1.0)
    return math.nan


async def _key_changed(web: aiohttp.ClientSession, gateways: list[SimulatedGateway]) -> float:
    """Seconds from the change of a key to the last gateway that has heard of it."""
    before = {gateway: gateway.version for gateway in gateways}
    began = time.monotonic()
    url = "/api/v1/endpoints/endpoint-0/keys/regenerate"
    async with web.post(url, json={"key_type": "primary"}) as answer:
        await answer.read()
    while any(gateway.version == before[gateway] for gateway in gateways):
        if time.monotonic() - began > ANSWER_S:
            return math.inf
        await asyncio.sleep(0.01)
    return max(gateway.got_at for gateway in gateways) - began


async def _timed(web: aiohttp.ClientSession, path: str) -> float:
    began = time.monotonic()
    async with web.get(path) as answer:
        await answer.read()
    return time.monotonic() - began


def _run(made: Installation, script: str, *arguments: int) -> bytes:
    command = seeding.command(script, *arguments)
    done = subprocess.run(command, env=made.environment, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace")[-4000:])
    return done.stdout


def _cpu_s(made: Installation) -> dict[str, float]:
    """Of each program with its children, and of the simulator itself."""
    found = {}
    for name, process in (*made.processes.items(), ("simulator", None)):
        root = psutil.Process(process.pid if process else os.getpid())
        family = [root, *root.children(recursive=True)] if process else [root]
        times = [one.cpu_times() for one in family]
        found[name] = sum(each.user + each.system for each in times)
    return found


def printed(found: Measured, options: argparse.Namespace) -> bool:
    """Whether all bars are kept."""
    print(
        f"\n{options.nodes} nodes, {options.endpoints} endpoints, "
        f"{found.placed['placed']} replicas, {GATEWAYS} gateways; {os.cpu_count()} cores for them, "
        f"the control plane and its databases; load average {os.getloadavg()[0]:.1f}\n"
    )
    for when, calls in (("in the rollout", found.rolling), ("at rest", found.resting)):
        print(f"| {when} | calls | p50 ms | p99 ms |\n|---|---|---|---|")
        for path, took in sorted(calls.took.items()):
            cuts = " | ".join(f"{quantile(took, share) * 1000:.0f}" for share in (0.5, 0.99))
            print(f"| {path} | {len(took)} | {cuts} |")
        print(f"failed: {dict(calls.failed) or 'none'}\n")
    print("| at rest | % of a core |\n|---|---|")
    for name, cores in found.cores.items():
        print(f"| {name} | {cores * 100:.1f} |")
    rate = found.placed["placed"] / found.placed["seconds"]
    print(
        f"\nplacing took {found.placed['seconds']:.1f} s, {found.placed['cpu']:.1f} s of its "
        f"process's CPU; everything was routed after {found.routed_s:.1f} s\n"
    )
    verdicts = [
        REPORTS.verdict(quantile(found.resting.took.get("report", []), 0.99) * 1000),
        PLACED.verdict(rate),
        CONFIGURED.verdict(max(found.keys_s)),
        LISTS.verdict(quantile(found.lists_s, 0.95) * 1000),
        OVERVIEW.verdict(found.overview_kb),
    ]
    for kept, text in verdicts:
        print(f"{'ok  ' if kept else 'MISS'} {text}")
    return all(kept for kept, _ in verdicts)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scale", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--endpoints", type=int, default=500)
    parser.add_argument("--replicas", type=int, default=4, help="of each endpoint")
    parser.add_argument("--seconds", type=float, default=60.0, help="that are measured at rest")
    parser.add_argument("--settle", type=float, default=30.0, help="before each measurement")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    options = parser.parse_args()
    reaper.guard()
    with tempfile.TemporaryDirectory(prefix="shoal-scale-") as folder:
        with plane(Path(folder)) as made:
            found = asyncio.run(measured(made, options))
    kept = printed(found, options)
    return 0 if kept or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
