"""One replica's folder and its `state.json`: what a restarted agent needs to adopt it."""

import json
import logging
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from node_agent.process import ProcessIdentity
from wire import codec
from wire.messages import DesiredReplica

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """`process` is None while nothing runs; `warm` once it has been ready."""

    replica: DesiredReplica
    process: ProcessIdentity | None = None
    warm: bool = False
    restarts: int = 0
    started_at: float = 0.0  # Unix seconds
    load_seconds: float = 0.0
    runtime_version: str = ""  # empty: an agent of before started it


class ReplicaFolder:
    """Paths below `node/replicas/<replica_id>/`, and the journal in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repository = path / "repository"
        self.runtime_log = path / "runtime.log"
        self.agent_log = path / "agent.log"
        self.ready_file = path / "ready.json"
        self.scratch = path / "scratch"
        self.captured = self.scratch / "home" / "captured"
        self._journal = path / "state.json"

    def read(self) -> Entry | None:
        """The journal; None when there is none, or none that can be understood."""
        try:
            data = json.loads(self._journal.read_text())
            process = (
                ProcessIdentity(int(data["pid"]), int(data["start_ticks"]), str(data["boot_id"]))
                if data["pid"]
                else None
            )
            return Entry(
                replica=codec.from_data(DesiredReplica, data["replica"]),
                process=process,
                warm=bool(data["warm"]),
                restarts=int(data["restarts"]),
                started_at=float(data["started_at"]),
                load_seconds=float(data["load_seconds"]),
                runtime_version=str(data.get("runtime_version", "")),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, entry: Entry) -> None:
        """Atomic: a reader, and an agent after a power cut, sees the old entry or the new."""
        process = entry.process or ProcessIdentity(0, 0, "")
        data = {
            "replica_id": entry.replica.replica_id,
            "generation": entry.replica.generation,
            **asdict(process),
            "warm": entry.warm,
            "restarts": entry.restarts,
            "started_at": entry.started_at,
            "load_seconds": entry.load_seconds,
            "runtime_version": entry.runtime_version,
            "replica": asdict(entry.replica),
        }
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = self._journal.with_suffix(".new")
        with temporary.open("w") as stream:
            json.dump(data, stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self._journal)

    def note(self, text: str) -> None:
        """A line of the agent's own about this replica, shown as `storage-initializer`.

        One line, whatever it quotes. A disk that does not take it is no reason for a replica to
        fail: the agent's own log has it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with self.agent_log.open("a") as stream:
                stream.write(f"{time.time():.3f} {' '.join(text.splitlines())}\n")
        except OSError as error:
            logger.warning("%s: %s (not in its log: %s)", self.path.name, text, error)
