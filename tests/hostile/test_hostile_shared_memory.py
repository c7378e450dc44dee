"""Clients that take away the file that they share, while the server reads and writes it."""

import contextlib
import http.client
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.runtime_process import Runtime

SIZE = 4 * 2**20


@pytest.fixture
def shared(server: Runtime) -> Iterator[Path]:
    """A registered region of the size, called "region"."""
    file, name = tempfile.mkstemp(dir="/dev/shm")
    os.ftruncate(file, SIZE)
    os.close(file)
    path = Path(name)
    register(server, path)
    yield path
    server.json("v2/systemsharedmemory/region/region/unregister", {})
    path.unlink()


def register(server: Runtime, path: Path) -> None:
    asked = {"key": path.name, "offset": 0, "byte_size": SIZE}
    assert server.json("v2/systemsharedmemory/region/region/register", asked)[0] == 200


def infer(server: Runtime, inputs: bool = True, outputs: bool = True) -> tuple[int, str]:
    region = {"shared_memory_region": "region", "shared_memory_byte_size": SIZE}
    given = {"name": "INPUT0", "datatype": "FP32", "shape": [SIZE // 4], "parameters": region}
    if not inputs:
        given = {"name": "INPUT0", "datatype": "FP32", "shape": [4], "data": [1, 2, 3, 4]}
    output = {"name": "OUTPUT0", "parameters": region if outputs else {"binary_data": True}}
    status, _, answer = server.call(
        "v2/models/echo/infer", json.dumps({"inputs": [given], "outputs": [output]}).encode()
    )
    return status, answer[:200].decode("latin-1")


def test_a_region_that_shrinks_is_refused_until_it_is_registered_anew(
    server: Runtime, shared: Path
) -> None:
    assert infer(server)[0] == 200
    os.truncate(shared, 0)
    # An answer that is a view of what is gone cannot be sent: that connection ends.
    with contextlib.suppress(http.client.HTTPException, OSError):
        infer(server, outputs=False)
    for inputs in (False, True):
        status, said = infer(server, inputs=inputs)
        assert (status, "has become shorter" in said) == (400, True), said
    assert server.call("v2/health/live")[0] == 200
    os.truncate(shared, SIZE)
    server.json("v2/systemsharedmemory/region/region/unregister", {})
    register(server, shared)
    assert infer(server)[0] == 200


def test_truncating_while_requests_run_ends_nobody_else(server: Runtime, shared: Path) -> None:
    done = threading.Event()

    def shrink() -> None:
        while not done.wait(0.001):
            os.truncate(shared, 0)
            os.truncate(shared, SIZE)

    shrinking = threading.Thread(target=shrink)
    shrinking.start()
    registered = True
    try:
        for _ in range(30):
            # A file that is short while it is to be registered is refused: then there is no region.
            assert infer(server)[0] in ((200, 400) if registered else (404,))
            server.json("v2/systemsharedmemory/region/region/unregister", {})
            os.truncate(shared, SIZE)
            status, _ = server.json(
                "v2/systemsharedmemory/region/region/register",
                {"key": shared.name, "offset": 0, "byte_size": SIZE},
            )
            assert status in (200, 400)
            registered = status == 200
    finally:
        done.set()
        shrinking.join()
    assert server.process.poll() is None
    assert server.call("v2/health/live")[0] == 200
