"""The registry of client shared memory: names, bounds, texts, and regions that are still in use."""

import ctypes.util
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from worker_runtime.core import shared_memory
from worker_runtime.core.cuda_memory import CudaRegion
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import (
    AlreadyExists,
    Internal,
    InvalidArgument,
    NotFound,
    RuntimeFault,
    Unsupported,
)

SIZE = 8192


@pytest.fixture
def key() -> Iterator[str]:
    """A POSIX shared-memory object of 8192 bytes: 0, 1, ... 255, 0, 1, ..."""
    name = f"shoal_unit_{os.getpid()}"
    path = Path("/dev/shm") / name
    path.write_bytes(bytes(i % 256 for i in range(SIZE)))
    yield f"/{name}"
    path.unlink()


@pytest.fixture
def memory(key: str) -> SharedMemory:
    memory = SharedMemory()
    memory.register_system("region", key, 0, SIZE)
    return memory


def test_registered_region_is_listed_and_read(memory: SharedMemory, key: str) -> None:
    row = {"name": "region", "key": key, "offset": 0, "byte_size": SIZE}
    assert memory.system_status() == memory.system_status("region") == [row]
    assert memory.cuda_status() == []
    assert bytes(memory.view("region", 3, 4)) == b"\x03\x04\x05\x06"


def test_window_writes_what_others_see(memory: SharedMemory, key: str) -> None:
    memory.window("region", 100, 8).write(np.array([7, 9], dtype=np.int32))
    seen = Path("/dev/shm", key.strip("/")).read_bytes()
    assert seen[100:108] == np.array([7, 9], dtype=np.int32).tobytes()
    assert seen[108] == 108


def test_two_regions_may_lie_in_one_object(memory: SharedMemory, key: str) -> None:
    memory.register_system("second", key, 4096, 4096)
    assert bytes(memory.view("second", 1, 1)) == b"\x01"
    assert [row["name"] for row in memory.system_status()] == ["region", "second"]


BAD_REGISTRATIONS = [
    ("region", "", 0, 8, AlreadyExists, "shared memory region 'region' already in manager"),
    ("new", "/no_such", 0, 8, Internal, "Unable to open shared memory region: '/no_such'"),
    ("new", "/../etc", 0, 8, Internal, "Unable to open shared memory region: '/../etc'"),
    ("new", "/", 0, 8, Internal, "Unable to open shared memory region: '/'"),
    ("new", "/\udcff", 0, 8, Internal, "Unable to open shared memory region: '/\udcff'"),
    ("new", "/\0", 0, 8, Internal, "Unable to open shared memory region: '/\0'"),
    (
        "new",
        "triton_python_backend_shm_region_x",
        0,
        8,
        InvalidArgument,
        "cannot register shared memory region 'new' with key 'triton_python_backend_shm_region_x' "
        "as the key contains the reserved prefix 'triton_python_backend_shm_region_'",
    ),
    (
        "new",
        "",
        0,
        SIZE + 1,
        InvalidArgument,
        "failed to register shared memory region 'new': invalid args",
    ),
    (
        "new",
        "",
        4096,
        4097,
        InvalidArgument,
        "failed to register shared memory region 'new': invalid args",
    ),
    (
        "new",
        "",
        2**64 - 8,
        8,
        InvalidArgument,
        "failed to register shared memory region 'new': invalid args",
    ),
    (
        "new",
        "",
        0,
        0,
        InvalidArgument,
        "failed to register shared memory region 'new': unable to process address spaceInvalid "
        "argument",
    ),
    (
        "new",
        "",
        1,
        8,
        InvalidArgument,
        "failed to register shared memory region 'new': unable to process address spaceInvalid "
        "argument",
    ),
]


@pytest.mark.parametrize(("name", "other", "offset", "size", "kind", "text"), BAD_REGISTRATIONS)
def test_refused_registration(
    memory: SharedMemory,
    key: str,
    name: str,
    other: str,
    offset: int,
    size: int,
    kind: type[RuntimeFault],
    text: str,
) -> None:
    with pytest.raises(kind) as caught:
        memory.register_system(name, other or key, offset, size)
    assert str(caught.value) == text
    assert type(caught.value) is kind
    assert [row["name"] for row in memory.system_status()] == ["region"]


BAD_USES = [
    ("none", 0, 8, NotFound, "Unable to find shared memory region: 'none'"),
    ("region", SIZE, 0, InvalidArgument, "Invalid offset for shared memory region: 'region'"),
    (
        "region",
        0,
        0,
        InvalidArgument,
        "Invalid offset + byte size for shared memory region: 'region'",
    ),
    (
        "region",
        SIZE - 4,
        8,
        InvalidArgument,
        "Invalid offset + byte size for shared memory region: 'region'",
    ),
    (
        "region",
        8,
        2**64 - 1,
        InvalidArgument,
        "Integer overflow detected: byte_size (18446744073709551615) + offset (8) exceeds maximum "
        "value (18446744073709551615) for region 'region'",
    ),
]


