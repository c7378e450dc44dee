"""The sandbox of this node's replicas: what the machine offers, and how each of them is started."""

import dataclasses
import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from node_agent import cgroup, launch, readable, removal
from node_agent.cgroup import Cgroup, Shares
from node_agent.failure import ReplicaFailed
from node_agent.journal import ReplicaFolder
from node_agent.launcher import LAUNCHER
from node_agent.launcher.plan import Limits, Plan, dump
from node_agent.scratch import SHARED_MEMORY, Scratch, own_user
from wire.messages import SANDBOX_NEEDED, DesiredReplica

logger = logging.getLogger(__name__)

AUTO, REQUIRE, OFF = "auto", "require", "off"
NONE, LOOPBACK, ALL = "none", "loopback", "all"
SIGNALS_ABI: Final = 6  # of Landlock: since then it knows them
LAUNCH: Final = (sys.executable, "-I", "-S", LAUNCHER)
PROBE_TIMEOUT_S: Final = 30
STEPS: Final = ("landlock", "seccomp", "namespaces", "loopback", "user", "cuda")
NOTHING: Final = dict.fromkeys(STEPS, 0)


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """As the environment says them; limits are of each replica, 0: none."""

    mode: str = OFF
    network: str = NONE
    read: tuple[str, ...] = ()  # more that replicas may read
    users: range = range(0)  # where the agent is root, a replica gets one of these
    cgroup: str = ""  # a folder that is ours to divide; empty: the one that systemd gave us
    memory_bytes: int = 0
    cpus: float = 0.0
    processes: int = 0
    disk_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start, and what to hand it as its standard input."""

    argv: list[str]
    environment: Mapping[str, str]
    given: bytes = b""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """``home`` is the data folder, of which a replica sees only its own part. ``offered`` is what
    the launcher's probe found, ``divided`` the controllers of the cgroup."""

    settings: SandboxSettings = field(default_factory=SandboxSettings)
    home: Path = Path()
    inherited: Mapping[str, str] = field(default_factory=dict)
    offered: Mapping[str, int] = field(default_factory=lambda: NOTHING)
    cgroup: Cgroup | None = None
    divided: tuple[str, ...] = ()

    @property
    def holds(self) -> dict[str, bool]:
        """What this node keeps replicas to, by name; empty when nothing is asked for."""
        if self.settings.mode == OFF:
            return {}
        offered = self.offered
        user, view = bool(offered["user"]), bool(offered["namespaces"])
        return {
            "files": bool(offered["landlock"] and offered["seccomp"]) and not self._exposed,
            "calls": bool(offered["seccomp"]),
            "network": bool(offered["seccomp"]),
            "signals": user or offered["landlock"] >= SIGNALS_ABI,
            "user": user,
            "view": view,
            "proc": view and os.geteuid() == 0,
            "processes": self._counts_processes or "pids" in self.divided,
            "memory": "memory" in self.divided,
            "cpu": "cpu" in self.divided,
        }

    @property
    def _exposed(self) -> bool:
        """Whether the data folder lies in one that replicas read, and nothing hides it there."""
        read, _ = readable.programs(self.inherited)
        above = {str(self.home), *map(str, self.home.parents)}
        return not self.offered["namespaces"] and not above.isdisjoint((*read, *self.settings.read))

    @property
    def _counts_processes(self) -> bool:
        """The kernel counts by user, and by namespace of users."""
        return bool(self.offered["user"] or (self.offered["namespaces"] and os.geteuid()))

    def network_of(self, replica: DesiredReplica) -> str:
        """The policy, as far as this machine can follow it: never more than it says.

        What brings no code has nobody to talk to.
        """
        if self.settings.mode != OFF and replica.code == ():
            return NONE
        wanted = self.settings.network if self.settings.mode != OFF else ALL
        return NONE if wanted == LOOPBACK and not self.offered["loopback"] else wanted

    def binds_sockets(self, replica: DesiredReplica) -> bool:
        """Whether it could bind those that it is handed to other ports, if they were not kept."""
        network = self.network_of(replica)
        return network == LOOPBACK or (network == NONE and bool(self.offered["cuda"]))

    def require(self) -> None:
        """Raises ReplicaFailed where `require` asks for more than this machine has."""
        if self.settings.mode != REQUIRE:
            return
        if missing := [name for name in SANDBOX_NEEDED if not self.holds[name]]:
            raise ReplicaFailed(
                "SandboxMissing",
                f"This node runs no replicas: SHOAL_SANDBOX=require, and its kernel, or the "
                f"container around it, offers no sandbox for {', '.join(missing)}.",
                hints=(
                    "Linux 5.13 and newer with Landlock, and seccomp, are what is needed: "
                    "docs/security.md.",
                ),
            )

    def launch(
        self,
        command: list[str],
        replica: DesiredReplica,
        folder: ReplicaFolder,
        *,
        read: tuple[Path, ...] = (),
        write: Path | None = None,
    ) -> Launch:
        """How to start the runtime of `replica`, which may `read` more; or what builds for it, and
        may `write` one more folder. Raises ReplicaFailed, OSError.
        """
        self.require()
        if self.settings.mode == OFF:
            return Launch(command, launch.environment(self.inherited, replica))
        scratch = Scratch(folder.scratch)
        user = own_user(scratch, self.settings.users) if self.offered["user"] else 0
        scratch.make(user)
        own = {
            "HOME": str(scratch.home),
            "XDG_CACHE_HOME": str(scratch.home / ".cache"),
            "TMPDIR": str(scratch.temporary),
        }
        if write is not None and user:
            os.chown(write, user, user)
        plan = self._plan(scratch, folder.repository, user)
        plan = dataclasses.replace(
            plan,
            read=(*plan.read, *map(str, read)),
            write=(*plan.write, *([] if write is None else [str(write)])),
            environment=launch.environment({**self.inherited, **own}, replica),
            landlock=bool(self.offered["landlock"]),
            seccomp=bool(self.offered["seccomp"]),
            namespaces=bool(self.offered["namespaces"]),
            network=self.network_of(replica),
            cuda=bool(self.offered["cuda"]),
            cgroup=str(self.cgroup.part(replica.replica_id)) if self.cgroup else "",
        )
        return Launch([*LAUNCH, *command], self.inherited, dump(plan))

    def ended(self, replica_id: str, folder: ReplicaFolder) -> None:
        """Clean up behind a replica that was stopped. Raises OSError."""
        Scratch(folder.scratch).end_processes()
        if self.cgroup is not None:
            self.cgroup.drop(replica_id)

    def _plan(self, scratch: Scratch, repository: Path, user: int) -> Plan:
        """All that may be given; the steps are for who calls to choose."""
        read, listed = readable.programs(self.inherited)
        gpus = readable.gpu_devices()
        settings = self.settings
        return Plan(
            environment={},
            folder=str(scratch.home),
            read=(*read, *settings.read, str(repository)),
            listed=tuple(listed),
            write=(str(scratch.home), str(scratch.temporary)),
            share=(str(SHARED_MEMORY),),
            devices=(*readable.DEVICES, *gpus),
            hidden=(str(self.home),),
            temporary=str(scratch.temporary),
            user=user,
            groups=readable.gpu_groups(gpus),
            limits=Limits(
                processes=settings.processes if self._counts_processes else 0,
                file_bytes=settings.disk_bytes,
            ),
            # why not as root: the files below /proc would be those of the machine
            cuda=readable.has_nvidia(gpus) and bool(user or os.geteuid()),
        )

    def probe(self, folder: Path) -> dict[str, int]:
        """What can be done on this machine, tried with a replica's folders in `folder`. Blocks."""
        replica = ReplicaFolder(folder)
        scratch = Scratch(replica.scratch)
        root = os.geteuid() == 0 and len(self.settings.users) > 0
        user = self.settings.users[0] if root else 0
        try:
            scratch.make(user)
            replica.repository.mkdir(exist_ok=True)
            replica.repository.chmod(0o755)
            done = subprocess.run(
                [*LAUNCH, "--probe"],
                input=dump(self._plan(scratch, replica.repository, user)),
                capture_output=True,
                timeout=PROBE_TIMEOUT_S,
                check=True,
                env=dict(self.inherited),
            )
            found: dict[str, int] = json.loads(done.stdout)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            logger.warning("What this machine has of a sandbox cannot be told: %s", error)
            return dict(NOTHING)
        finally:
            removal.remove(folder)
        return found


