"""The commands that stay open or look at everything, as a person runs them, on a real product."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http

from tests.e2e.product import ROOT, Product
from tests.e2e.tiny_model import INPUT, OUTPUT, expected, write
from tests.support.runtime_process import wait_until

LONGEST_S = 180
NAME = "terminal"


def environment(product: Product) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    return {**kept, "SHOAL_HOME": str(product.home), "PYTHONPATH": str(ROOT)}


def shoal(product: Product, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *words],
        env=environment(product), capture_output=True, text=True, timeout=LONGEST_S, check=False,
    )  # fmt: skip
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Running:
    """A command that goes on; its output line by line."""

    def __init__(self, product: Product, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal", *words],
            env=environment(product), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            # why: what a shell starts in the background ignores Ctrl-C, and so its children
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        self.lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def line_with(self, pattern: str) -> "re.Match[str]":
        seen = []
        while True:
            try:
                seen.append(self.lines.get(timeout=LONGEST_S))
            except Empty:
                raise AssertionError(f"no line with {pattern!r} in\n{''.join(seen)}") from None
            if found := re.search(pattern, seen[-1]):
                return found

    def stop(self, with_signal: int) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(LONGEST_S)


@contextmanager
def running(product: Product, *words: str) -> Iterator[Running]:
    started = Running(product, *words)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.wait(10)


@pytest.fixture(scope="module")
def served(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("terminal") / "tiny"
    (folder / "1").mkdir(parents=True)
    write(folder / "1" / "model.onnx")
    shoal(product, "deploy", str(folder), "--name", NAME, "-o", "json")
    yield NAME
    shoal(product, "endpoint", "delete", NAME, "--yes")


def test_the_proxy_serves_clients_that_know_neither_key_nor_tls(
    product: Product, served: str
) -> None:
    values = np.arange(8, dtype=np.float32).reshape(2, 4) / 8
    with running(product, "proxy", served, "--port", "0", "--grpc-port", "0") as proxy:
        ports = proxy.line_with(r"http://(\S+:\d+) and gRPC (\S+:\d+)")
        http = triton_http.InferInput(INPUT, values.shape, "FP32")
        http.set_data_from_numpy(values)
        with triton_http.InferenceServerClient(ports[1]) as web:
            assert web.is_server_ready()
            assert web.get_model_metadata("tiny")["outputs"][0]["name"] == OUTPUT
            found = web.infer("tiny", [http]).as_numpy(OUTPUT)
        assert np.allclose(found, expected(values), atol=1e-6)
        grpc = triton_grpc.InferInput(INPUT, values.shape, "FP32")
        grpc.set_data_from_numpy(values)
        with triton_grpc.InferenceServerClient(ports[2]) as calls:
            assert calls.is_model_ready("tiny")
            assert np.allclose(calls.infer("tiny", [grpc]).as_numpy(OUTPUT), found)
            with pytest.raises(Exception, match="not reachable through the gateway"):
                calls.get_model_repository_index()
        taken = shoal_fails(product, "proxy", served, "--port", ports[1].rsplit(":")[-1])
        assert "port" in taken and "--grpc-port" in taken
        assert proxy.stop(signal.SIGTERM) == 0


def shoal_fails(product: Product, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *words],
        env=environment(product), capture_output=True, text=True, timeout=LONGEST_S, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    return done.stderr


def test_logs_go_on_until_ctrl_c(product: Product, served: str) -> None:
    with running(product, "logs", served, "--follow", "--tail", "5") as logs:
        first = logs.line_with(r"Z (\w+) .*ready")[1]
        shoal(product, "online-deployment", "update", "-n", "blue", "-e", served,
              "--set", "instance_count=2", "-o", "none")  # fmt: skip
        # another replica says that it is ready, after the command began to follow
        logs.line_with(rf"Z (?!{first})\w+ .*ready")
        assert logs.stop(signal.SIGINT) == 130


def test_the_doctor_finds_nothing_and_looks_everywhere(product: Product, served: str) -> None:
    found: list[dict[str, Any]] = []

    def settled() -> bool:
        found[:] = json.loads(shoal(product, "doctor", "-o", "json"))
        # a machine of tests may be short of disk; beat and workers are heard of within a minute
        return {row["subject"] for row in found if row["status"] == "warning"} <= {"Disk"}

    wait_until(settled, "the doctor to find nothing odd", timeout_s=90)
    subjects = {finding["subject"].split()[0] for finding in found}
    assert subjects >= {
        "Installation", "Studio", "Broker", "Database", "Clock", "Live", "Token", "Version", "Node",
        "Gateway", "Disk", "Beat", "Worker",
    }  # fmt: skip
    assert [row for row in found if row["status"] == "failed"] == []


def test_configurations_are_mended_and_explained(product: Product, tmp_path: Path) -> None:
    folder = tmp_path / "net"
    folder.mkdir()
    config = folder / "config.pbtxt"
    config.write_text('name: "net"\nbackend: "onnx"\nmax_batch_size: 4\n')
    rows = json.loads(shoal(product, "config", "lint", str(folder), "-o", "json", code=1))
    assert any("onnxruntime" in json.dumps(row) for row in rows), rows
    assert 'backend: "onnxruntime"' in shoal(product, "config", "fmt", str(config))
    assert 'backend: "onnx"\n' in config.read_text(), "only --write may touch the file"
    shoal(product, "config", "fmt", str(config), "--write")
    assert 'backend: "onnxruntime"' in config.read_text()
    explained = json.loads(shoal(product, "config", "explain", str(config), "-o", "json"))
    assert explained["max_batch_size"] == 4
    config.write_text("name: [")
    assert "1" in shoal(product, "config", "lint", str(config), code=1)
