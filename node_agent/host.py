"""What all replicas of the node share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from node_agent.cache import BlobCache
from node_agent.environments import Environments
from node_agent.fork_server import ForkServer
from node_agent.launch import RUNTIME
from node_agent.memory_pressure import MemoryPressureRule
from node_agent.outbox import Outbox
from node_agent.sandbox import Sandbox
from node_agent.signed import SignedOnly
from wire.messages import DesiredReplica


@dataclass(frozen=True, slots=True)
class Host:
    """`runtime` is the command that serves a repository."""

    cache: BlobCache
    address: str
    bind: str
    sandbox: Sandbox
    changed: Callable[[], None]  # called after each change worth a report
    runtime: tuple[str, ...] = RUNTIME
    flags: tuple[str, ...] = ()  # of all runtimes of this node
    crash_delay_s: float = 0.5
    memory_pressure: MemoryPressureRule = field(default_factory=MemoryPressureRule)
    environments: Environments | None = None  # None: each replica makes its own
    forks: ForkServer | None = None  # None: runtimes are started without one
    outbox: Outbox | None = None  # None: what is captured stays where it is
    signed_only: SignedOnly | None = None  # None: whatever the control plane says
    # replica id -> its state: what it has yet to take of a GPU cannot be told from the others'
    states: dict[str, str] = field(default_factory=dict)

    @property
    def local(self) -> str:
        """Where the agent itself reaches a server bound to `bind`."""
        return "127.0.0.1" if self.bind == "0.0.0.0" else self.bind  # noqa: S104 - a comparison

    def check_signature(self, replica: DesiredReplica) -> None:
        """Before bytes are fetched, and before each start: one that was adopted may be older than
        the node's keys. Raises ReplicaFailed."""
        if self.signed_only is not None:
            self.signed_only.check(replica)
