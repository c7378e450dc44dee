"""The fork server: when it must not fork, and what a fork shows of itself."""

import os
import types
from pathlib import Path

import pytest

from node_agent.fork_server import suits
from node_agent.launcher import fork_server, title
from node_agent.launcher.fork_server import Refused
from wire.messages import DesiredReplica


@pytest.mark.parametrize(
    ("environment", "fits"),
    [
        ({}, True),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1"}, True),
        ({"OMP_NUM_THREADS": "1"}, False),
        ({"CUDA_VISIBLE_DEVICES": "", "THRESHOLD": "0.5"}, False),
    ],
)
def test_variables_of_a_deployment_are_in_force_from_the_first_import_on(
    environment: dict[str, str], fits: bool
) -> None:
    replica = DesiredReplica("r1", 1, "digits", "blue", files=(), environment=environment)
    assert suits(replica) is fits


@pytest.mark.parametrize(
    ("command", "room", "shown"),
    [
        (["python", "-m", "x"], 20, b"python\0-m\0x\0"),
        (["python", "-m", "x"], 12, b"python\0-m\0x\0"),
        (["python", "-m", "x"], 11, b"python\0-m\0"),
        (["python"], 3, b""),
        (["\u00e9"], 3, b"\xc3\xa9\0"),
    ],
)
def test_a_command_line_is_shown_in_whole_arguments(
    command: list[str], room: int, shown: bytes
) -> None:
    assert title.fitting(command, room) == shown


def _changed(file: Path) -> None:
    file.write_text("x = 2  # longer")


def _replaced(file: Path) -> None:
    new = file.with_suffix(".new")
    new.write_text(file.read_text())
    os.utime(new, ns=(0, file.stat().st_mtime_ns))
    new.replace(file)


@pytest.mark.parametrize("change", [_changed, _replaced, Path.unlink])
def test_code_that_is_not_what_was_imported_is_noticed(tmp_path: Path, change: object) -> None:
    file = tmp_path / "module.py"
    file.write_text("x = 1")
    module, builtin = types.ModuleType("module"), types.ModuleType("sys")
    module.__file__ = str(file)
    stamps = fork_server.stamped({"module": module, "sys": builtin})
    fork_server.check_fresh(stamps)
    assert callable(change)
    change(file)
    with pytest.raises(Refused, match=r"module\.py"):
        fork_server.check_fresh(stamps)


def test_with_another_thread_nothing_is_forked() -> None:
    fork_server.check_alone(1)
    with pytest.raises(Refused, match="1 other threads"):
        fork_server.check_alone(2)
