"""The load generator that Triton's users know, with sequences."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import tools
from tests.support.runtime_process import runtime
from tests.support.sequence_models import repository


@pytest.fixture(scope="module")
def analyzer() -> Path:
    try:
        return tools.perf_analyzer()
    except tools.Unavailable as error:
        pytest.skip(f"perf_analyzer cannot be had here: {error}")


def test_perf_analyzer_runs_clean_with_sequences(analyzer: Path, tmp_path: Path) -> None:
    with runtime(repository(tmp_path / "models")) as server:
        for model in ("total_direct", "total_oldest"):
            for protocol in (
                ["-u", server.http],
                ["-u", server.grpc, "-i", "grpc"],
                ["-u", server.grpc, "-i", "grpc", "--streaming"],
            ):
                done = subprocess.run(
                    [str(analyzer), "-m", model, *protocol, "--sequence-length=8",
                     "--concurrency-range=6", "--request-count=200"],
                    env=tools.environment(), capture_output=True, text=True, timeout=120,
                )  # fmt: skip
                assert done.returncode == 0, f"{model} {protocol}: {done.stdout}{done.stderr}"
                assert "Sequence count:" in done.stdout
                assert "Failed" not in done.stdout
