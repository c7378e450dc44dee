"""A client shortens the file that it shares: in processes of their own, as this one would end."""

import signal
import subprocess
import sys

START = """
import mmap, os, tempfile, threading
import numpy as np
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import InvalidArgument

PAGES = 100
file, path = tempfile.mkstemp(dir="/dev/shm")
os.write(file, b"a" * mmap.PAGESIZE * PAGES)
memory = SharedMemory()
def register(name, pages=PAGES):
    memory.register_system(name, os.path.basename(path), 0, mmap.PAGESIZE * pages)
try:
"""
END = """
finally:
    os.unlink(path)
"""


def ended(body: str) -> "subprocess.CompletedProcess[str]":
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    program = START + lines + END
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_what_is_gone_reads_as_zeros_and_then_says_so() -> None:
    done = ended(
        """
register("region")
held = np.frombuffer(memory.view("region", 0, mmap.PAGESIZE * PAGES), np.uint8)
os.truncate(path, mmap.PAGESIZE)
assert held.sum(dtype=np.int64) == mmap.PAGESIZE * ord("a")
try:
    memory.view("region", 0, 8)
except InvalidArgument as refusal:
    print(refusal)
del held
memory.unregister_system()
os.truncate(path, mmap.PAGESIZE * PAGES)
register("region")
print(bytes(memory.view("region", 0, 2)))
"""
    )
    assert done.returncode == 0, done.stderr
    refusal, again = done.stdout.splitlines()
    assert "shared memory region 'region': 'tmp" in refusal
    assert refusal.endswith("has become shorter than it was registered, or there is no memory for "
                            "it; register it anew")  # fmt: skip
    assert again == "b'aa'"


def test_an_output_that_has_no_room_any_more_is_refused() -> None:
    done = ended(
        """
register("region")
window = memory.window("region", 0, mmap.PAGESIZE * 2)
os.truncate(path, mmap.PAGESIZE)
try:
    window.write(bytes(mmap.PAGESIZE * 2))
except InvalidArgument:
    print("refused")
"""
    )
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


def test_a_thread_without_the_gil_goes_on_too() -> None:
    """As those of the libraries that run models: here numpy's own copy of a large array."""
    done = ended(
        """
register("region")
held = np.frombuffer(memory.view("region", 0, mmap.PAGESIZE * PAGES), np.uint8)
os.truncate(path, 0)
copied = np.ones(held.size, np.uint8)
copying = [threading.Thread(target=np.copyto, args=(copied, held)) for _ in range(8)]
for thread in copying:
    thread.start()
for thread in copying:
    thread.join()
assert not copied.any()
"""
    )
    assert done.returncode == 0, done.stderr


def test_the_same_fault_elsewhere_ends_the_process_as_ever() -> None:
    done = ended(
        """
register("region")
other = mmap.mmap(file, mmap.PAGESIZE)
os.unlink(path)
os.ftruncate(file, 0)
other[0]
"""
    )
    assert done.returncode == -signal.SIGBUS


def test_a_closed_region_is_forgotten() -> None:
    done = ended(
        """
from worker_runtime.core.shortened_files import _Guard
for name in ("one", "two"):
    register(name)
memory.unregister_system("one")
assert [mapping.map.closed for mapping in _Guard.mappings] == [False]
"""
    )
    assert done.returncode == 0, done.stderr