@pytest.mark.parametrize(("name", "offset", "size", "kind", "text"), BAD_USES)
def test_use_outside_a_region(
    memory: SharedMemory, name: str, offset: int, size: int, kind: type[RuntimeFault], text: str
) -> None:
    for use in (memory.view, memory.window):
        with pytest.raises(kind) as caught:
            use(name, offset, size)
        assert str(caught.value) == text


def test_region_in_use_stays_until_the_last_view_is_gone(memory: SharedMemory, key: str) -> None:
    array = np.frombuffer(memory.view("region", 0, 16), np.uint8)
    memory.unregister_system()
    assert [row["name"] for row in memory.system_status()] == ["region"]
    with pytest.raises(AlreadyExists):
        memory.register_system("region", key, 0, SIZE)
    assert array[5] == 5
    del array
    assert memory.system_status() == []
    memory.register_system("region", key, 0, SIZE)


def test_window_holds_its_region(memory: SharedMemory) -> None:
    window = memory.window("region", 0, 16)
    memory.unregister_system("region")
    assert memory.system_status("region")
    window.write(b"\xff" * 16)
    del window
    with pytest.raises(NotFound, match="Unable to find system shared memory region: 'region'"):
        memory.system_status("region")


def test_unregistering_leaves_no_descriptor(key: str) -> None:
    memory = SharedMemory()
    gc.collect()  # what other tests left must not go while we count
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        memory.register_system("region", key, 0, SIZE)
        memory.unregister_system("region")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_kinds_do_not_mix(memory: SharedMemory) -> None:
    memory.unregister_cuda("region")
    memory.unregister_cuda()
    memory.unregister_system("no such")
    assert memory.system_status("region")
    with pytest.raises(NotFound) as caught:
        memory.cuda_status("region")
    assert str(caught.value) == (
        "The region named 'region' is registered as system shared memory, not CUDA shared memory"
    )
    with pytest.raises(NotFound, match="Unable to find cuda shared memory region: 'none'"):
        memory.cuda_status("none")


@pytest.mark.skipif(bool(ctypes.util.find_library("cuda")), reason="there is a CUDA driver")
def test_cuda_without_a_gpu_says_so(memory: SharedMemory) -> None:
    with pytest.raises(InvalidArgument) as caught:
        memory.register_cuda("gpu", bytes(64), 0, 64)
    assert str(caught.value) == (
        "failed to register CUDA shared memory region: 'gpu', GPUs not supported"
    )


def test_disabled_registry_refuses_everything_but_status(key: str) -> None:
    memory = SharedMemory(enabled=False)
    for call in (
        lambda: memory.register_system("r", key, 0, 8),
        lambda: memory.register_cuda("r", bytes(64), 0, 8),
        memory.unregister_system,
        memory.unregister_cuda,
        lambda: memory.view("r", 0, 8),
    ):
        with pytest.raises(Unsupported):
            call()
    assert memory.system_status() == []


def test_a_region_that_cuda_does_not_close_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(region: CudaRegion, function: str, *_: object) -> None:
        raise Internal(f"{function} failed for shared memory region: 700")

    monkeypatch.setattr(CudaRegion, "_checked", refused)
    monkeypatch.setattr(
        shared_memory,
        "open_handle",
        lambda name, raw, device, size: CudaRegion(name, 1 << 40, device, size, raw),
    )
    registry = SharedMemory()
    registry.register_cuda("r", b"h" * 64, 0, 64)
    registry.unregister_cuda("r")
    assert registry.cuda_status() == []
    assert "cuIpcCloseMemHandle failed" in caplog.text


def test_a_region_that_only_processes_have_is_listed_and_its_name_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[int] = []
    monkeypatch.setattr(CudaRegion, "_checked", lambda region, *_: closed.append(region.byte_size))
    monkeypatch.setattr(
        shared_memory,
        "open_handle",
        lambda name, raw, device, size: CudaRegion(name, 1 << 40, device, size, raw),
    )
    registry = SharedMemory()
    registry.register_cuda("r", b"h" * 64, 0, 64)
    view = registry.view("r", 0, 64, on_device=True)
    region, _ = view.place
    loan = region.lend()
    registry.unregister_cuda("r")
    with pytest.raises(AlreadyExists):
        registry.register_cuda("r", b"h" * 64, 0, 128)
    del view
    with pytest.raises(NotFound):
        registry.check("r", 0, 64)
    assert [row["byte_size"] for row in registry.cuda_status("r")] == [64]
    registry.register_cuda("r", b"h" * 64, 0, 128)
    assert [row["byte_size"] for row in registry.cuda_status()] == [128, 64]
    assert closed == []
    del loan
    assert [row["byte_size"] for row in registry.cuda_status()] == [128]
    assert closed == [64]
    registry.unregister_cuda()
    assert (registry.cuda_status(), closed) == ([], [64, 128])
