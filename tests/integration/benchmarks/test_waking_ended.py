"""A benchmark that a signal ends takes its installation with it."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.reaper import MARK, PASSED_ON
from tests.support.runtime_process import wait_until

ROOT = Path(__file__).parents[3]
UP_S, ENDED_S = 240.0, 90.0
# why the shell: one that starts a program with `&` leaves SIGINT ignored
IGNORED = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]


def of(folder: Path) -> dict[int, str]:
    """Command lines of the processes that this folder is the home of, by their environment or by
    their arguments (replicas have neither variables nor arguments of others)."""
    found, wanted = {}, str(folder).encode()
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        with suppress(OSError):  # it has ended since
            command = (process / "cmdline").read_bytes()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and wanted in (process / "environ").read_bytes() + command:
                found[int(process.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the benchmark has its home; whatever is of it at the end is killed."""
    # why none of pytest's: sockets have short names, and those of parallel workers are long
    with tempfile.TemporaryDirectory(prefix="shoal-ended-", ignore_cleanup_errors=True) as found:
        yield Path(found)
        for pid in of(Path(found)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


GUARDED = """
import signal
from tests.support import reaper

reaper.guard()
try:
    print("up", flush=True)
    signal.pause()
finally:
    print("tidied", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_is_guarded_ends_in_order(number: signal.Signals) -> None:
    program = subprocess.Popen(
        [*IGNORED, sys.executable, "-c", GUARDED], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert program.stdout is not None
    assert program.stdout.readline() == "up\n"
    program.send_signal(number)
    assert program.communicate(timeout=ENDED_S)[0] == "tidied\n"
    assert program.returncode != 0


@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_of_its_installation_outlives_it(folder: Path, number: signal.Signals) -> None:
    # why without: it is started as people start it, and what ends with pytest shows nothing
    kept = {name: text for name, text in os.environ.items() if name not in (MARK, PASSED_ON)}
    waking = subprocess.Popen(
        [*IGNORED, sys.executable, "-m", "benchmarks.waking", "1", "--only", "forked"],
        cwd=ROOT, env={**kept, "TMPDIR": str(folder)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip

    def serves() -> bool:
        assert waking.poll() is None, waking.communicate()[0]
        return any("-m worker_runtime" in command for command in of(folder).values())

    wait_until(serves, "a replica", UP_S)  # all of the installation is there then
    os.kill(waking.pid, number)
    waking.communicate(timeout=ENDED_S)
    wait_until(lambda: not of(folder), "the end of all that it started", ENDED_S)
    if number != signal.SIGKILL:
        assert list(folder.glob("shoal-waking-*")) == [], "its folder is removed, too"
