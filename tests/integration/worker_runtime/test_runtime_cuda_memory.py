"""CUDA shared memory of models on the CPU, over a driver made of files (tests/support/libcuda.c).

The server opens handles, reads inputs and writes outputs by the calls that a real driver has.
"""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http
from tritonclient.utils import InferenceServerException

from tests.support.builtin_models import IDENTITY, parameter, place
from tests.support.cuda_driver import cuda_driver, needs_compiler
from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = [pytest.mark.integration, needs_compiler]
SIZE = 4096
VALUES = np.arange(16, dtype=np.float32)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    work = tmp_path_factory.mktemp("cuda")
    place(work / "models", "same", IDENTITY)
    place(work / "models", "slow", IDENTITY + parameter("execute_delay_ms", "700"))
    with cuda_driver(work), runtime(work / "models") as found:
        yield found


@pytest.fixture(params=[over_http, over_grpc], ids=["http", "grpc"])
def module(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def client(server: Runtime, module: Any) -> Iterator[Any]:
    address = server.http if module is over_http else server.grpc
    with module.InferenceServerClient(address) as found:
        yield found
        found.unregister_cuda_shared_memory()


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """The "device memory": 16 values at its start."""
    file = tmp_path / "device"
    file.write_bytes(VALUES.tobytes().ljust(SIZE, b"\0"))
    return file


def handle_of(path: Path) -> bytes:
    raw = str(path).encode()
    assert len(raw) < 64, "a handle has 64 bytes"
    return base64.b64encode(raw.ljust(64, b"\0"))


@pytest.fixture
def handle(memory: Path) -> Iterator[bytes]:
    # why a link: pytest's folders have longer names than a handle has bytes.
    link = Path("/tmp") / f"shoal-cuda-{os.getpid()}"
    link.symlink_to(memory)
    yield handle_of(link)
    link.unlink()


def tensors(module: Any, *, offset: int = 2048) -> tuple[Any, Any]:
    given = module.InferInput("INPUT0", [16], "FP32")
    given.set_shared_memory("region", 64)
    wanted = module.InferRequestedOutput("OUTPUT0")
    wanted.set_shared_memory("region", 64, offset)
    return given, wanted


def written(memory: Path, offset: int = 2048) -> Any:
    return np.frombuffer(memory.read_bytes()[offset : offset + 64], np.float32)


def test_tensors_come_from_and_go_to_the_device(
    client: Any, module: Any, memory: Path, handle: bytes
) -> None:
    client.register_cuda_shared_memory("region", handle, 0, SIZE)
    given, wanted = tensors(module)
    client.infer("same", [given], outputs=[wanted])
    np.testing.assert_array_equal(written(memory), VALUES)
    memory.write_bytes((VALUES * 2).tobytes().ljust(SIZE, b"\0"))
    plain = client.infer("same", [given]).as_numpy("OUTPUT0")
    np.testing.assert_array_equal(plain, VALUES * 2)


def test_regions_are_listed_and_let_go(
    server: Runtime, client: Any, module: Any, handle: bytes
) -> None:
    client.register_cuda_shared_memory("region", handle, 0, SIZE)
    row = {"name": "region", "device_id": 0, "byte_size": SIZE}
    assert server.json("v2/cudasharedmemory/status") == (200, [row])
    with pytest.raises(InferenceServerException, match="already in manager"):
        client.register_cuda_shared_memory("region", handle, 0, SIZE)
    client.unregister_cuda_shared_memory("region")
    assert server.json("v2/cudasharedmemory/status") == (200, [])
    given, _ = tensors(module)
    with pytest.raises(InferenceServerException, match="Unable to find shared memory region"):
        client.infer("same", [given])


@pytest.mark.parametrize(
    ("device", "size", "text"),
    [
        (0, SIZE + 1, "failed to register shared memory region 'region': invalid args"),
        (7, SIZE, "failed to register shared memory region: invalid args"),
    ],
)
def test_what_the_driver_does_not_give_is_refused(
    client: Any, handle: bytes, device: int, size: int, text: str
) -> None:
    with pytest.raises(InferenceServerException, match=text):
        client.register_cuda_shared_memory("region", handle, device, size)


def test_a_handle_of_nothing_is_refused(client: Any) -> None:
    nothing = handle_of(Path("/nowhere/at/all"))
    with pytest.raises(InferenceServerException, match="invalid args"):
        client.register_cuda_shared_memory("region", nothing, 0, 64)


def test_an_answer_under_way_keeps_its_region(server: Runtime, memory: Path, handle: bytes) -> None:
    """Unregistering while a model runs waits for the answer, which must not land anywhere else."""
    with over_grpc.InferenceServerClient(server.grpc) as client:
        client.register_cuda_shared_memory("region", handle, 0, SIZE)
        given, wanted = tensors(over_grpc)
        ends: list[Any] = []
        client.async_infer(
            "slow", [given], lambda result, error: ends.append(error), outputs=[wanted]
        )
        wait_until(lambda: _in_flight(server), "the request at the model")
        client.unregister_cuda_shared_memory("region")
        assert server.json("v2/cudasharedmemory/status")[1] != []
        wait_until(lambda: ends, "the answer")
        assert ends == [None]
        np.testing.assert_array_equal(written(memory), VALUES)
        wait_until(lambda: server.json("v2/cudasharedmemory/status")[1] == [], "the end of it")


def _in_flight(server: Runtime) -> bool:
    return 'shoal_in_flight_requests{protocol="grpc"} 1' in server.metrics()
