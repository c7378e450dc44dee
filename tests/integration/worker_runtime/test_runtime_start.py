"""What a start does without: every replica pays for it, and every test that starts a server."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import onnx_models
from tests.support.runtime_process import runtime

pytestmark = pytest.mark.integration
# Each is some milliseconds and megabytes; who needs one imports it where it needs it.
NOT_AT_START = {
    "concurrent.futures.process",
    "dataclasses",  # a class costs 40 times as much to make as one of msgspec's Struct
    "email",
    "grpc",  # the other front end of gRPC
    "http.server",
    "importlib.metadata",  # only where a package offers a backend
    "ml_dtypes",
    "multiprocessing",
    "onnx",
    "opentelemetry",  # only with a collector
    "packaging",
    "prometheus_client",  # only for metrics that models make
    "psutil",
    "pynvml",  # only where there is its library
    "tritonclient.grpc",
    "unittest",
    "urllib.request",
    "worker_runtime.inspection",
    "worker_runtime.protocols.grpc.grpcio",
}


def test_a_start_imports_what_it_needs(tmp_path: Path) -> None:
    onnx_models.save(tmp_path / "models", "add_sub", onnx_models.add_sub())
    with runtime(tmp_path / "models", python=(sys.executable, "-X", "importtime")) as server:
        lines = server.log.read_text().splitlines()
    told = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert {"onnxruntime", "worker_runtime.server"} <= told
    assert told & NOT_AT_START == set()


def test_messages_are_the_clients_own_in_any_order() -> None:
    """A program may have a server and clients, whichever it imports first."""
    ours = "from worker_runtime.types.triton_messages import model_config_pb2, service_pb2"
    theirs = "import tritonclient.grpc"
    same = (
        "assert tritonclient.grpc.service_pb2 is service_pb2; "
        "assert tritonclient.grpc.model_config_pb2 is model_config_pb2; "
        "assert tritonclient.grpc.InferenceServerClient; import tritonclient.grpc.aio"
    )
    for program in ((ours, theirs, same), (theirs, ours, same)):
        subprocess.run([sys.executable, "-c", "; ".join(program)], check=True)
