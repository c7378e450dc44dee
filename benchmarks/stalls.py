"""What small calls feel while others do what could hold up the event loop: alone, then beside all.

M0 over HTTP at a fixed rate, whether or not answers have come: latencies count from when a request
was due. Beside it, all at once: probes while a model's ``is_ready`` hangs, a Python model that does
not read the answers of another, JSON of 10 MB in and out, answers compressed with gzip, and bodies
of 64 KB that unpack to 64 MB. The loop's own lateness comes from ``shoal_loop_lag_seconds``.
"""

import gzip
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.repository import ROOT, prepared
from benchmarks.server import Server, running
from benchmarks.workloads import WORKLOADS

RATE = 5_000  # requests a second
LAG_S, TIMES_P50 = (
    0.01,
    4.0,
)  # the promise: 99.9 % of the loop's lateness, and p99 beside to p50 alone
_ROWS = 600_000  # numbers in a document of some 10 MB
_ANSWERS = 40_000
_BOMB = gzip.compress(bytes(64 * 1024 * 1024), 9)

_HANGS = """
import time
class TritonPythonModel:
    def is_ready(self):
        time.sleep(4)
        return True
    def execute(self, requests):
        return []
"""
_MANY = f"""
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for number in range({_ANSWERS}):
                output = pb_utils.Tensor("OUTPUT0", np.full(1, number, np.float32))
                sender.send(pb_utils.InferenceResponse([output]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
_READER = """
import ctypes
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        (request,) = requests
        call = pb_utils.InferenceRequest(
            model_name="many", requested_output_names=["OUTPUT0"], inputs=request.inputs()
        )
        answers = call.exec(decoupled=True)
        ctypes.PyDLL(None).usleep(2_000_000)  # no thread of this process reads meanwhile
        last = [a.output_tensors()[0] for a in answers if a.output_tensors()][-1]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", last.as_numpy())])]
