"""How a runtime process is started for a replica, and what its end means."""

import contextlib
import ctypes
import json
import os
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from node_agent import process
from node_agent.failure import ReplicaFailed
from node_agent.journal import ReplicaFolder
from node_agent.launcher import FAILED
from wire.messages import DesiredReplica

# why -P: where it starts is the model's own folder
RUNTIME = (sys.executable, "-P", "-m", "worker_runtime")
REPOSITORY_FLAG = "--model-repository="
CAPTURE_HASH_KEY = "SHOAL_CAPTURE_HASH_KEY"
BACKLOG = 1024
PROTOCOLS = ("http", "grpc", "metrics")
# CUDA counts GPUs as the agent and nvidia-smi do, by the PCI bus, and not the fastest first: what
# numbers in CUDA_VISIBLE_DEVICES or in a model's configuration mean is then the same to all.
_OURS = {"PYTHONUNBUFFERED": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
_ATTACH_FILTER, _LOCK_FILTER = 26, 44
_LOAD_HALF, _LOAD_BYTE, _EQUAL, _AND, _RETURN = 0x28, 0x30, 0x15, 0x54, 0x06
_SYN_ACK = 0x12
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
    if status == FAILED:
        return ReplicaFailed(
            "SandboxFailed",
            "The sandbox of this replica could not be made on this node.",
            hints=(
                "The log's last line says which step failed. Start the node's agent again: it "
                "then looks anew at what this machine offers.",
            ),
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


@contextlib.contextmanager
def listening(bind: str, *, kept: bool = False) -> Iterator[dict[str, socket.socket]]:
    """A socket on a free port for each protocol, to be handed to a runtime. Raises OSError.

    Bound here: a runtime that may open no socket of its own serves all the same, and which ports
    are its own is not a matter of its word. They listen, so that who calls early waits. ``kept``:
    to their ports, also by who may bind and connect sockets.
    """
    with contextlib.ExitStack() as stack:
        sockets = {
            protocol: stack.enter_context(socket.create_server((bind, 0), backlog=BACKLOG))
            for protocol in PROTOCOLS
        }
        if kept:
            for handed in sockets.values():
                keep_to_its_port(handed)
        yield sockets


def keep_to_its_port(listening: socket.socket) -> None:
    """Have it, and all that it accepts, hear nothing but calls to its port, for good.

    A socket stays in the network in which it was made: a replica with a network of its own would
    shut it down and connect it to services of the machine, or bind it to a port of theirs. Now it
    never hears that it was connected, nor that somebody calls. Raises OSError.
    """
    instructions = (
        (_LOAD_HALF, 0, 0, 2),  # of TCP's head: the port that it is sent to
        (_EQUAL, 0, 4, listening.getsockname()[1]),
        (_LOAD_BYTE, 0, 0, 13),
        (_AND, 0, 0, _SYN_ACK),  # flags: the answer to a call of ours
        (_EQUAL, 1, 0, _SYN_ACK),
        (_RETURN, 0, 0, 0xFFFFFFFF),
        (_RETURN, 0, 0, 0),
    )
    text = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(text, len(text))
    head = struct.pack("@HP", len(instructions), ctypes.addressof(buffer))
    listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, head)
    listening.setsockopt(socket.SOL_SOCKET, _LOCK_FILTER, 1)


def command(
    runtime: tuple[str, ...],
    replica: DesiredReplica,
    folder: ReplicaFolder,
    sockets: Mapping[str, socket.socket],
    environments: tuple[Path, ...] = (),
    flags: tuple[str, ...] = (),
) -> list[str]:
    """The argument list: it serves each protocol on the socket that it is handed.

    `environments` of Python models are there already; `flags` are the node's.
    """
    built = os.pathsep.join(map(str, environments))
    return [
        *runtime,
        f"{REPOSITORY_FLAG}{folder.repository}",
        *(f"--{protocol}-port=0" for protocol in PROTOCOLS),
        *(f"--{protocol}-fd={sockets[protocol].fileno()}" for protocol in PROTOCOLS),
        f"--id={replica.replica_id}",
        "--exit-on-error=false",
        "--backend-config=onnxruntime,map-weights=true",  # nobody changes files of the cache
        *([f"--backend-config=python,environments={built}"] if built else []),
        "--strict-readiness=true",
        *flags,
        *_capture_flags(replica, folder),
        *replica.runtime_args,
        # why after those: of several, what all of them allow
        *([] if replica.code is None else [f"--allow-code={','.join(replica.code)}"]),
    ]


def environment(
    inherited: Mapping[str, str], replica: DesiredReplica | None = None
) -> dict[str, str]:
    """The deployment's variables win over ours, and those over the machine's.

    Without a ``replica``: of one that sets none.
    """
    said = {**inherited, **_OURS, **(replica.environment if replica else {})}
    if replica is not None and replica.capture is not None and replica.capture.hash_key:
        said[CAPTURE_HASH_KEY] = replica.capture.hash_key
    return said


def _capture_flags(replica: DesiredReplica, folder: ReplicaFolder) -> tuple[str, ...]:
    """It writes where it may, whatever the control plane says of that."""
    if replica.capture is None:
        return ()
    settings = json.dumps(replica.capture.settings, separators=(",", ":"))
    return (f"--capture-config={settings}", f"--capture-directory={folder.captured}")
