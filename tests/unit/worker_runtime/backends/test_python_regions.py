"""Clients' device memory in a model's process: lent, described, given back; no device is there."""

import gc
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.runtime_process import wait_until
from worker_runtime.backends.python.regions import RegionLoans, inputs_on_device, note_placed
from worker_runtime.backends.python.stub.shoal_stub import cuda
from worker_runtime.backends.python.stub.shoal_stub.dlpack import CapsuleTensor
from worker_runtime.backends.python.stub.shoal_stub.memory import Arena, Window, elsewhere, lent
from worker_runtime.backends.python.stub.shoal_stub.regions import Regions
from worker_runtime.backends.python.stub.shoal_stub.tensors import (
    DTYPES,
    Tensor,
    TritonModelException,
)
from worker_runtime.core.cuda_memory import CudaRegion
from worker_runtime.types.device_memory import DeviceBuffer, DeviceTensor, DeviceWindow
from worker_runtime.types.request import PlannedInput
from worker_runtime.types.tensor import BY_NAME

HANDLE = bytes(range(64))
AT = 1 << 40  # no address of this process
PLACE = (7, 256, 96, 2, 1, HANDLE)


class FakeCuda:
    """Memory is a number. What is done to it is noted."""

    def __init__(self) -> None:
        self.open: list[int] = []
        self.did: list[tuple[Any, ...]] = []
        self.refuses = ""

    def open_memory(self, device: int, raw: bytes) -> int:
        if self.refuses:
            raise RuntimeError(self.refuses)
        assert (device, raw) == (1, HANDLE)
        self.open.append(AT)
        return AT

    def close_memory(self, device: int, address: int) -> None:
        assert device == 1
        self.open.remove(address)

    def copy_on_device(self, *what: Any, after_all: bool) -> None:
        self.did.append((*what, after_all))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    made = FakeCuda()
    for name in ("open_memory", "close_memory", "copy_on_device"):
        monkeypatch.setattr(cuda, name, getattr(made, name))
    return made


class Channel:
    """What a process sends; the last it gave back with it."""

    def __init__(self) -> None:
        self.window = Window()
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        self.sent.append((message["op"], self.window.take_released()))


def request_at(regions: Regions, place: Any, datatype: str = "FP32", shape: Any = (4, 6)) -> Any:
    session: Any = SimpleNamespace(
        channel=SimpleNamespace(window=Window()), model_name="m", model_version=1
    )
    described = {
        "n": 1,
        "id": "",
        "inputs": [["x", datatype, shape, elsewhere(0)]],
        "outputs": ["y"],
        "places": {"x": place},
        "windows": {"y": place},
    }
    return regions.read(described, session)


@pytest.mark.parametrize("datatype", [*(name for name in DTYPES if name != "BYTES"), "BF16"])
def test_a_tensor_says_where_it_is_and_that_numpy_cannot_have_it(
    fake: FakeCuda, datatype: str
) -> None:
    channel: Any = Channel()
    request = request_at(Regions(channel), PLACE, datatype)
    assert fake.open == [], "opened before a model touches it"
    [tensor] = request.inputs()
    assert not tensor.is_cpu()
    assert (tensor.name(), tensor.shape()) == ("x", [4, 6])
    assert tensor.__dlpack_device__() == (2, 1)
    with pytest.raises(TritonModelException, match="cannot be converted to NumPy"):
        tensor.as_numpy()
    seen = CapsuleTensor(tensor.to_dlpack())
    assert (seen.device, seen.address) == ((2, 1), AT + 256)
    assert (seen.dtype, seen.shape, seen.contiguous) == (datatype, [4, 6], True)
    CapsuleTensor(tensor.__dlpack__(stream=3, max_version=(1, 0)))
    with pytest.raises(BufferError):
        tensor.__dlpack__(copy=True)
    assert fake.open == [AT], "opened once"


def test_a_region_leaves_when_the_last_capsule_has_gone(fake: FakeCuda) -> None:
    channel: Any = Channel()
    regions = Regions(channel)
    request = request_at(regions, PLACE)
    capsule = request.inputs()[0].to_dlpack()
    regions.leaves(7)
    del request
    gc.collect()
    assert (fake.open, channel.sent) == ([AT], []), "closed under a capsule"
    del capsule
    wait_until(lambda: channel.sent, "the region to be given back")
    assert fake.open == []
    assert channel.sent == [("given_back", [lent(7)])]


def test_regions_that_nobody_touched_or_knows_are_given_back_at_once(fake: FakeCuda) -> None:
    channel: Any = Channel()
    regions = Regions(channel)
    request_at(regions, PLACE)
    regions.leaves(7)
    regions.leaves(8)
    assert channel.sent == [("given_back", [lent(7)]), ("given_back", [lent(8)])]
    assert fake.open == []


def test_what_cuda_refuses_is_said_where_the_model_asks(fake: FakeCuda) -> None:
    fake.refuses = "cuInit failed in the model's process: CUDA error 2"
    channel: Any = Channel()
    [tensor] = request_at(Regions(channel), PLACE).inputs()
    with pytest.raises(RuntimeError, match="CUDA error 2"):
        tensor.to_dlpack()


class Made:
    """A tensor of a library, at an address on a device."""

    dtype = "float32"

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.shape = inner.shape

    def __dlpack__(self, *, stream: int) -> Any:
        assert stream in (1, -1)
        return self._inner.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self._inner.__dlpack_device__()