"""
_TENSORS = """
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
instance_group { count: 1 kind: KIND_CPU }
"""
_DECOUPLED = "model_transaction_policy { decoupled: true }"


@dataclass(frozen=True, slots=True)
class Seen:
    """Of the small calls, in microseconds, and of the loop: 99.9 % of its lateness, in seconds.

    ``lag_s`` is the upper bound of the histogram's bucket. ``done``: how often each that does harm
    got its answer.
    """

    per_second: float
    p50_us: float
    p99_us: float
    lag_s: float
    done: dict[str, int]


def measured(seconds: float) -> tuple[Seen, Seen]:
    """Alone, and beside all; of one and the same server.

    The loop is looked at 50 times a second: 30 s say something of one time in a thousand.
    """
    with tempfile.TemporaryDirectory() as folder:
        workload = WORKLOADS[0]
        root = Path(folder)
        (root / workload.model).symlink_to(prepared(workload) / workload.model)
        for name, code, more in (
            ("hangs", _HANGS, ""), ("many", _MANY, _DECOUPLED), ("reader", _READER, ""),
        ):  # fmt: skip
            _write(root, name, f'backend: "python"{_TENSORS}{more}')
            (root / name / "1" / "model.py").write_text(code)
        _write(root, "echo", f'backend: "identity"{_TENSORS}')
        with running(root, workload.model) as server:
            _small_calls(server, 2.0)
            alone = _seen(server, seconds, {})
            with _harm(server) as done:
                time.sleep(2.0)  # until all are under way
                beside = _seen(server, seconds, done)
    return alone, beside


def _write(root: Path, name: str, config: str) -> None:
    (root / name / "1").mkdir(parents=True)
    (root / name / "config.pbtxt").write_text(config)


def _seen(server: Server, seconds: float, done: dict[str, int]) -> Seen:
    before = _lags(server)
    answered = dict(done)
    times_us = _small_calls(server, seconds)
    after = _lags(server)
    return Seen(
        per_second=len(times_us) / seconds,
        p50_us=float(np.percentile(times_us, 50)),
        p99_us=float(np.percentile(times_us, 99)),
        lag_s=quantile({bound: after[bound] - before[bound] for bound in after}, 0.999),
        done={name: count - answered.get(name, 0) for name, count in done.items()},
    )


def _small_calls(server: Server, seconds: float) -> Sequence[float]:
    """Latencies in microseconds, by a process of its own."""
    command = [
        sys.executable, "-m", "benchmarks.paced", str(server.http_port), str(RATE), str(seconds),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return np.frombuffer(done.stdout, np.float64)


def _lags(server: Server) -> dict[float, int]:
    url = f"http://127.0.0.1:{server.metrics_port}/metrics"
    with urllib.request.urlopen(url, timeout=30) as answer:
        text = answer.read().decode()
    found = re.findall(r'shoal_loop_lag_seconds_bucket{le="(.+?)"} (\d+)', text)
    return {float(bound): int(count) for bound, count in found}


def quantile(counts: dict[float, int], share: float) -> float:
    """The least bound that so many are below; ``counts`` are cumulative."""
    wanted = share * counts[float("inf")]
    return min(bound for bound, count in counts.items() if count >= wanted)


# --- what could hold up the loop -----------------------------------------------------------------


@contextmanager
def _harm(server: Server) -> Iterator[dict[str, int]]:
    """All at once, each again and again, until the end; how often each was answered by now."""
    rows = json.dumps(np.random.default_rng(0).random(_ROWS).round(14).tolist())
    document = _document(rows, _ROWS)
    few = _document("[1]", 1)
    plain = {"Content-Type": "application/json"}
    zipped = {**plain, "Accept-Encoding": "gzip"}
    bomb = {**plain, "Content-Encoding": "gzip"}
    work: dict[str, Callable[[], None]] = {
        "probes while is_ready hangs": lambda: _probe(server),
        "answers that a model does not read": lambda: _post(server, "reader", few, plain),
        "JSON of 10 MB": lambda: _post(server, "echo", document, plain),
        "gzip of 10 MB": lambda: _post(server, "echo", document, zipped),
        "64 MB out of 64 KB": lambda: _post(server, "echo", _BOMB, bomb, refused=True),
    }
    done = dict.fromkeys(work, 0)
    over = threading.Event()

    def again(name: str) -> None:
        while not over.is_set():
            work[name]()
            done[name] += 1

    threads = [threading.Thread(target=again, args=(name,)) for name in work]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _document(rows: str, count: int) -> bytes:
    head = f'{{"inputs":[{{"name":"INPUT0","datatype":"FP32","shape":[{count}],"data":'
    return f"{head}{rows}}}]}}".encode()


def _probe(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=30)
    for path in ("/v2/models/hangs/ready", "/v2/health/ready", "/v2/health/live"):
        connection.request("GET", path)
        connection.getresponse().read()
    connection.close()
    time.sleep(0.02)


def _post(
    server: Server, model: str, body: bytes, headers: dict[str, str], *, refused: bool = False
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=60)
    connection.request("POST", f"/v2/models/{model}/infer", body, headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if (answer.status != 200) != refused:
        raise RuntimeError(f"{model}: {answer.status} {text[:200]!r}")


# --- the table -----------------------------------------------------------------------------------


def verdicts(alone: Seen, beside: Seen) -> list[tuple[bool, str]]:
    """One line per promise: whether it is kept, and the figures."""
    times = beside.p99_us / alone.p50_us
    return [
        (
            beside.lag_s <= LAG_S,
            f"stalls: 99.9 % of the loop's lateness below {beside.lag_s * 1000:.0f} ms "
            f"(wanted {LAG_S * 1000:.0f})",
        ),
        (
            times <= TIMES_P50,
            f"stalls: p99 of M0 beside them is {times:.1f} times its p50 alone "
            f"(wanted {TIMES_P50:.0f})",
        ),
    ]


def print_seen(alone: Seen, beside: Seen) -> None:
    for title, seen in (("alone", alone), ("beside", beside)):
        print(
            f"M0 at {RATE:,} a second, {title:<6}: {seen.per_second:,.0f}/s, p50 "
            f"{seen.p50_us:,.0f} µs, p99 {seen.p99_us:,.0f} µs; 99.9 % of the loop's lateness "
            f"below {seen.lag_s * 1000:.0f} ms"
        )
    for name, count in beside.done.items():
        print(f"   meanwhile {count:,} times: {name}")


if __name__ == "__main__":
    both = measured(30.0)
    print_seen(*both)
    for kept, text in verdicts(*both):
        print("ok  " if kept else "MISS", text)
