"""Load generators behind one call: closed loop, ``concurrency`` requests always under way."""

import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import tools
from benchmarks.repository import ROOT, input_data_file
from benchmarks.server import Server
from benchmarks.workloads import Drive, Workload

GENERATORS = ("perf_analyzer", "wrk", "own")
_WINDOWS = 3  # perf_analyzer wants to see three windows before it is content


class LoadFailed(RuntimeError):
    pass


@dataclass(frozen=True, slots=True)
class Load:
    """As the client saw it; latencies in microseconds."""

    per_second: float
    p50_us: float
    p99_us: float


def usable(wanted: str, protocol: str) -> tuple[str, str]:
    """The generator to use for ``wanted`` (or ``auto``), and why it is not the preferred one.

    Over HTTP that is wrk: perf_analyzer's one HTTP thread costs more than the server, and with many
    requests under way it may never find the time to close its measurement.
    """
    if wanted == "own":
        return "own", ""
    if protocol == "http" and wanted in {"auto", "wrk"}:
        if shutil.which("wrk"):
            return "wrk", ""
        if wanted == "wrk":
            raise SystemExit("wrk is not installed")
        return "own", "wrk is not installed"
    try:
        tools.perf_analyzer()
    except tools.Unavailable as error:
        reason = f"perf_analyzer is not to be had: {error}"
        if wanted == "perf_analyzer":
            raise SystemExit(reason) from error
        return "own", reason
    return "perf_analyzer", ""


def drive(generator: str, workload: Workload, how: Drive, server: Server, seconds: float) -> Load:
    """Raises LoadFailed when requests fail or the generator does."""
    if generator == "perf_analyzer":
        return _perf_analyzer(workload, how, server, seconds)
    if generator == "wrk":
        return _wrk(workload, how, server, seconds)
    return _own(workload, how, server, seconds)


def _perf_analyzer(workload: Workload, how: Drive, server: Server, seconds: float) -> Load:
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        report = Path(folder) / "report.csv"
        command = [
            str(tools.perf_analyzer()), "-m", workload.model, "-i", how.protocol,
            "-u", server.address(how.protocol), "--concurrency-range", str(how.concurrency),
            "--measurement-interval", str(max(int(seconds * 1000 / _WINDOWS), 200)),
            "--max-trials", str(_WINDOWS), "--stability-percentage", "999",
            "--input-data", str(input_data_file(workload)), "-f", str(report),
        ]  # fmt: skip
        _call(command, seconds)
        with report.open(newline="") as file:
            (row,) = csv.DictReader(file)
    return Load(
        float(row["Inferences/Second"]), float(row["p50 latency"]), float(row["p99 latency"])
    )


def _wrk(workload: Workload, how: Drive, server: Server, seconds: float) -> Load:
    from benchmarks.generator import http_body  # noqa: PLC0415  # why: loads tritonclient

    body, json_size = http_body(workload)
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        payload, script = Path(folder) / "body", Path(folder) / "post.lua"
        payload.write_bytes(body)
        script.write_text(
            f'wrk.method = "POST"\nwrk.body = io.open("{payload}", "rb"):read("*a")\n'
            f'wrk.headers["Inference-Header-Content-Length"] = "{json_size}"\n'
            "done = function(summary, latency)\n"
            '  io.write(string.format("RESULT %f %f %f %d\\n",\n'
            "    summary.requests / summary.duration * 1e6, latency:percentile(50),\n"
            "    latency:percentile(99), summary.errors.status + summary.errors.read))\nend\n"
        )
        url = f"http://{server.address('http')}/v2/models/{workload.model}/infer"
        command = ["wrk", "-t1", f"-c{how.concurrency}", f"-d{max(round(seconds), 1)}s"]
        output = _call([*command, "-s", str(script), url], seconds)
    found = re.search(r"RESULT (\S+) (\S+) (\S+) (\d+)", output)
    if found is None or int(found[4]):
        raise LoadFailed(f"wrk saw failures:\n{output}")
    return Load(float(found[1]), float(found[2]), float(found[3]))


def _own(workload: Workload, how: Drive, server: Server, seconds: float) -> Load:
    job = {
        "key": workload.key, "seconds": seconds, "address": server.address(how.protocol),
        **asdict(how),
    }  # fmt: skip
    command = [sys.executable, "-m", "benchmarks.generator", json.dumps(job)]
    return Load(**json.loads(_call(command, seconds)))


def _call(command: list[str], seconds: float) -> str:
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=tools.environment(), capture_output=True, text=True,
            check=False, timeout=seconds * 4 + 60,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise LoadFailed(f"{Path(command[0]).name} did not end in {late.timeout:.0f} s") from late
    if done.returncode:
        raise LoadFailed(f"{Path(command[0]).name}: {(done.stderr or done.stdout)[-3000:]}")
    return done.stdout
