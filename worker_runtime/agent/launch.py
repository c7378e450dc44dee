"""How a runtime process is started for a replica, and what its end means."""

import sys
from collections.abc import Mapping

from wire.messages import DesiredReplica
from worker_runtime.agent import process
from worker_runtime.agent.failure import ReplicaFailed
from worker_runtime.agent.journal import ReplicaFolder

RUNTIME = (sys.executable, "-m", "worker_runtime")
READY_FLAG = "--ready-file="
PROTOCOLS = ("http", "grpc", "metrics")
USAGE_STATUS = 2  # the runtime does not take our flags: starting it again is no use


class RuntimeCrashed(RuntimeError):
    """The process ended by itself; the text says how."""


def ended(status: int | None) -> RuntimeCrashed | ReplicaFailed:
    """What the end of a runtime means: try again, or (its flags are wrong) give up."""
    if status == USAGE_STATUS:
        return ReplicaFailed(
            "RuntimeRefused",
            "The runtime refused to start with these flags.",
            hints=("Is the agent of the same version as the control plane? Update the node.",),
        )
    return RuntimeCrashed(process.describe_exit(status))


def no_program(program: str, error: OSError) -> ReplicaFailed:
    """The runtime's program cannot be run on this machine."""
    return ReplicaFailed(
        "RuntimeMissing",
        f"The runtime could not be started on this node: {program} cannot be run.",
        detail=str(error),
        hints=(
            "Was the agent's Python environment moved, or made anew? Install Shoal there again, "
            "start the agent again, then retry.",
        ),
    )


def command(
    runtime: tuple[str, ...], replica: DesiredReplica, folder: ReplicaFolder, *, bind: str
) -> list[str]:
    """The argument list; free ports everywhere, the runtime writes them to the ready file."""
    return [
        *runtime,
        f"--model-repository={folder.repository}",
        *(f"--{protocol}-port=0" for protocol in PROTOCOLS),
        *(f"--{protocol}-address={bind}" for protocol in PROTOCOLS),
        f"--id={replica.replica_id}",
        "--exit-on-error=false",
        "--strict-readiness=true",
        f"{READY_FLAG}{folder.ready_file}",
        *replica.runtime_args,
        # why after those: of several, what all of them allow
        *([] if replica.code is None else [f"--allow-code={','.join(replica.code)}"]),
    ]


def environment(inherited: Mapping[str, str], replica: DesiredReplica) -> dict[str, str]:
    """The deployment's variables win over the machine's."""
    return {**inherited, "PYTHONUNBUFFERED": "1", **replica.environment}
