"""What is known of one replica: the report, the process, and the journal of both."""

import dataclasses
import logging

from node_agent import process
from node_agent.cache import DISK_ERRORS
from node_agent.failure import ReplicaFailed
from node_agent.host import Host
from node_agent.journal import Entry, ReplicaFolder
from node_agent.logs import last_lines, masked
from node_agent.probe import Ports, read_ports, write_ports
from node_agent.reasons import NETWORK_NONE, without_network
from node_agent.sandbox import NONE
from wire.messages import DesiredReplica, ObservedReplica

logger = logging.getLogger(__name__)

NO_PROCESS = {"pid": 0, "http_port": 0, "grpc_port": 0, "metrics_port": 0, "installing": ""}


class Record:
    """Of one generation of a replica; `adopt` is what an earlier agent knew of it."""

    def __init__(
        self, replica: DesiredReplica, folder: ReplicaFolder, host: Host, adopt: Entry | None
    ) -> None:
        self.replica = replica
        self.folder = folder
        self.host = host
        self.process = adopt.process if adopt else None
        self.warm = adopt.warm if adopt else False
        ports = read_ports(folder.ready_file, self.process.pid) if self.process else None
        # why an adopted warm one is ready at once: any other word would take it out of traffic.
        adopted_state = "ready" if self.warm and ports else "loading"
        self.observed = ObservedReplica(
            replica_id=replica.replica_id,
            generation=replica.generation,
            state=adopted_state if adopt else "pending",
            http_port=ports.http if ports else 0,
            grpc_port=ports.grpc if ports else 0,
            metrics_port=ports.metrics if ports else 0,
            address=host.address,
            pid=self.process.pid if self.process else 0,
            restarts=adopt.restarts if adopt else 0,
            started_at=adopt.started_at if adopt else 0.0,
            load_seconds=adopt.load_seconds if adopt else 0.0,
            runtime_version=adopt.runtime_version if adopt else "",
        )

    def set(self, **changes: object) -> None:
        """Fields of the report."""
        before = self.observed
        self.observed = dataclasses.replace(before, **changes)  # type: ignore[arg-type] # fields by name
        self.host.states[self.replica.replica_id] = self.observed.state
        if self.observed != before:
            self.host.changed()

    def journal(self) -> None:
        """On a disk that is full the old entry stays. What runs goes on, and is told; should this
        agent end, too, the next one ends a runtime that it finds in no journal, and starts anew.
        """
        seen = self.observed
        try:
            if self.process is not None:
                self._write_ports(self.process.pid)
            self.folder.write(
                Entry(
                    replica=self.replica,
                    process=self.process,
                    warm=self.warm,
                    restarts=seen.restarts,
                    started_at=seen.started_at,
                    load_seconds=seen.load_seconds,
                    runtime_version=seen.runtime_version,
                )
            )
        except OSError as error:
            if error.errno not in DISK_ERRORS:
                raise
            logger.warning("The journal of %s is not written: %s", self.replica.replica_id, error)

    def _write_ports(self, pid: int) -> None:
        """To the agent that comes after us; of one process they stay the same. Raises OSError."""
        seen, file = self.observed, self.folder.ready_file
        if seen.http_port and read_ports(file, pid) is None:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_ports(file, pid, Ports(seen.http_port, seen.grpc_port, seen.metrics_port))

    async def end_process(self) -> None:
        """Of a runtime that does not serve."""
        if self.process is not None:
            await process.end(self.process, grace_s=2.0)
            self.process = None

    def last_lines(self, count: int) -> str:
        """Of the runtime's log, without the deployment's secrets."""
        return self.masked(last_lines(self.folder.runtime_log, count))

    def masked(self, text: str) -> str:
        """Without the deployment's secrets."""
        return masked(self.replica, text)

    def with_log(self, error: ReplicaFailed) -> ReplicaFailed:
        """`error` with the log's last lines, and with what they hint at."""
        problem = error.problem
        detail = "\n\n".join(part for part in (problem.detail, self.last_lines(20)) if part)
        hints = problem.hints
        if self.host.sandbox.network_of(self.replica) == NONE and without_network(detail):
            hints = (NETWORK_NONE, *hints)
        return ReplicaFailed(problem.code, problem.message, detail=detail, hints=hints)
