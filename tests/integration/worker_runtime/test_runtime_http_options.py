"""What users of Triton ask of the HTTP port: TLS, larger bodies, draining that is announced."""

import re
import ssl
import threading
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http
from geventhttpclient.response import HTTPConnectionClosed

from tests.integration.worker_runtime.grpc_certificates import Authority
from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime, wait_until


@pytest.fixture
def models(tmp_path: Path) -> Path:
    root = tmp_path / "models"
    om.save(root, "wide", om.identity(om.FP32, "N", 100_000), "max_batch_size: 64\n")
    return root


def call(url: str, rows: int = 1, **options: object) -> np.ndarray:
    given = np.ones((rows, 100_000), np.float32)
    tensor = http.InferInput("x", given.shape, "FP32")
    tensor.set_data_from_numpy(given)
    with http.InferenceServerClient(url, **options) as client:
        found = client.infer("wide", [tensor])
        return found.as_numpy(found.get_response()["outputs"][0]["name"])


@pytest.mark.parametrize("mutual", [False, True])
def test_http_over_tls(models: Path, tmp_path: Path, mutual: bool) -> None:
    server, clients = Authority(tmp_path, "server-ca"), Authority(tmp_path, "client-ca")
    own, theirs = server.pair("server"), clients.pair("client")
    flags = [
        "--http-use-ssl=true",
        f"--http-server-cert={own.certificate}",
        f"--http-server-key={own.key}",
    ]
    if mutual:
        flags.append(f"--http-root-cert={clients.certificate}")
    with runtime(models, *flags, ready=False) as found:

        def context() -> ssl.SSLContext:
            made = ssl.create_default_context(cafile=str(server.certificate))
            if mutual:
                made.load_cert_chain(theirs.certificate, theirs.key)
            return made

        def ready() -> bool:
            options = {"ssl": True, "ssl_context_factory": context}
            with http.InferenceServerClient(found.http, **options) as client:
                return bool(client.is_server_ready())

        wait_until(ready, found.log.read_text())
        for rows in (1, 25):  # small, and many times the size of a TLS record
            answer = call(found.http, rows, ssl=True, ssl_context_factory=context)
            assert answer.shape == (rows, 100_000)
            assert (answer == 1).all()
        stranger = ssl.create_default_context(cafile=str(server.certificate))
        if mutual:
            with pytest.raises((ssl.SSLError, OSError, HTTPConnectionClosed)):
                call(found.http, ssl=True, ssl_context_factory=lambda: stranger)
        assert found.stop() == 0


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--http-use-ssl=true"], "TLS needs --http-server-cert and --http-server-key"),
        (
            ["--http-use-ssl=1", "--http-server-cert=/no", "--http-server-key=/no"],
            "No such file or directory",
        ),
    ],
)
def test_tls_without_its_files_ends_the_start(models: Path, flags: list[str], text: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(text)), runtime(models, *flags):
        raise RuntimeError("it must not start")


def test_requests_are_bounded_by_a_flag(models: Path) -> None:
    with runtime(models, "--http-max-body-size=1000000") as found:
        assert call(found.http, 2).shape == (2, 100_000)
        with pytest.raises(Exception, match="Use --http-max-body-size to increase the limit"):
            call(found.http, 3)


def test_bodies_beyond_two_gigabytes_are_taken_when_allowed(models: Path) -> None:
    head = (
        b"POST /v2/models/wide/infer HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        b"Inference-Header-Content-Length: 100\r\nContent-Length: 3000000000\r\n\r\n"
    )
    for flag, status in (("0", b"100"), ("2147483647", b"400")):
        with runtime(models, f"--http-max-body-size={flag}") as found, found.socket() as connection:
            connection.sendall(head)
            assert connection.recv(4096).split()[1] == status


def test_a_server_that_drains_serves_on_and_says_that_it_is_not_ready(models: Path) -> None:
    with runtime(models, "--drain-secs=60") as found:
        found.process.terminate()
        wait_until(lambda: found.call("v2/health/ready")[0] == 503, "not ready")
        assert found.call("v2/health/live")[0] == 200
        assert call(found.http).shape == (1, 100_000)
        assert found.process.poll() is None
        assert hurried(found) == 0


def hurried(found: Runtime) -> int:
    """A second signal is for people who cannot wait."""
    found.process.terminate()
    code: list[int] = []
    waiter = threading.Thread(target=lambda: code.append(found.process.wait(20)))
    waiter.start()
    waiter.join(25)
    return code[0]
