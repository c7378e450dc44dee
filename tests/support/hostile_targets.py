"""What a hostile model knows of the machine that it is on: all of it."""

import os
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any


def targets(
    stack: ExitStack,
    node: Path,
    attacker: str,
    sibling: str,
    *,
    agent_pid: int,
    sibling_pid: int,
    port: int,
    disk_bytes: int,
) -> dict[str, Any]:
    """For ``hostile.tried``: ``node`` is the agent's folder, ``attacker`` and ``sibling`` are
    replicas of it, ``port`` is one of ours that must not be reached."""
    replicas = node / "replicas"
    # in a folder that every user may pass, so that nothing but the sandbox is in the way
    shared = Path(stack.enter_context(_open_folder()))
    canary = shared / "canary"
    canary.write_text("left here")
    canary.chmod(0o666)
    memory = Path(f"/dev/shm/shoal-test-{os.getpid()}")
    memory.write_text("tensors")
    memory.chmod(0o600)
    stack.callback(memory.unlink)
    owner = (replicas / sibling / "scratch" / "home").stat()
    os.chown(memory, owner.st_uid, owner.st_gid)
    listening, datagrams, abstract = (
        stack.enter_context(socket.socket(socket.AF_UNIX, kind))
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_STREAM)
    )
    listening.bind(str(shared / "admin.sock"))
    listening.listen()
    datagrams.bind(str(shared / "log.sock"))
    abstract.bind(f"\0shoal-test-{os.getpid()}")
    abstract.listen()
    for path in shared.glob("*.sock"):
        path.chmod(0o777)
    return {
        "credential": str(node / "credential.json"),
        "journal": str(replicas / attacker / "state.json"),
        "repository": str(replicas / attacker / "repository"),
        "cache": str(node / "cache"),
        "sibling_model": str(replicas / sibling / "repository" / "hostile" / "1" / "model.py"),
        "sibling_home": str(replicas / sibling / "scratch" / "home"),
        "sibling_memory": str(memory),
        "canary": str(canary),
        "agent_pid": agent_pid,
        "sibling_pid": sibling_pid,
        "redis_port": port,
        "control_port": port,
        "socket": str(shared / "admin.sock"),
        "datagrams": str(shared / "log.sock"),
        "abstract": f"shoal-test-{os.getpid()}",
        "disk_bytes": disk_bytes,
    }


def _open_folder() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(dir="/tmp")
    Path(folder.name).chmod(0o755)
    return folder