def prepared(
    settings: SandboxSettings, *, home: Path, folder: Path, inherited: Mapping[str, str]
) -> Sandbox:
    """The node's sandbox; `folder` is for the probe, and gone afterwards. Blocks for a while."""
    sandbox = Sandbox(settings, home, inherited)
    if settings.mode == OFF:
        return sandbox
    read = (*settings.read, *_package_folders(inherited))
    settings = dataclasses.replace(settings, read=read)
    sandbox = dataclasses.replace(sandbox, settings=settings)
    sandbox = dataclasses.replace(sandbox, offered=sandbox.probe(folder))
    _tell_of_cuda(sandbox.offered)
    sandbox = _divided(sandbox)
    missing = [name for name, held in sandbox.holds.items() if not held]
    logger.info(
        "Replicas run in a sandbox%s",
        f"; this machine has none for: {', '.join(missing)}" if missing else "",
    )
    return sandbox


def _tell_of_cuda(offered: Mapping[str, int]) -> None:
    """Else models on GPUs fail, or keep to the CPU, and nobody would know why."""
    if not readable.has_nvidia(readable.gpu_devices()):
        return
    if not offered["cuda"]:
        logger.error(
            "CUDA does not start in the sandbox of replicas, which so have no GPUs. Is the driver "
            "well (nvidia-smi)? SHOAL_SANDBOX=off starts replicas without one"
        )
    elif not offered["landlock"]:
        logger.warning("CUDA starts without Landlock alone: replicas have none on this node")


def _package_folders(inherited: Mapping[str, str]) -> list[str]:
    try:
        return readable.package_folders(inherited)
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning("Where pip takes packages from cannot be told: %s", error)
        return []


def _divided(sandbox: Sandbox) -> Sandbox:
    settings = sandbox.settings
    place = Path(settings.cgroup) if settings.cgroup else cgroup.delegated()
    if place is None:
        return sandbox
    ours = Cgroup(place, Shares(settings.memory_bytes, settings.cpus, settings.processes))
    try:
        return dataclasses.replace(sandbox, cgroup=ours, divided=ours.take())
    except OSError as error:
        logger.warning("The cgroup %s cannot be divided among replicas: %s", place, error)
        return sandbox
