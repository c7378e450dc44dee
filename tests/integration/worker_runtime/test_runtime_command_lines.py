"""Triton's command lines, each given to a real server: it starts, is ready, and ends with 0."""

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.integration.worker_runtime.grpc_certificates import Authority
from tests.support import onnx_models
from tests.support.runtime_process import wait_until
from tests.unit.worker_runtime.test_runtime_cli import TRITON_LINES

# Of these Triton makes nothing either without what they speak of; here they end with its words.
REFUSED = {
    "--cache-config redis,host=redis-host --cache-config redis,port=6379": "redis",
    "--grpc-restricted-protocol=model-repository,health:admin-key=v "
    "--grpc-restricted-protocol=inference,health:infer-key=w": "multiple config groups",
}
DOCUMENTED = [
    "--model-control-mode=explicit --load-model=*",
    "--model-control-mode explicit --load-model a --exit-on-error false",
    "--model-control-mode=none --strict-readiness=true --exit-on-error=true",
    "--id=s --log-verbose=0 --log-info=true --log-warning=true --log-error=true",
    "--trace-config mode=triton --trace-config triton,file=t.json --trace-config "
    "triton,log-frequency=2 --trace-config level=TENSORS --trace-config rate=1",
    "--metrics-config histogram_latencies=true --metrics-config summary_latencies=true",
    "--http-restricted-api=shared-memory,trace,logging:key=value",
    "--allow-client-shm=false --grpc-infer-response-compression-level=medium",
    "--grpc-keepalive-permit-without-calls=true --grpc-http2-max-pings-without-data=0 "
    "--grpc-http2-min-recv-ping-interval-without-data=100 --grpc-max-connection-age-grace=10",
]
VERTEX = {"AIP_PREDICT_ROUTE": "/predict", "AIP_HEALTH_ROUTE": "/health"}  # it sets them
LINES = [line for line in [*DOCUMENTED, *TRITON_LINES] if line not in REFUSED]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the lines speak of."""
    folder = tmp_path_factory.mktemp("lines")
    config = 'input { name: "%s" data_type: TYPE_INT32 dims: 16 }\n'
    output = 'output { name: "%s" data_type: TYPE_INT32 dims: 16 }\n'
    whole = 'backend: "onnxruntime"\nmax_batch_size: 8\n' + "".join(
        [config % "INPUT0", config % "INPUT1", output % "OUTPUT0", output % "OUTPUT1"]
    )
    for name in ("a", "b", "addsub"):
        onnx_models.save(folder / "models", name, onnx_models.add_sub(), whole)
    pair = Authority(folder, "authority").pair("server")
    pair.certificate.rename(folder / "server.crt")
    pair.key.rename(folder / "server.key")
    return folder


def command(place: Path, line: str, ready: Path) -> list[str]:
    given = [
        re.sub(r"^--(http|metrics|grpc|sagemaker|vertex-ai)-port=\d+$", r"--\1-port=0", a)
        for a in shlex.split(line)
    ]
    own = {"http-port": "0", "grpc-port": "0", "metrics-port": "0", "http-address": "127.0.0.1"}
    ours = [
        f"--{name}={value}"
        for name, value in own.items()
        if not any(argument.startswith(f"--{name}") for argument in given)
    ]
    return [
        sys.executable, "-m", "worker_runtime", "--model-repository", str(place / "models"),
        *ours, "--ready-file", str(ready), *given,
    ]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_the_server_starts(line: str, place: Path, tmp_path: Path) -> None:
    ready, log = tmp_path / "ready.json", tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command(place, line, ready),
            cwd=place,
            env=os.environ | VERTEX,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, "the server listens")
        assert ready.exists(), log.read_text()
        port = json.loads(ready.read_text())["http_port"]

        def healthy() -> bool:
            assert process.poll() is None, log.read_text()
            url = f"http://127.0.0.1:{port}/v2/health/ready"
            secret = urllib.request.Request(url, headers={"infer-key": "infer-value"})
            try:
                with urllib.request.urlopen(secret, timeout=10) as reply:
                    return bool(reply.status == 200)
            except OSError:
                return False

        wait_until(healthy, "the server is ready")
        process.terminate()
        assert process.wait(20) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("line", "word"), REFUSED.items(), ids=list(REFUSED))
def test_what_cannot_be_ends_the_start(line: str, word: str, place: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        command(place, line, tmp_path / "ready.json"), cwd=place, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert word in done.stdout + done.stderr
