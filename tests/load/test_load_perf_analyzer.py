"""Triton's own load generator runs clean, and what it computes from our statistics adds up."""

import csv
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import tools
from tests.integration.worker_runtime.ensemble_repository import (
    PAIR_IN,
    PAIR_OUT,
    TWICE,
    save_ensemble,
)
from tests.support import builtin_models, onnx_models, sequence_models
from tests.support.runtime_process import Runtime, runtime

GRPC = ["-i", "grpc"]
STREAM = [*GRPC, "--streaming"]
SHARED = ["--shared-memory=system"]
# The model and the arguments of each run, by its name.
RUNS: dict[str, tuple[str, list[str]]] = {
    "http": ("simple", []),
    "http batches": ("simple", ["-b", "4"]),
    "http async": ("simple", ["-a"]),
    "grpc": ("simple", GRPC),
    "grpc async": ("simple", [*GRPC, "-a"]),
    "grpc compressed": ("simple", [*GRPC, "--grpc-compression-algorithm=gzip"]),
    "stream": ("simple", STREAM),
    "http, system shared memory": ("simple", SHARED),
    "grpc, system shared memory": ("simple", [*GRPC, *SHARED]),
    "stream, system shared memory": ("simple", [*STREAM, *SHARED]),
    "decoupled stream": ("square", STREAM),
    "ensemble, http": ("twice", []),
    "ensemble, grpc": ("twice", GRPC),
    "sequences, http": ("total_direct", ["--sequence-length=8"]),
    "sequences, grpc": ("total_oldest", [*GRPC, "--sequence-length=8"]),
    "sequences, stream": ("total_direct", [*STREAM, "--sequence-length=8"]),
    "slow, http": ("slow", []),
    "slow, grpc": ("slow", GRPC),
}
DELAY_US = 5_000
_SLOW = builtin_models.IDENTITY.replace("-1", "4") + builtin_models.parameter(
    "execute_delay_ms", "5"
)
_PARTS = re.compile(r"Avg request latency: (\d+) usec \((.+)\)")
_COUNT = re.compile(r"(Inference|Execution|Successful request) count: (\d+)")


@pytest.fixture(scope="module")
def analyzer() -> Path:
    try:
        return tools.perf_analyzer()
    except tools.Unavailable as error:
        pytest.skip(f"perf_analyzer cannot be had here: {error}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = sequence_models.repository(tmp_path_factory.mktemp("analyzed") / "models")
    batching = "max_batch_size: 8\ndynamic_batching { }\n"
    onnx_models.save(root, "simple", onnx_models.add_sub(), batching)
    save_ensemble(root, "twice", PAIR_IN + PAIR_OUT, TWICE)
    builtin_models.place(root, "square", builtin_models.SQUARE)
    builtin_models.place(root, "slow", _SLOW)
    with runtime(root) as found:
        yield found


def analyzed(
    analyzer: Path, server: Runtime, name: str, folder: Path
) -> tuple[str, dict[str, str]]:
    """What perf_analyzer says, and its report."""
    model, arguments = RUNS[name]
    url = server.grpc if "grpc" in arguments else server.http
    report = folder / "report.csv"
    data = folder / "data.json"
    data.write_text(json.dumps({"data": [{"IN": [3]}]}))
    # why 999: what is measured need not be steady here, it must be complete.
    command = [
        str(analyzer), "-m", model, "-u", url, *arguments, "--concurrency-range=4",
        "--measurement-interval=300", "--max-trials=3", "--stability-percentage=999",
        "-f", str(report), *(["--input-data", str(data)] if model == "square" else []),
    ]  # fmt: skip
    done = subprocess.run(
        command, env=tools.environment(), capture_output=True, text=True, timeout=120
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert not re.search(r"fail|error|warning|not stable", text, re.IGNORECASE), text
    with report.open(newline="") as file:
        (row,) = csv.DictReader(file)
    return done.stdout, row


def parts_of(text: str) -> tuple[int, dict[str, int]]:
    """Average latency in the server and what it is made of, in µs."""
    total, inside = _PARTS.search(text).groups()  # type: ignore[union-attr] # None fails the test
    parts = {}
    for item in inside.split(" + "):
        name, value = re.fullmatch(r"(.+) (\d+) usec", item).groups()  # type: ignore[union-attr]
        parts[name] = int(value)
    return int(total), parts


@pytest.mark.parametrize("name", RUNS)
def test_it_runs_clean_and_its_breakdown_adds_up(
    name: str, analyzer: Path, server: Runtime, tmp_path: Path
) -> None:
    text, row = analyzed(analyzer, server, name, tmp_path)
    total, parts = parts_of(text)
    assert abs(sum(parts.values()) - total) <= len(parts), text  # each is rounded
    counts = {kind: int(count) for kind, count in reversed(_COUNT.findall(text))}
    batch = 4 if "batches" in name else 1
    assert counts["Inference"] == batch * counts["Successful request"]
    assert 0 < counts["Execution"] <= counts["Successful request"]
    sent = int(re.search(r"Request count: (\d+)", text)[1])  # type: ignore[index]
    assert counts["Successful request"] == pytest.approx(sent, rel=0.05, abs=20)
    client = float(re.search(r"Avg latency: (\d+) usec", text)[1])  # type: ignore[index]
    if name != "decoupled stream":  # there the client's time ends with the first answer
        assert total <= client * 1.1, text
    columns = ("Client Send", "Network+Server Send/Recv", "Server Queue", "Server Compute Input",
               "Server Compute Infer", "Server Compute Output", "Client Recv")  # fmt: skip
    assert sum(float(row[column]) for column in columns) == pytest.approx(client, rel=0.1, abs=10)
    if name.startswith("slow"):  # one instance, four clients: three wait for the fourth
        # why so wide: the machine has other work, and what the client waits on top is not ours.
        assert DELAY_US <= parts["compute infer"] < 3 * DELAY_US, text
        assert 2 * parts["compute infer"] < parts["queue"] < 4 * parts["compute infer"], text
        assert total > 0.6 * client, text
    if name.startswith("ensemble"):  # each request runs the part twice
        inside = text.partition("Composing models:")[2]
        composed = {kind: int(count) for kind, count in reversed(_COUNT.findall(inside))}
        assert composed["Successful request"] == pytest.approx(2 * sent, rel=0.05, abs=40)


def test_nothing_failed_and_nothing_is_left(server: Runtime) -> None:
    for stats in server.json("v2/models/stats")[1]["model_stats"]:
        assert stats["inference_stats"]["fail"]["count"] == 0
    assert server.json("v2/systemsharedmemory/status") == (200, [])
