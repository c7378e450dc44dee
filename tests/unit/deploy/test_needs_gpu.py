"""Whether there is a GPU, asked before anything is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cuda_driver import cuda_driver, needs_compiler

SCRIPT = Path(__file__).parents[3] / "deploy" / "needs-gpu"


def asked() -> "subprocess.CompletedProcess[str]":
    # -I -S: nothing is installed yet
    command = [sys.executable, "-I", "-S", str(SCRIPT)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@needs_compiler
@pytest.mark.parametrize(
    ("devices", "code", "told"),
    [(1, 0, ""), (0, 1, "This needs an NVIDIA GPU: the NVIDIA driver has no GPU.\n")],
)
def test_it_is_the_driver_that_says(tmp_path: Path, devices: int, code: int, told: str) -> None:
    with cuda_driver(tmp_path, devices):
        done = asked()
    assert (done.returncode, done.stderr) == (code, told)


@needs_compiler
def test_a_driver_that_does_not_load_is_told_of_in_one_sentence(tmp_path: Path) -> None:
    with cuda_driver(tmp_path):
        (tmp_path / "driver" / "libcuda.so.1").write_bytes(b"no library")
        done = asked()
    if done.returncode == 0:
        pytest.skip("the real driver of this machine was found behind it")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "libcuda.so.1 is not there" in done.stderr
