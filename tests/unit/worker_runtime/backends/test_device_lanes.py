"""The way of a batch through a device, here with the CPU as the device: parts in, windows out."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.tensors import load_spec
from worker_runtime.backends.base import BatchInput, DeviceTarget
from worker_runtime.backends.device import copies
from worker_runtime.backends.device.kept import KeptTensors
from worker_runtime.backends.device.lane import LANES, Lane, LaneInstance
from worker_runtime.backends.device.streams import CAPTURES, Forecast, Turn
from worker_runtime.backends.pytorch.backend import PytorchBackend
from worker_runtime.errors import BackendFailed, GpuMemoryFull, InvalidArgument, RuntimeFault
from worker_runtime.types.device_memory import DeviceBuffer, DeviceTensor, DeviceWindow
from worker_runtime.types.tensor import BY_NAME

CPU = torch.device("cpu")
FP32 = BY_NAME["FP32"]


class HostRegion:
    """A region whose "device" memory is on the host."""

    device_id = 0

    def __init__(self, size: int) -> None:
        self.memory = np.zeros(size, np.uint8)
        self.held = 0

    def pointer(self, offset: int) -> int:
        return int(self.memory.ctypes.data) + offset

    def read(self, offset: int, byte_size: int) -> memoryview:
        return memoryview(self.memory[offset : offset + byte_size].tobytes())

    def write(self, offset: int, data: Any) -> None:
        raw = np.frombuffer(memoryview(data).cast("B"), np.uint8)
        self.memory[offset : offset + raw.nbytes] = raw

    def hold(self) -> Any:
        self.held += 1
        return object()


class Doubles:
    """A program that gives twice its input, and what it was given."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.steps: list[str] = []
        self.inside = 0

    def prepare(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> None:
        self.steps.append("prepare")

    def places(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> dict[str, Any]:
        return {item.name: copies.empty_like(item, CPU) for item in inputs}

    def compute(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
        self.inside += 1
        assert self.inside == 1, "two batches at once in one instance"
        try:
            if self.error is not None:
                raise self.error
            made = {"twice": tensors["x"] * 2, "same": tensors["x"].clone()}
            return [made[name] for name in outputs]
        finally:
            self.inside -= 1

    def finish(self) -> None:
        self.steps.append("finish")

    def fault(self, error: Exception) -> RuntimeFault:
        return BackendFailed(f"in my words: {error}")


def nothing() -> None:
    """No batch comes after this one."""


def rows(*values: float) -> "np.ndarray[Any, Any]":
    return np.array([[value, value + 0.5] for value in values], np.float32)


def given(*parts: Any, count: int) -> list[BatchInput]:
    return [BatchInput("x", FP32, (count, 2), list(parts))]


def test_parts_of_every_kind_become_one_batch_in_their_order() -> None:
    region = HostRegion(64)
    region.write(16, rows(3.0))
    parts = (
        rows(1.0).tobytes(),
        memoryview(rows(2.0).tobytes()),
        DeviceBuffer(region, 16, 8),
        rows(4.0, 5.0),
        rows(6.0, 0.0)[:1],
    )
    outcome = Lane(CPU, Turn(CPU), Doubles()).execute_parts(
        given(*parts, count=6), ["same", "twice"], (), nothing
    )
    expected = rows(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    np.testing.assert_array_equal(outcome.arrays[0], expected)
    np.testing.assert_array_equal(outcome.arrays[1], 2 * expected)
    assert min(outcome.input_ns, outcome.compute_ns) >= 0


@pytest.mark.parametrize("most", [1, 3, 7, 8, 1000])
def test_parts_are_staged_in_pieces(most: int) -> None:
    parts = [np.arange(size, dtype=np.uint8) for size in (5, 0, 7, 3)]
    pieces = list(copies._chunks(parts, most))
    assert all(0 < sum(part.nbytes for part in piece) <= most for piece in pieces)
    found = b"".join(part.tobytes() for piece in pieces for part in piece)
    assert found == b"".join(part.tobytes() for part in parts)


def test_outputs_go_to_windows_and_to_the_host_as_each_request_wants() -> None:
    region = HostRegion(64)
    first, last = DeviceWindow(region, 8, 8), DeviceWindow(region, 32, 4)
    targets = (DeviceTarget("twice", first, 0, 1), DeviceTarget("twice", last, 2, 3))
    outcome = Lane(CPU, Turn(CPU), Doubles()).execute_parts(
        given(rows(1.0, 2.0, 3.0), count=3), ["twice"], targets, nothing
    )
    assert (first.filled, last.filled) == (True, False)  # the second has no room
    np.testing.assert_array_equal(
        np.frombuffer(region.read(8, 8), np.float32), 2 * rows(1.0).reshape(-1)
    )
    assert not region.memory[32:].any()
    np.testing.assert_array_equal(outcome.arrays[0], 2 * rows(1.0, 2.0, 3.0))
    first.write(b"\xff" * 8)  # it is there already, and nothing is written again
    assert np.frombuffer(region.read(8, 8), np.float32)[0] == 2.0


def test_nothing_is_copied_beyond_a_tensor() -> None:
    """What lies there is others': rows that a model did not give, bytes that are too many."""
    region = HostRegion(64)
    window = DeviceWindow(region, 0, 8)
    for tensor in (torch.ones(2, 2), torch.tensor(1.0)):
        assert not copies.hand_over(tensor, DeviceTarget("same", window, 2, 3), 0)
    assert not region.memory.any()
    lane = Lane(CPU, Turn(CPU), Doubles())
    for part in (rows(1.0, 2.0), DeviceBuffer(region, 0, 16), b"\0" * 4):
        with pytest.raises(
            InvalidArgument, match=r"'x' has \d+ bytes, and its shape \[1, 2\] takes 8"
        ):
            lane.execute_parts(given(part, count=1), ["same"], (), nothing)


def test_an_output_that_all_want_on_the_device_does_not_come_to_the_host() -> None:
    region = HostRegion(64)
    windows = [DeviceWindow(region, 0, 8), DeviceWindow(region, 8, 8)]
    targets = [DeviceTarget("same", item, n, n + 1) for n, item in enumerate(windows)]
    fetched: list[Any] = []
    lane = Lane(CPU, Turn(CPU), Doubles())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("worker_runtime.backends.device.lane.fetch", fetched.append)
        outcome = lane.execute_parts(given(rows(1.0, 2.0), count=2), ["same"], targets, nothing)
    assert not fetched
    assert outcome.arrays[0].shape == (2, 2)
    np.testing.assert_array_equal(
        np.frombuffer(region.read(0, 16), np.float32), rows(1.0, 2.0).reshape(-1)
    )


def test_an_output_that_stays_is_the_next_one_s_input() -> None:
    """In rows, as the requests of its batch take it, and without a way through the host."""
    fetched: list[Any] = []
    first, second = (Lane(CPU, Turn(CPU), Doubles()) for _ in range(2))
    batch = rows(1.0, 2.0, 3.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("worker_runtime.backends.device.lane.fetch", fetched.append)
        (kept,) = first.execute_parts(
            given(batch, count=3), ["twice"], (), nothing, ("twice",)
        ).arrays
    assert not fetched
    assert isinstance(kept, DeviceTensor)
    assert (kept.shape, kept.dtype, kept.nbytes) == ((3, 2), np.float32, 24)
    parts = [kept[2:3], kept[0:2].reshape((4,)), kept[3:3]]
    outcome = second.execute_parts(given(*parts, count=3), ["twice", "same"], (), nothing)
    expected = 2 * rows(3.0, 1.0, 2.0)
    np.testing.assert_array_equal(outcome.arrays[0], 2 * expected)
    np.testing.assert_array_equal(outcome.arrays[1], expected)
    assert bytes(kept[1:2]) == (2 * rows(2.0)).tobytes()
    with pytest.raises(ValueError, match=r"cannot reshape \[3, 2\] into \[5\]"):
        kept.reshape((5,))


def test_what_stays_has_so_much_room_and_no_more() -> None:
    kept = KeptTensors(CPU, most=16)
    first = kept.copied(torch.ones(2))
    second = kept.copied(torch.ones(2))
    assert first is not None and second is not None
    assert kept.copied(torch.ones(1)) is None
    part = first[0:1]
    del first
    assert kept.copied(torch.ones(1)) is None, "a part of it is still held"
    del part
    assert kept.copied(torch.ones(2)) is not None
    assert kept.copied(torch.ones(0)) is None
    assert kept.copied(np.ones(1)) is None


def test_what_finds_no_room_comes_to_the_host() -> None:
    lane = Lane(CPU, Turn(CPU), Doubles())
    lane._kept = KeptTensors(CPU, most=8)
    outputs = ["twice", "same"]
    found = lane.execute_parts(given(rows(1.0), count=1), outputs, (), nothing, outputs).arrays
    assert [type(item) for item in found] == [DeviceTensor, np.ndarray]
    np.testing.assert_array_equal(found[1], rows(1.0))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("no"), (BackendFailed, "in my words: no")),
        (GpuMemoryFull("of its own"), (GpuMemoryFull, "of its own")),
        (torch.cuda.OutOfMemoryError("CUDA out of memory"), (GpuMemoryFull, "out of memory while")),
    ],
)
def test_what_fails_fails_its_batch_alone(error: Exception, expected: Any) -> None:
    program = Doubles(error)
    lane = Lane(CPU, Turn(CPU), program)
    with pytest.raises(expected[0], match=expected[1]):
        lane.execute_parts(given(rows(1.0), count=1), ["same"], (), nothing)
    program.error = None
    outcome = lane.execute_parts(given(rows(1.0), count=1), ["same"], (), nothing)
    np.testing.assert_array_equal(outcome.arrays[0], rows(1.0))
    assert program.steps == ["prepare", "prepare", "finish"]


def test_a_device_that_answers_nothing_any_more_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As CUDA does it: one kernel fails, and then every call, whoever makes it."""
    program, turn = Doubles(RuntimeError("CUDA error: an illegal memory access")), Turn(CPU)
    instance = LaneInstance(CPU, [program] * LANES, turn)
    with pytest.raises(BackendFailed, match="illegal memory access"):
        instance.lanes[0].execute_parts(given(rows(1.0), count=1), ["same"], (), nothing)
    assert not instance.device_lost  # the stream still works: it was the batch's own trouble

    def refuse() -> None:
        raise RuntimeError("CUDA error: an illegal memory access")

    monkeypatch.setattr(turn.stream, "drain", refuse)
    for lane in instance.lanes:
        with pytest.raises(BackendFailed, match="illegal memory access"):
            lane.execute_parts(given(rows(1.0), count=1), ["same"], (), nothing)
    assert instance.device_lost
    assert [row.levelname for row in caplog.records] == ["CRITICAL"]
    assert "cpu is lost for this process, which must be restarted" in caplog.text


def test_lanes_of_an_instance_take_turns() -> None:
    """A model that keeps a state never sees two batches at once: ``Doubles`` looks."""
    program = Doubles()
    instance = LaneInstance(CPU, [program] * LANES)
    wrong: list[str] = []

    def ask(lane: Any, value: float) -> None:
        for number in range(50):
            one = rows(value + number)
            (found,) = lane.execute_parts(given(one, count=1), ["twice"], (), nothing).arrays
            if not np.array_equal(found, 2 * one):
                wrong.append(f"{value + number}")

    threads = [
        threading.Thread(target=ask, args=(lane, 100.0 * number))
        for number, lane in enumerate(instance.lanes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_capture_is_beside_no_execution() -> None:
    running, captured = threading.Event(), threading.Event()
    end = threading.Event()

    def execute() -> None:
        with CAPTURES.shared():
            running.set()
            end.wait(10)

    def capture() -> None:
        with CAPTURES.alone() as free:
            assert free
            captured.set()

    first, second = threading.Thread(target=execute), threading.Thread(target=capture)
    first.start()
    assert running.wait(10)
    second.start()
    assert not captured.is_set()
    end.set()
    assert captured.wait(10)
    first.join()
    second.join()
    with CAPTURES.shared():
        pass


def test_beside_a_load_nothing_is_captured_and_nobody_waits() -> None:
    """A load may take minutes, and a batch can do without a graph."""
    with CAPTURES.load():
        with CAPTURES.alone() as free:
            assert not free
            with CAPTURES.shared():
                pass
    with CAPTURES.alone() as free:
        assert free


def test_the_next_batch_comes_when_it_can_be_copied_in_time() -> None:
    """Times are nanoseconds: a lead of 1 ms, and batches of one shape that compute for 10."""
    forecast, ms = Forecast(), 1_000_000
    for _ in range(50):  # the lead is learnt slowly
        assert forecast.started("new", 0, ms) == 0  # nothing is known of these shapes
    for _ in range(50):
        forecast.ended("new", ms, 2 * ms)
    forecast.started("known", 9 * ms, 10 * ms)
    forecast.ended("known", 10 * ms, 20 * ms)
    when = forecast.started("known", 99 * ms, 100 * ms)
    assert 108 * ms < when < 109 * ms
    # a second one computes after the first
    when = forecast.started("known", 100 * ms, 101 * ms)
    assert 118 * ms < when < 119 * ms
    # the first is done earlier than was thought, and so will be the second
    forecast.ended("known", 4 * ms, 104 * ms)
    forecast.ended("known", 4 * ms, 108 * ms)
    when = forecast.started("known", 199 * ms, 200 * ms)
    assert 202 * ms < when < 203 * ms
    forecast.ended("known", 12 * ms, 212 * ms)  # what is short counts, what is long a little
    when = forecast.started("known", 299 * ms, 300 * ms)
    assert 303 * ms < when < 304 * ms


class Mixed(torch.nn.Module):
    def forward(self, texts: list[str], x: torch.Tensor) -> tuple[list[str], torch.Tensor]:
        x.add_(1)  # a model may change its inputs in place
        return [text + "!" for text in texts], x.t()


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_a_module_on_a_device_takes_texts_and_gives_any_tensor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.jit.save(torch.jit.script(Mixed()), str(tmp_path / "model.pt"))
    monkeypatch.setattr("worker_runtime.backends.pytorch.backend.DEVICE", "cpu")
    config = (
        'backend: "pytorch" input { name: "texts" data_type: TYPE_STRING dims: -1 }'
        'input { name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] }'
        'output { name: "said__0" data_type: TYPE_STRING dims: -1 }'
        'output { name: "y__1" data_type: TYPE_FP32 dims: [ 2, -1 ] }'
    )
    (instance,) = PytorchBackend().load(load_spec(tmp_path, config, gpus=(0,))).instances
    x = rows(1.0, 2.0, 3.0)
    x.flags.writeable = False
    said, turned = instance.execute(
        {"texts": np.array([b"a", b"b"], object), "x": x}, ["said__0", "y__1"]
    )
    assert said.tolist() == [b"a!", b"b!"]
    np.testing.assert_array_equal(turned, (x + 1).T)
    instance.close()
    with pytest.raises(RuntimeFault, match="unloaded"):
        instance.execute({"texts": np.array([b"a"], object), "x": x}, ["said__0"])
