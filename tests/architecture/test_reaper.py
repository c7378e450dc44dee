"""What tests start ends with them, also when pytest itself is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import reaper
from tests.support.runtime_process import wait_until

ROOT = Path(__file__).parents[2]
# A run that starts one process in a session of its own through a shell that ends at once, so that
# nobody is its parent; and one that overwrites its environment, through the supervisor's wrapper.
RUN = """
import subprocess, sys
from tests.support import reaper
keeper = reaper.start()
sleep = "import signal; signal.pause()"
shell = f"{sys.executable} -c '{sleep}' >/dev/null & echo $!"
orphan = subprocess.run(["sh", "-c", shell], stdout=subprocess.PIPE, start_new_session=True)
titled = subprocess.Popen(reaper.die_with_parent("env", "-i", sys.executable, "-c", sleep))
print(int(orphan.stdout), titled.pid, keeper.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="marks are read from /proc")
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_nothing_outlives_the_run_that_started_it(how: str) -> None:
    environment = {name: text for name, text in os.environ.items() if name != reaper.MARK}
    with subprocess.Popen(
        [sys.executable, "-c", RUN],
        env=environment, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as run:  # fmt: skip
        assert run.stdout is not None
        started = [int(word) for word in run.stdout.readline().split()]
        assert all(lives(pid) for pid in started)
        if how == "killed":
            run.send_signal(signal.SIGKILL)
    for pid in started:
        wait_until(lambda pid=pid: not lives(pid), f"process {pid} outlived its run")


def lives(pid: int) -> bool:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] not in "ZX"


@pytest.mark.skipif(sys.platform != "linux", reason="marks are read from /proc")
def test_this_run_has_a_reaper() -> None:
    assert os.environ[reaper.MARK]
