"""A loop that stands still is told of with the stacks of all threads."""

import subprocess
import sys

PROGRAM = """
import asyncio, ctypes, os, threading
from worker_runtime.observability import stalls

stalls.STALLED_S, stalls._LOOK_S = 0.2, 0.05
libc = ctypes.PyDLL(None)  # calls keep the GIL, as a library that hangs with it does
held, released = os.pipe()


def libraries_lock():
    libc.read(held, ctypes.create_string_buffer(1), 1)


async def main():
    with stalls.stalls_told():
        for _ in range(8):
            await asyncio.sleep(0.05)  # longer than STALLED_S in all, and nothing is told
        print("nothing so far", file=__import__("sys").stderr, flush=True)
        asyncio.get_running_loop().call_soon(libraries_lock)
        await asyncio.sleep(0.05)

asyncio.run(main())
"""


def test_the_stacks_are_told_even_where_the_gil_is_held_for_ever() -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        told = [process.stderr.readline()]
        while "libraries_lock" not in told[-1]:
            told.append(process.stderr.readline())
            assert told[-1], told
    finally:
        process.kill()
        process.communicate()
    assert told[:2] == ["nothing so far\n", "Timeout (0:00:00.200000)!\n"]
    assert "Thread" in told[2]
