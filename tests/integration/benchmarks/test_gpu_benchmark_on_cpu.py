"""The GPU benchmark without a GPU: the same code, small networks, a driver made of files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu_catalog import LIBRARIES, SAMPLES
from benchmarks.gpu_child import Child
from benchmarks.gpu_models import Kit, make
from tests.support.cuda_driver import cuda_driver, needs_compiler

ROOT = Path(__file__).parents[3]
POINTS = ("plus_one_onnxruntime cuda 4x32", "plus_one_pytorch http 32x1")

pytestmark = [pytest.mark.integration, needs_compiler]


def benchmark(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # whose threads wait for one another, busily
    )  # fmt: skip


def test_it_measures_a_server_beside_the_bare_loops(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    with cuda_driver(tmp_path):
        done = benchmark(
            "--device=cpu", "--tiny", "--cuda-memory", "--seconds=0.5", "--clients=2",
            f"--output={found}", *(f"--only={point}" for point in POINTS),
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    body = json.loads(found.read_text())
    assert body["failures"] == [] and body["left_out"] == []
    assert {(row["model"], row["library"]) for row in body["limits"]} == {
        ("plus_one", "onnxruntime"),
        ("plus_one", "pytorch"),
    }
    assert all(row["per_second"] > 0 and row["wrong"] == 0 for row in body["limits"])
    assert [row["transport"] for row in body["points"]] == ["cuda", "http"]
    for row in body["points"]:
        assert row["answers"] > 0 and row["checked"] >= row["answers"] // 8 > 0
        assert (row["wrong"], row["errors"], row["server_failures"]) == (0, 0, 0)
    assert sum(row["cpu_us"] for row in body["points"]) > 0
    left = [*Path("/dev/shm").glob("shoal_bench*"), *Path("/dev/shm").glob("test_cuda*")]
    assert left == []


@pytest.mark.parametrize("key", ["resnet50", "bert"])
def test_both_libraries_answer_from_the_files_of_a_network_as_it_did_itself(key: str) -> None:
    kit = Kit("cpu", tiny=True)
    make(kit, key)
    for library in LIBRARIES[key]:
        limit = Child(
            "benchmarks.gpu_limit",
            {"device": "cpu", "tiny": True, "key": key, "library": library},
        )
        try:
            limit.hear(60)
            found = limit.ask({"batch": SAMPLES, "seconds": 0.01}, 60)
        finally:
            limit.close()
        assert found["per_second"] > 0 and found["wrong"] == 0


def test_without_a_gpu_it_says_so_before_it_does_anything() -> None:
    done = benchmark("--device=cuda")
    if done.returncode != 2 and Path("/dev/nvidia0").exists():
        pytest.skip("there is a GPU here")
    assert done.returncode == 2
    assert done.stderr.startswith("No GPU to measure on: ") and done.stderr.count("\n") == 1
