"""`shoal up`: prepare, start, tell where everything is, watch, and leave nothing behind."""

import asyncio
import contextlib
import json
import math
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

from shoal.local import closed, preflight, programs, redis_server, settings, sweep
from shoal.local.child import StartFailed, describe_exit
from shoal.local.home import Home, HomeInUse, rotate, tail, write_private
from shoal.local.preflight import PreflightFailed, WantedPort
from shoal.local.programs import Plan
from shoal.local.screen import Screen
from shoal.local.supervisor import Supervisor

ONE_SHOT_TIMEOUT_S = 300.0
SECOND_SIGNAL_S = 1.0
USAGE = """Usage: shoal up

Runs a whole installation on this machine until Ctrl-C. Settings are environment variables,
for instance SHOAL_HOME and SHOAL_STUDIO_PORT: see docs/settings.md."""
LOGS = (
    "redis",
    "prepare",
    "bootstrap",
    "web",
    "agents",
    "worker",
    "ingest",
    "beat",
    "node",
    "gateway",
    "envoy",
)


class StepFailed(RuntimeError):
    """A one-time step of the start ended badly; `name` is that of its log."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} {reason}")
        self.name = name


def main(argv: list[str]) -> int:
    """0 after an orderly stop, 1 when the start failed, 2 for wrong usage."""
    screen = Screen()
    if argv:
        screen.notice(USAGE)
        return 0 if argv in (["--help"], ["-h"]) else 2
    try:
        chosen = settings.load()
    except settings.SettingsError as error:
        screen.problem(str(error))
        return 2
    # why: sockets, databases and logs of all programs below are this user's alone
    os.umask(closed.OTHERS)
    home = Home(chosen.home)
    # why for the whole run: a program that is started again finds its port free, too
    with contextlib.ExitStack() as held:
        held.callback(home.release)
        try:
            home.prepare()
            ports = preflight.check(home.path, _wanted(chosen), held)
            _raise_file_limit()
            screen.opening(home.path)
            return asyncio.run(_run(programs.plan(chosen, home, ports), screen))
        except HomeInUse as error:
            screen.problem(str(error))
        except PreflightFailed as error:
            for problem in error.problems:
                screen.problem(problem)
        except OSError as error:
            screen.problem(f"{home.path} cannot be used: {error}")
    return 1


def _wanted(chosen: settings.LocalSettings) -> list[WantedPort]:
    wanted = [
        WantedPort("SHOAL_STUDIO_PORT", chosen.studio_port),
        WantedPort("SHOAL_AGENT_PORT", chosen.agent_port),
        WantedPort("SHOAL_GATEWAY_TLS_PORT", chosen.gateway_tls_port),
        WantedPort("SHOAL_GATEWAY_PORT", chosen.gateway_port),
    ]
    if not chosen.redis_url and chosen.redis_port is not None:
        wanted.append(WantedPort("SHOAL_REDIS_PORT", chosen.redis_port))
    elif not chosen.redis_url and redis_server.socket_path(chosen.home) is None:
        wanted.append(WantedPort("SHOAL_REDIS_PORT", 0))
    return wanted


async def _run(plan: Plan, screen: Screen) -> int:
    supervisor = Supervisor(screen)
    stop = _stop_requests(supervisor)
    startup = asyncio.create_task(_start(plan, supervisor, screen))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({startup, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if startup.done():
            startup.result()
            trimming = asyncio.create_task(supervisor.trim_logs())
            await stopped
            trimming.cancel()
        return 0
    except (StartFailed, StepFailed) as error:
        screen.problem(f"{error}. The end of {plan.home.log(error.name)}:")
        screen.notice(tail(plan.home.log(error.name)))
        return 1
    finally:
        startup.cancel()
        stopped.cancel()
        await asyncio.gather(startup, stopped, return_exceptions=True)
        screen.still()
        screen.notice("Stopping")
        await supervisor.stop()
        sweep.replicas(plan.home.path / "node")


def _stop_requests(supervisor: Supervisor) -> asyncio.Event:
    """Set by the first Ctrl-C, SIGTERM or SIGHUP; a later one ends everything at once."""
    stop = asyncio.Event()
    first = math.inf

    def handle() -> None:
        nonlocal first
        # why the pause: `timeout` and some shells deliver one wish twice.
        if time.monotonic() > first + SECOND_SIGNAL_S:
            supervisor.kill()
        first = min(first, time.monotonic())
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, handle)
    return stop


async def _start(plan: Plan, supervisor: Supervisor, screen: Screen) -> None:
    for name in LOGS:
        rotate(plan.home.log(name))
    if plan.redis is not None:
        screen.step("Starting Redis")
        await supervisor.start([programs.redis(plan, plan.redis)])
    screen.step("Preparing the database and the gateway")
    installation, gateway = await asyncio.gather(_prepare(plan, screen), _bootstrap_gateway(plan))
    screen.step("Starting the studio, the node and the gateway")
    await supervisor.start(
        [
            *programs.control_plane(plan),
            programs.node_agent(plan),
            *programs.gateway(plan, gateway),
        ]
    )
    _announce(plan, screen, installation)


async def _prepare(plan: Plan, screen: Screen) -> dict[str, Any]:
    """Migrate and set up; what that reported, with a password that no start has shown yet."""
    began = time.monotonic()
    node = plan.home.path / "node"
    output = _setup_file(plan)
    if _database_is_new(plan):  # whoever deleted it took the rows with it
        for name in ("node/credential.json", "node/certificate.json", "gateway/certificate.json"):
            (plan.home.path / name).unlink(missing_ok=True)
    token = node / "join-token"
    if certificate_ended(node / "certificate.json", time.time()):
        (node / "credential.json").unlink(missing_ok=True)  # worth nothing without: it joins again
        (node / "certificate.json").unlink()
    files = ["--authority-file", str(plan.authority)]
    if not (node / "credential.json").exists():
        files += ["--join-token-file", str(token)]
    await _one_shot(plan, "prepare", "-m", "shoal.local.prepare", str(output), *files)
    installation: dict[str, Any] = json.loads(output.read_text())
    screen.ready("database", "migrated", time.monotonic() - began)
    return installation


def certificate_ended(file: Path, now: float) -> bool:
    """Whether the node was off for longer than what it proves itself by lives."""
    try:
        return float(json.loads(file.read_text())["ends_at"]) <= now
    except FileNotFoundError:
        return False


def _setup_file(plan: Plan) -> Path:
    """What the set-up reported; it holds the first password and lives until that was shown."""
    return plan.home.path / "secrets" / "setup.json"


def _database_is_new(plan: Plan) -> bool:
    embedded = "SHOAL_DATABASE_URL" not in plan.environment
    return embedded and not (plan.home.path / "db" / "main.db").exists()


async def _bootstrap_gateway(plan: Plan) -> dict[str, Any]:
    """Write Envoy's first files; its command line."""
    answer: dict[str, Any] = json.loads(
        await _one_shot(plan, "bootstrap", "-m", "controlplane.gateway.bootstrap")
    )
    return answer


