"""The table of what runs on one machine, and the environment that ties it together."""

import dataclasses
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shoal.local import ready, redis_server
from shoal.local.child import Program
from shoal.local.envoy_drain import drain
from shoal.local.home import Home, write_private
from shoal.local.settings import ROOT, LocalSettings

JOBS = ("-m", "controlplane.config.jobs")


@dataclass(frozen=True, slots=True)
class Redis:
    """The embedded one: on a Unix socket, on a port of loopback, or both."""

    server: redis_server.Server
    socket: Path | None
    port: int  # 0: no TCP
    url: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Addresses chosen for this run."""

    home: Home
    environment: Mapping[str, str]
    studio_url: str
    studio_port: int
    agent_port: int
    authority: Path  # who signs the agents' port; written by each start
    gateway_url: str
    gateway_plain_url: str
    gateway_ports: tuple[int, int]  # TLS, plain
    redis: Redis | None  # None when Redis is somebody else's


def plan(settings: LocalSettings, home: Home, ports: Mapping[str, int]) -> Plan:
    """Environment variables that the user set win over what is computed here."""
    studio, agents, tls, plain = (
        ports["SHOAL_STUDIO_PORT"],
        ports["SHOAL_AGENT_PORT"],
        ports["SHOAL_GATEWAY_TLS_PORT"],
        ports["SHOAL_GATEWAY_PORT"],
    )
    authority = home.path / "secrets" / "agents-ca.pem"
    embedded = None if settings.redis_url else _redis(home, ports.get("SHOAL_REDIS_PORT", 0))
    computed = {
        "PYTHONUNBUFFERED": "1",
        "SHOAL_PUBLIC_URL": f"http://127.0.0.1:{studio}",
        "SHOAL_GATEWAY_URL": f"https://127.0.0.1:{tls}",
        "SHOAL_GATEWAY_PLAIN_URL": f"http://127.0.0.1:{plain}",
        "SHOAL_REDIS_URL": embedded.url if embedded else settings.redis_url,
        "SHOAL_NODE_NAME": settings.node_name,
    }
    fixed = {
        # why fixed: a caller's own Django project, or a test run, must not leak into ours
        "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
        "SHOAL_HOME": str(home.path),
        # The agents of this machine; others are told SHOAL_AGENT_URL.
        "SHOAL_CONTROL_URL": f"https://127.0.0.1:{agents}",
        "SHOAL_CONTROL_CA_FILE": str(authority),
        "SHOAL_STUDIO_PORT": str(studio),
        "SHOAL_AGENT_PORT": str(agents),
        "SHOAL_GATEWAY_TLS_PORT": str(tls),
        "SHOAL_GATEWAY_PORT": str(plain),
    }
    environment = {**computed, **settings.inherited, **fixed}
    return Plan(
        home=home,
        environment=environment,
        studio_url=environment["SHOAL_PUBLIC_URL"],
        studio_port=studio,
        agent_port=agents,
        authority=authority,
        gateway_url=environment["SHOAL_GATEWAY_URL"],
        gateway_plain_url=environment["SHOAL_GATEWAY_PLAIN_URL"],
        gateway_ports=(tls, plain),
        redis=embedded,
    )


def _redis(home: Home, port: int) -> Redis:
    socket = redis_server.socket_path(home.path)
    url = redis_server.url(home.secret("redis_password"), socket=socket, port=port)
    return Redis(redis_server.choose(), socket, port, url)


def redis(plan: Plan, embedded: Redis) -> Program:
    """Redis behind a password that no process list shows, for this user alone."""
    folder = plan.home.path / "redis"
    data = folder / embedded.server.data
    data.mkdir(mode=0o700, exist_ok=True)
    configuration = folder / "redis.conf"
    password = plan.home.secret("redis_password")
    write_private(
        configuration,
        redis_server.configuration(data, password, socket=embedded.socket, port=embedded.port),
    )
    places = [str(embedded.socket or ""), f"127.0.0.1:{embedded.port}" if embedded.port else ""]
    return Program(
        name="redis",
        argv=(embedded.server.path, str(configuration)),
        environment=plan.environment,
        folder=folder,
        log=plan.home.log("redis"),
        ready=ready.answers_ping(embedded.url),
        note=f"{embedded.server}, {' and '.join(filter(None, places))}",
        ready_timeout_s=30,
    )


def control_plane(plan: Plan) -> list[Program]:
    """The studio with its API, the port of agents, the background jobs, and their clock."""
    beat_log = plan.home.log("beat")
    return [
        _python(
            plan,
            "web",
            *("-m", "controlplane.config.web_server", "--port", str(plan.studio_port)),
            ready_when=ready.answers_http(f"http://127.0.0.1:{plan.studio_port}/readyz"),
            note=plan.studio_url,
        ),
        _python(
            plan,
            "agents",
            *("-m", "controlplane.config.agent_server"),
            ready_when=ready.listens(plan.agent_port),
            note="port of nodes and gateways",
        ),
        _worker(plan, "worker", "control", note="background jobs: what heals and converges"),
        _worker(plan, "ingest", "ingest", note="background jobs: models taken in"),
        _python(
            plan,
            "beat",
            *(*JOBS, "beat", "--loglevel", "INFO", "--pidfile="),
            *("--schedule", str(plan.home.path / "beat" / "schedule")),
            ready_when=ready.logs_line(beat_log, r"beat: Starting"),
            note="clock of the periodic jobs",
        ),
    ]


# Jobs of seconds are bounded by ending their process: one child. Those that take models in wait for
# disks and for programs that they start: two threads cost a process less.
POOLS = {
    "control": ("--concurrency", "1"),
    "ingest": ("--pool", "threads", "--concurrency", "2"),
}


def _worker(plan: Plan, name: str, queue: str, *, note: str) -> Program:
    """The worker of one queue: long jobs of the other one never keep it from its own."""
    return _python(
        plan,
        name,
        *(*JOBS, "worker", "-Q", queue, "--hostname", f"{queue}@%h", *POOLS[queue]),
        *("--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"),
        ready_when=ready.logs_line(plan.home.log(name), rf"{queue}@\S+ ready\."),
        note=note,
        stop_timeout_s=15,
    )


def node_agent(plan: Plan) -> Program:
    """On SIGINT the agent stops its replicas too; on SIGTERM it leaves them to its successor."""
    agent = _python(
        plan,
        "node",
        *("-m", "node_agent"),
        ready_when=ready.writes_own_pid(plan.home.path / "node" / "agent.json"),
        note=f"node {plan.environment['SHOAL_NODE_NAME']!r}",
        after=("agents",),
        stop_signal=signal.SIGINT,
        stop_timeout_s=45,
    )
    # why: a node needs no right at Redis, and models run below this process
    environment = {**agent.environment}
    environment.pop("SHOAL_REDIS_URL", None)
    return dataclasses.replace(agent, environment=environment)


def gateway(plan: Plan, bootstrap: Mapping[str, Any]) -> list[Program]:
    """Envoy, and the agent that writes the files it follows."""
    envoy = Program(
        name="envoy",
        argv=tuple(bootstrap["argv"]),
        environment=plan.environment,
        folder=Path(bootstrap["cwd"]),
        log=plan.home.log("envoy"),
        ready=ready.listens(*plan.gateway_ports),
        note=f"{plan.gateway_url} and {plan.gateway_plain_url}",
        stop_timeout_s=5,
        drain=partial(drain, Path(bootstrap["admin"]), float(bootstrap["drain_s"])),
    )
    agent = _python(
        plan,
        "gateway",
        *("-m", "controlplane.gateway.agent"),
        ready_when=ready.logs_line(plan.home.log("gateway"), r"gateway agent ready"),
        note="gateway agent",
        after=("agents",),
    )
    return [envoy, agent]


def _python(
    plan: Plan,
    name: str,
    *arguments: str,
    ready_when: ready.Ready,
    note: str,
    after: tuple[str, ...] = (),
    stop_signal: signal.Signals = signal.SIGTERM,
    stop_timeout_s: float = 10,
) -> Program:
    return Program(
        name=name,
        argv=(sys.executable, *arguments),
        environment=plan.environment,
        folder=ROOT,
        log=plan.home.log(name),
        ready=ready_when,
        note=note,
        after=after,
        stop_signal=stop_signal,
        stop_timeout_s=stop_timeout_s,
    )
