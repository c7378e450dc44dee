"""Networks of this machine as a cluster has them: an address for each pod and for each service."""

import itertools
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.reaper import clean_environment
from tests.support.runtime_process import wait_until

# Set by `python -m tests.production`, in whose network nothing else is.
INSIDE = "PROD_TEST_INSIDE"
BRIDGE = "shoal"
HOST = "10.77.0.1"  # this process: PostgreSQL's neighbour, Redis, S3, balancers, callers
KEEP_OPEN = "ip link set lo up && exec sleep infinity"


def run(*command: str) -> None:
    """Raises RuntimeError with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def network_of(pid: int | str) -> str:
    """Which network namespace a process is in; empty when it has ended."""
    with suppress(OSError):
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    return ""


@dataclass(frozen=True)
class Pocket:
    """The network of one pod, for as long as ``keeper`` lives."""

    address: str
    cable: str
    keeper: "subprocess.Popen[bytes]"

    def within(self, argv: list[str]) -> list[str]:
        """The command that runs ``argv`` there."""
        return ["nsenter", f"--net=/proc/{self.keeper.pid}/ns/net", "--", *argv]

    def pids(self) -> list[int]:
        """Who runs there, but for its keeper."""
        wanted = network_of(self.keeper.pid)
        found = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
        return [pid for pid in found if pid != self.keeper.pid and network_of(pid) == wanted]

    def unplug(self) -> None:
        """Nothing comes or goes any more, and nobody is told."""
        run("ip", "link", "set", self.cable, "down")

    def close(self) -> None:
        self.keeper.kill()
        self.keeper.wait()


class Network:
    """A bridge with pods' addresses 10.77.1.x and services' addresses 10.77.2.x."""

    def __init__(self, hosts: Path) -> None:
        self._hosts, self._named = hosts, dict[str, str]()
        self._pods, self._services = itertools.count(1), itertools.count(1)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{HOST}/16", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        self.name("127.0.0.1", "localhost")
        run("mount", "--bind", str(hosts), "/etc/hosts")

    def name(self, address: str, *names: str) -> None:
        """Everybody here finds ``names`` at this address."""
        self._named |= dict.fromkeys(names, address)
        lines = (f"{address} {name}\n" for name, address in self._named.items())
        self._hosts.write_text("".join(lines))  # in place: what is mounted is this very file

    def service(self) -> str:
        """One more address of this process."""
        address = f"10.77.2.{next(self._services)}"
        run("ip", "address", "add", f"{address}/32", "dev", BRIDGE)
        return address

    def pocket(self) -> Pocket:
        """The network of a new pod."""
        number = next(self._pods)
        address, cable = f"10.77.1.{number}", f"pod{number}"
        keeper = subprocess.Popen(
            ["unshare", "--net", "--", "sh", "-c", KEEP_OPEN],
            env=clean_environment(),
            start_new_session=True,
        )
        found = Pocket(address, cable, keeper)
        wait_until(lambda: network_of(keeper.pid) not in ("", network_of("self")), "a network")
        run("ip", "link", "add", cable, "type", "veth", "peer", "eth0", "netns", str(keeper.pid))
        run("ip", "link", "set", cable, "master", BRIDGE, "up")
        run(*found.within(["ip", "address", "add", f"{address}/16", "dev", "eth0"]))
        run(*found.within(["ip", "link", "set", "eth0", "up"]))
        return found
