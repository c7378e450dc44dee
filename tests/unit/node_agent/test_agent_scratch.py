"""A replica's own folders: counted and removed, whatever a model makes in them."""

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from node_agent import staging
from node_agent.removal import remove
from node_agent.scratch import LEAST_BYTES, SHARED_MEMORY, Scratch, Uncountable
from tests.support.ordinary_user import USER

DEEP = 3000  # folders, one in another: more than Python recurses, and than a path may name


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    made = Scratch(tmp_path / "r1" / "scratch")
    made.make(0)
    yield made
    remove(tmp_path / "r1")


def nest(folder: Path, depth: int) -> None:
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("file", os.O_CREAT, dir_fd=at))
    os.close(at)


def by_ordinary_user(act: Callable[[], bool]) -> bool:
    """What ``act`` says when nobody special calls it: root opens every folder."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setresgid(USER, USER, USER)
                os.setresuid(USER, USER, USER)
            os._exit(0 if act() else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_folders_without_end_are_removed(scratch: Scratch) -> None:
    """Else the agent could not stop this replica, and ended when it was started the next time."""
    nest(scratch.home, DEEP)
    staging.discard(scratch.path.parent)
    assert not list(scratch.path.parents[1].iterdir())


def test_folders_without_end_are_not_counted_for_ever(scratch: Scratch) -> None:
    nest(scratch.home, DEEP)
    with pytest.raises(Uncountable, match="nested more than"):
        scratch.used_bytes()


def test_what_is_empty_counts_too(scratch: Scratch) -> None:
    """A file system has only so many files, whatever is in them."""
    empty = scratch.used_bytes()
    for number in range(100):
        (scratch.temporary / str(number)).touch()
    assert scratch.used_bytes() - empty >= 100 * LEAST_BYTES


def test_a_folder_that_its_owner_closed_is_counted_and_removed(tmp_path: Path) -> None:
    """The agent is often the same user as the model: nobody special."""
    tmp_path.chmod(0o755)
    folder = tmp_path / "r1"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, USER, USER)
        for above in folder.parents[:-1]:
            above.chmod(above.stat().st_mode | 0o011)
    scratch = Scratch(folder / "scratch")

    def counted_and_removed() -> bool:
        scratch.make(0)
        hidden = scratch.home / "a" / "b"
        hidden.mkdir(parents=True)
        (hidden / "file").write_bytes(bytes(1 << 20))
        hidden.chmod(0)
        hidden.parent.chmod(0)
        counted = scratch.used_bytes() >= 1 << 20
        hidden.chmod(0)
        hidden.parent.chmod(0)
        scratch.clear()
        return counted and not scratch.home.exists()

    assert by_ordinary_user(counted_and_removed)


def test_links_are_neither_followed_nor_left(scratch: Scratch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o500)
    (other / "kept").write_bytes(bytes(1 << 20))
    (scratch.home / "out").symlink_to(other)
    (scratch.home / "ring").symlink_to("ring")
    assert scratch.used_bytes() < 1 << 20
    scratch.temporary.rmdir()
    scratch.temporary.symlink_to(other)
    scratch.clear()
    assert not scratch.home.exists()
    assert not scratch.temporary.is_symlink()
    assert (other / "kept").exists()
    assert other.stat().st_mode & 0o777 == 0o500


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
def test_what_a_user_of_its_own_left_in_shared_memory_is_removed(tmp_path: Path) -> None:
    """Else it stays until the machine is started again, and a later replica may get its user."""
    user = 1_900_000_124
    scratch = Scratch(tmp_path / "scratch")
    scratch.make(user)
    left, other = (SHARED_MEMORY / f"shoal-test-{os.getpid()}-{name}" for name in "ab")
    try:
        for again in (scratch.end_processes, lambda: scratch.make(user)):
            left.write_text("tensors")
            os.chown(left, user, user)
            other.write_text("a client's")
            again()
            assert not left.exists()
            assert other.exists()
    finally:
        left.unlink(missing_ok=True)
        other.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
def test_a_first_start_costs_no_process_and_finds_nothing_of_another_in_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number has just been chosen among those that nobody runs as."""
    user = 1_900_000_126
    left = SHARED_MEMORY / f"shoal-test-{os.getpid()}-c"
    left.write_text("tensors of who had the number before")
    os.chown(left, user, user)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a process was started"))
    try:
        Scratch(tmp_path / "scratch").make(user)
        assert not left.exists()
    finally:
        left.unlink(missing_ok=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
def test_whoever_runs_as_a_user_of_its_own_is_ended(tmp_path: Path) -> None:
    """Whatever session and group it is in, and of nobody else."""
    user = 1_900_000_125
    scratch = Scratch(tmp_path / "scratch")
    scratch.make(user)
    code = "import os, signal; os.setresuid({0}, {0}, {0}); print(flush=True); signal.pause()"
    ours, theirs = (
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code.format(who)],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        for who in (user, user + 1)
    )
    try:
        for started in (ours, theirs):
            assert started.stdout is not None
            assert started.stdout.readline()
        scratch.end_processes()
        assert ours.wait(20) == -signal.SIGKILL
        assert theirs.poll() is None
    finally:
        for started in (ours, theirs):
            with started:
                started.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
def test_nobody_writes_any_more_in_what_is_emptied_for_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a process that a crash left behind fills the folder as fast as it is emptied."""
    user = 1_900_000_127
    scratch = Scratch(tmp_path / "scratch")
    scratch.make(user)
    code = "import os, signal; os.setresuid({0}, {0}, {0}); print(flush=True); signal.pause()"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code.format(user)], stdout=subprocess.PIPE
    ) as left:
        try:
            assert left.stdout is not None
            assert left.stdout.readline()

            def emptied(folder: Path) -> None:
                assert left.wait(20) == -signal.SIGKILL
                remove(folder)

            monkeypatch.setattr("node_agent.scratch.removal.remove", emptied)
            scratch.make(user)
        finally:
            left.kill()