@pytest.mark.parametrize(
    ("make", "device", "room", "copied"),
    [
        (lambda x: Made(x), 1, 96, (1, AT + 256, AT + 256, 96, False)),
        # a bare capsule does not tell its stream: all that the device was given is waited for
        (lambda x: x.__dlpack__(), 1, 96, (1, AT + 256, AT + 256, 96, True)),
        (lambda x: Made(x), 1, 95, None),
        (lambda x: Made(x), 0, 96, None),  # another card's
    ],
)
def test_outputs_go_where_they_are_wanted_on_their_own_device_only(
    fake: FakeCuda, make: Any, device: int, room: int, copied: Any
) -> None:
    channel: Any = Channel()
    regions = Regions(channel)
    request = request_at(regions, PLACE)
    output = Tensor.from_dlpack("y", make(request.inputs()[0]._foreign))
    window = request_at(regions, (7, 256, room, 2, device, HANDLE))._windows["y"]
    assert window.fill(output) == (96 if copied else -1)
    assert fake.did == ([copied] if copied else [])
    host = Tensor("y", np.zeros(4, np.float32))
    texts = Tensor("y", np.array([b"a"], np.object_))
    assert window.fill(host) == window.fill(texts) == -1


# --- the server's side ---------------------------------------------------------------------------


class Process:
    pid = 5

    def __init__(self) -> None:
        self.channel = SimpleNamespace(arena=Arena())
        self.sent: list[Any] = []
        self.went = threading.Event()

    def send(self, message: Any) -> None:
        self.sent.append(message)
        self.went.set()


@pytest.fixture
def process() -> Iterator[Process]:
    made = Process()
    with closing(made.channel.arena):
        yield made


def held(region: CudaRegion) -> bool:
    gc.collect()
    return region.is_only_lent


def asked(buffer: Any, datatype: str = "FP32", byte_size: int = 16) -> Any:
    item = PlannedInput("x", BY_NAME[datatype], (4,), (4,), byte_size)
    source = SimpleNamespace(plan=SimpleNamespace(inputs=[item]), inputs=[buffer])
    return SimpleNamespace(source=source)


def test_a_region_is_lent_once_and_held_until_it_is_given_back(process: Any) -> None:
    region, loans = CudaRegion("r", AT, 1, 4096, HANDLE), RegionLoans(process)
    first = loans.place(DeviceBuffer(region, 16, 32), 32)
    second = loans.place(DeviceWindow(region, 64, 8), 8)
    assert first == (1, 16, 32, 2, 1, HANDLE)
    assert second == (1, 64, 8, 2, 1, HANDLE)
    assert held(region)
    with loans.sending:  # a batch that says where it is, is on its way
        region.leave()
        region.leave()
        assert process.sent == []
    wait_until(lambda: process.sent, "the region to be taken back")
    assert process.sent == [{"op": "region_leaves", "region": 1}]
    assert held(region)
    process.channel.arena.free([lent(1), lent(1)])
    assert not held(region)


def test_a_region_that_leaves_already_is_lent_for_one_batch(process: Any) -> None:
    region, loans = CudaRegion("r", AT, 1, 4096, HANDLE), RegionLoans(process)
    region.leave()
    place = loans.place(DeviceBuffer(region, 0, 32), 32)
    assert place is not None
    wait_until(lambda: process.sent, "the region to be taken back")
    assert process.sent == [{"op": "region_leaves", "region": place[0]}]


def test_a_process_that_is_gone_holds_nothing(process: Any) -> None:
    region, loans = CudaRegion("r", AT, 1, 4096, HANDLE), RegionLoans(process)
    loans.place(DeviceBuffer(region, 0, 32), 32)
    process.channel.arena.close()
    assert not held(region)


@pytest.mark.parametrize(
    ("buffer", "datatype", "byte_size", "stays"),
    [
        (lambda r: DeviceBuffer(r, 16, 16), "FP32", 16, True),
        (lambda r: DeviceBuffer(r, 2, 16), "FP32", 16, False),  # a kernel cannot read it there
        (lambda r: DeviceBuffer(r, 2, 8), "FP16", 8, True),
        (lambda r: DeviceBuffer(r, 16, 12), "FP32", 16, False),  # behind it is what is others'
        (lambda r: DeviceBuffer(r, 16, 16), "BYTES", -1, False),
        (lambda _: b"\0" * 16, "FP32", 16, False),
        (lambda _: np.zeros(4, np.float32), "FP32", 16, False),
    ],
)
def test_inputs_stay_where_kernels_may_read_them(
    process: Any, buffer: Any, datatype: str, byte_size: int, stays: bool
) -> None:
    region = CudaRegion("r", AT, 1, 4096, HANDLE)
    found = inputs_on_device(asked(buffer(region), datatype, byte_size), RegionLoans(process))
    assert list(found) == (["x"] if stays else [])


def test_memory_of_the_server_itself_is_not_lent(process: Any) -> None:
    own: Any = SimpleNamespace(device_id=0, pointer=lambda at: AT + at, hold=object)
    tensor = DeviceTensor(own, 0, np.dtype(np.float32), (4,))
    assert inputs_on_device(asked(tensor), RegionLoans(process)) == {}


def test_only_windows_that_the_client_gave_are_filled() -> None:
    window = DeviceWindow(CudaRegion("r", AT, 1, 4096, HANDLE), 0, 16)
    request: Any = SimpleNamespace(source=SimpleNamespace(device_windows={"y": window}))
    note_placed(request, None)
    note_placed(request, {"tensors": []})
    note_placed(request, {"placed": ["z"]})
    assert not window.filled
    note_placed(request, {"placed": ["y"]})
    assert window.filled
    note_placed(SimpleNamespace(source=SimpleNamespace(device_windows=None)), {"placed": ["y"]})  # type: ignore[arg-type]


def test_what_is_elsewhere_is_zeros_and_never_the_server_s_memory() -> None:
    assert Window().look(elsewhere(1000)).tobytes() == bytes(1000)
