"""Starts the runtime of a replica, on ports that are the agent's choice."""

import time
from importlib.metadata import version
from pathlib import Path

from node_agent import launch, process
from node_agent.fork_server import suits
from node_agent.probe import Ports
from node_agent.process import ProcessIdentity
from node_agent.record import Record


def start(record: Record, environments: tuple[Path, ...] = ()) -> ProcessIdentity:
    """In the replica's sandbox; told and journalled. Raises ReplicaFailed, OSError."""
    folder, replica, host = record.folder, record.replica, record.host
    host.check_signature(replica)
    folder.ready_file.unlink(missing_ok=True)
    record.warm = False
    kept = host.sandbox.binds_sockets(replica)
    with launch.listening(host.bind, kept=kept) as sockets:
        command = launch.command(host.runtime, replica, folder, sockets, environments, host.flags)
        wanted = host.sandbox.launch(command, replica, folder, read=environments)
        numbers = tuple(handed.fileno() for handed in sockets.values())
        forked = None
        if host.forks is not None and wanted.given and suits(replica):
            forked = host.forks.fork(
                command, wanted.given, log=folder.runtime_log, descriptors=numbers
            )
        try:
            record.process = forked or process.spawn(
                wanted.argv,
                folder=folder.path,
                log=folder.runtime_log,
                environment=wanted.environment,
                given=wanted.given,
                descriptors=numbers,
            )
        except (FileNotFoundError, PermissionError) as error:
            raise launch.no_program(wanted.argv[0], error) from error
        ports = Ports(*(sockets[name].getsockname()[1] for name in launch.PROTOCOLS))
    record.set(
        state="starting",
        pid=record.process.pid,
        started_at=time.time(),
        http_port=ports.http,
        grpc_port=ports.grpc,
        metrics_port=ports.metrics,
        # why asked each time: what lies on the disk now was started, not what this agent is of
        runtime_version=version("shoal"),
    )
    record.journal()
    how = ", a fork" if forked else ""
    folder.note(f"started the runtime as process {record.process.pid}{how}")
    return record.process
