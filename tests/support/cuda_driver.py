"""A CUDA driver made of files (libcuda.c), put in the way of servers that a test starts."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
SOURCE = Path(__file__).with_name("libcuda.c")


@contextmanager
def cuda_driver(work: Path, devices: int = 1, *, on_host: bool = False) -> Iterator[None]:
    """Processes that start inside find ``devices`` GPUs, whose memory may be ``on_host``."""
    library = work / "driver" / "libcuda.so.1"
    library.parent.mkdir()
    options = ["-DDEVICE=0ull"] if on_host else []
    command = ["cc", "-shared", "-fPIC", *options, "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True)
    paths = [str(library.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", os.pathsep.join(filter(None, paths)))
        patch.setenv("TEST_CUDA_DEVICES", str(devices))
        yield
