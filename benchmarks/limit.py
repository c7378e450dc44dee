"""The bare limit: ONNX Runtime called in a loop, without server, queue, batcher or client.

For an ensemble one inference is a run for each step, fed with the outputs of the one before.

``python -m benchmarks.limit`` is one measurement in a process of its own; ``best`` tries the ways
to spend the cores and the batch sizes; ``measure`` repeats the winner beside the server's rounds.
"""

import json
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass

from benchmarks.repository import CORES, ROOT, graph_path, sample
from benchmarks.workloads import WORKLOADS, Workload


@dataclass(frozen=True, slots=True)
class Way:
    """``instances`` sessions in threads, each with ``threads`` intra-op threads."""

    instances: int
    threads: int
    batch: int

    def __str__(self) -> str:
        return f"{self.instances} x {self.threads} threads, batch {self.batch}"


@dataclass(frozen=True, slots=True)
class Limit:
    per_second: float
    cpu_us: float  # per inference, user and system, all threads


def ways(workload: Workload) -> list[Way]:
    shares = {(1, 1), (1, CORES), (CORES, 1)}
    return [
        Way(instances, threads, batch)
        for instances, threads in sorted(shares)
        for batch in workload.batches
    ]


def best(workload: Workload, seconds: float) -> tuple[Way, dict[str, float]]:
    """The way with the highest throughput, and every way's inferences per second.

    Two passes, of which the better counts: a neighbour's burst must not choose the way.
    """
    results = dict.fromkeys(ways(workload), 0.0)
    for _ in range(2):
        for way, before in results.items():
            results[way] = max(before, measure(workload, way, seconds / 2).per_second)
    return max(results, key=results.__getitem__), {str(way): rate for way, rate in results.items()}


def measure(workload: Workload, way: Way, seconds: float) -> Limit:
    job = {"key": workload.key, "seconds": seconds, **asdict(way)}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.limit", json.dumps(job)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Limit(**json.loads(done.stdout))


def main(job: dict[str, object]) -> None:
    import onnxruntime  # noqa: PLC0415  # why: only the measuring process needs it

    workload = next(item for item in WORKLOADS if item.key == job["key"])
    instances, threads = int(str(job["instances"])), int(str(job["threads"]))
    batch, seconds = int(str(job["batch"])), float(str(job["seconds"]))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    feeds = sample(workload, batch)
    sessions = [
        onnxruntime.InferenceSession(
            str(graph_path(workload)), options, providers=["CPUExecutionProvider"]
        )
        for _ in range(instances)
    ]
    for session in sessions:
        for _ in range(5):
            session.run(None, feeds)
    counts = [0] * instances
    end = time.perf_counter() + seconds

    def loop(number: int) -> None:
        run, names, count = sessions[number].run, list(feeds), 0
        while time.perf_counter() < end:
            found = run(None, feeds)
            for _ in range(workload.steps - 1):
                found = run(None, dict(zip(names, found, strict=True)))
            count += 1
        counts[number] = count

    started, cpu = time.perf_counter(), time.process_time()
    loops = [threading.Thread(target=loop, args=(number,)) for number in range(instances)]
    for thread in loops:
        thread.start()
    for thread in loops:
        thread.join()
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    total = sum(counts) * batch
    print(json.dumps({"per_second": total / wall, "cpu_us": cpu / total * 1e6}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
