"""What an installation takes while nobody uses it: all of `shoal up` with some replicas, and those
apart.

Memory is PSS, pages of several processes shared out among them; CPU is the kernel's account of a
while that begins some seconds after the last replica is ready.
"""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.repository import ROOT, graph_path, prepared
from benchmarks.workloads import WORKLOADS
from tests.support import reaper

REPLICAS = 5
MEMORY_MB, CORES = 600.0, 0.03  # the promises, beside the replicas
_GIVE_UP_S, _STOP_S, _SETTLED_S, _PAUSE_S = 180.0, 60.0, 20.0, 0.2
PORTS = (
    "SHOAL_STUDIO_PORT", "SHOAL_AGENT_PORT", "SHOAL_GATEWAY_TLS_PORT", "SHOAL_GATEWAY_PORT",
)  # fmt: skip
RUNTIME = "runtime"
# What tells a program of the installation from the others, by its command line.
_PROGRAMS = {
    "shoal.local": "supervisor", "redis-server": "redis", "valkey-server": "redis",
    "web_server": "web", "agent_server": "agents", "control": "worker", "ingest": "ingest",
    "beat": "beat", "gateway.agent": "gateway agent", "worker_runtime": RUNTIME,
    "node_agent": "node agent",
}  # fmt: skip


@dataclass(slots=True)
class Program:
    """Of all its processes: MB, and cores that it keeps busy."""

    pss_mb: float = 0.0
    cores: float = 0.0


def measured(seconds: float) -> dict[str, Program]:
    """By name, ``RUNTIME`` being all replicas."""
    with tempfile.TemporaryDirectory(prefix="shoal-idle-") as folder:
        home = Path(folder) / "home"
        free = dict.fromkeys(PORTS, "0")
        environment = {**reaper.clean_environment(), **free, "SHOAL_HOME": str(home)}
        with installation(environment, home) as supervisor:
            prepared(WORKLOADS[0])
            subprocess.run(
                [
                    *(sys.executable, "-m", "shoal", "deploy", str(graph_path(WORKLOADS[0]))),
                    *("--name", "idle", "--instance-count", str(REPLICAS)),
                ],
                cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(_SETTLED_S)
            return _watched(psutil.Process(supervisor.pid), seconds)


def print_programs(programs: dict[str, Program]) -> None:
    print(f"\n| idle, {REPLICAS} replicas | PSS MB | % of a core |\n|---|---|---|")
    for name, one in sorted(programs.items(), key=lambda item: -item[1].pss_mb):
        print(f"| {name} | {one.pss_mb:.0f} | {one.cores * 100:.2f} |")


def verdicts(programs: dict[str, Program]) -> list[tuple[bool, str]]:
    ours = [one for name, one in programs.items() if name != RUNTIME]
    pss_mb, cores = sum(one.pss_mb for one in ours), sum(one.cores for one in ours)
    return [
        (
            pss_mb <= MEMORY_MB,
            f"idle: {pss_mb:.0f} MB beside {REPLICAS} replicas (wanted {MEMORY_MB:.0f})",
        ),
        (
            cores <= CORES,
            f"idle: {cores * 100:.1f} % of a core beside {REPLICAS} replicas "
            f"(wanted {CORES * 100:.0f})",
        ),
    ]


def name_of(command: list[str]) -> str:
    """The program's, by the first of its words that says so; else that of its file."""
    words = [word.split(" ")[0].partition(":")[0] for word in command]  # Redis writes its own title
    for word in words:
        for part, name in _PROGRAMS.items():
            if word == part or word.endswith((f".{part}", f"/{part}")):
                return name
    return words[0].rpartition("/")[2] if words else "?"


def _watched(supervisor: psutil.Process, seconds: float) -> dict[str, Program]:
    processes = [supervisor, *supervisor.children(recursive=True)]
    before = {process.pid: _cpu_s(process) for process in processes}
    time.sleep(seconds)
    found: dict[str, Program] = {}
    for process in processes:
        try:
            program = found.setdefault(name_of(process.cmdline()), Program())
            program.pss_mb += process.memory_full_info().pss / 2**20
            program.cores += (_cpu_s(process) - before[process.pid]) / seconds
        except psutil.NoSuchProcess:
            continue  # what ended meanwhile is not what idles
    return found


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def installation(environment: dict[str, str], home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    log = home.with_name("up.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal.local"],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + _GIVE_UP_S
        while not (home / "client.json").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Shoal did not start:\n{log.read_text(errors='replace')}")
            time.sleep(_PAUSE_S)
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(_STOP_S)
