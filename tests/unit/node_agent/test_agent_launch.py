"""The flags that a replica's runtime is started with."""

from pathlib import Path

import pytest

from node_agent.journal import ReplicaFolder
from node_agent.launch import command, listening
from wire.codec import decode, encode
from wire.messages import DesiredReplica


def flags(**more: object) -> list[str]:
    replica = DesiredReplica("r1", 1, "digits", "blue", files=(), **more)  # type: ignore[arg-type]
    sent = decode(DesiredReplica, encode(replica))
    with listening("127.0.0.1") as sockets:
        return command(("runtime",), sent, ReplicaFolder(Path("/node/r1")), sockets)


@pytest.mark.parametrize(
    ("code", "flag"),
    [((), "--allow-code="), (("python",), "--allow-code=python"), (("a", "b"), "--allow-code=a,b")],
)
def test_a_runtime_is_told_what_code_was_approved(code: tuple[str, ...], flag: str) -> None:
    assert flags(code=code)[-1] == flag


def test_an_older_control_plane_says_nothing_of_code() -> None:
    assert not any(flag.startswith("--allow-code") for flag in flags())


def test_no_other_flag_undoes_it() -> None:
    """Of several the runtime allows what all of them do."""
    said = flags(code=(), runtime_args=("--allow-code=python",))
    assert said[-2:] == ["--allow-code=python", "--allow-code="]