async def _one_shot(plan: Plan, name: str, *arguments: str) -> str:
    """Run a Python program to its end; its standard output. Raises StepFailed."""
    with plan.home.log(name).open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=dict(plan.environment),
            cwd=settings.ROOT,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(ONE_SHOT_TIMEOUT_S):
                output, _ = await process.communicate()
        except TimeoutError as error:
            raise StepFailed(name, f"took longer than {ONE_SHOT_TIMEOUT_S:.0f} s") from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        log.write(output)
    if process.returncode:
        raise StepFailed(name, describe_exit(process.returncode))
    return output.decode()


def _announce(plan: Plan, screen: Screen, installation: dict[str, Any]) -> None:
    ca_path = str(plan.home.path / "tls" / "ca.pem")
    plan.home.write_client(
        {
            "url": plan.studio_url,
            "token": installation["local_token"],
            "gateway_url": plan.gateway_url,
            "gateway_plain_url": plan.gateway_plain_url,
            "grpc_target": plan.gateway_url.partition("://")[2],
            "ca_path": ca_path,
            "username": installation["admin_username"],
        }
    )
    rows = {
        "Studio": plan.studio_url,
        **first_visit(plan, installation),
        "Username": installation["admin_username"],
    }
    if password := installation["admin_password"]:
        rows["Password"] = f"{password}   (shown only now: keep it)"
    rows |= {
        "Scoring": f"{plan.gateway_url}/endpoints/<name>/",
        "Plain HTTP": f"{plan.gateway_plain_url}/endpoints/<name>/",
        "CA": ca_path,
    }
    screen.addresses(rows)
    _setup_file(plan).unlink()


def first_visit(plan: Plan, installation: dict[str, Any]) -> dict[str, str]:
    """The link that opens the first-run page once: shown by one start, kept until it was used."""
    file = plan.home.path / "secrets" / "setup-link"
    if not installation["setup_open"]:
        file.unlink(missing_ok=True)
        return {}
    if token := installation.get("setup_token"):
        link = f"{plan.studio_url}/setup#{token}"
        write_private(file, f"{link}\n")
        return {"First visit": f"{link}   (choose your name and password; works once)"}
    return {"First visit": f"the link in {file}"} if file.exists() else {}


def _raise_file_limit() -> None:
    """Sockets and files of all children count against this; systems often start with 1024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
