"""Large blocks are used again: counted as the pages that a process asks its machine for."""

import ctypes
import subprocess
import sys

import pytest

# Blocks of 600 KB, written to and freed, again and again.
PROGRAM = """
import resource
from worker_runtime import heap
assert not {keeps} or heap.keep_freed()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    [bytearray(600_000) for _ in range(20)]
before = faults()
for _ in range(10):
    [bytearray(600_000) for _ in range(20)]
print(faults() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc's heap")
def test_blocks_are_used_again_without_asking_the_machine() -> None:
    found = {}
    for keeps in (False, True):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(keeps=keeps)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        found[keeps] = int(done.stdout)
    blocks = 10 * 20 * 600_000 // 4096
    assert found[False] > blocks / 2, "the test sees nothing: it was so without"
    assert found[True] < blocks / 20
