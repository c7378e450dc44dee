"""Steps on devices: what stays there between them, and what clients share and want there."""

from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.ensemble_models import (
    CHAIN,
    EnsembleHarness,
    FakeServed,
    answer_of,
    ensemble_text,
    model_text,
    plus,
    step_text,
)
from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.types.device_memory import DeviceBuffer, DeviceTensor, DeviceWindow

A, B, C = (
    step_text("a", {"x": "IN"}, {"y": "MID"}),
    step_text("b", {"x": "MID"}, {"y": "OUT"}),
    step_text("c", {"x": "MID"}, {"y": "ALSO"}),
)


class HostRegion:
    """A region whose "device" memory is on the host."""

    device_id = 0

    def __init__(self, *values: float) -> None:
        self.memory = np.array(values, np.float32)

    def pointer(self, offset: int) -> int:
        return int(self.memory.ctypes.data) + offset

    def read(self, offset: int, byte_size: int) -> memoryview:
        return memoryview(self.memory.tobytes())[offset : offset + byte_size]

    def write(self, offset: int, data: Any) -> None:
        raise AssertionError("nothing is written by way of the host")

    def hold(self) -> Any:
        return self


def harness_of(text: str, **on_device: bool) -> EnsembleHarness:
    models = [FakeServed(model_text(name), plus(1)) for name in on_device]
    for model in models:
        model.scheduler.on_device = model.scheduler.takes_regions = on_device[model.name]
    return EnsembleHarness(text, *models)


def asked(harness: EnsembleHarness, name: str) -> Any:
    [seen] = harness.models[name].scheduler.seen
    return seen


@pytest.mark.parametrize(
    ("outputs", "steps", "on_device", "stay"),
    [
        (["OUT"], [A, B], {"a": True, "b": True}, ("y",)),
        (["OUT"], [A, B], {"a": True, "b": False}, ()),
        (["OUT", "ALSO"], [A, B, C], {"a": True, "b": True, "c": True}, ("y",)),
        (["OUT", "ALSO"], [A, B, C], {"a": True, "b": True, "c": False}, ()),
        (["OUT", "MID"], [A, B], {"a": True, "b": True}, ()),  # the client wants it, too
    ],
)
def test_what_only_steps_on_devices_take_stays_there(
    outputs: list[str], steps: list[str], on_device: dict[str, bool], stay: tuple[str, ...]
) -> None:
    harness = harness_of(ensemble_text("e", ["IN"], outputs, steps), **on_device)
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert answer_of(sink)["OUT"].tolist() == [3, 4]
    assert asked(harness, "a").stay == stay
    assert asked(harness, "b").stay == ()


def test_a_tensor_on_the_device_is_the_next_step_s_input() -> None:
    harness = harness_of(CHAIN, a=True, b=True)
    for model in harness.models.values():
        model.scheduler.answer = None
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    first = asked(harness, "a")
    kept: Any = DeviceTensor(HostRegion(2, 3), 0, np.dtype(np.float32), (2,))
    first.sink.deliver(first, [kept])
    second = asked(harness, "b")
    assert second.inputs == [kept]
    assert second.plan.inputs[0].shape == (2,)


def test_the_inputs_of_clients_stay_on_the_device_for_steps_that_run_there() -> None:
    for on_device in (True, False):
        harness = harness_of(CHAIN, a=on_device, b=False)
        assert harness.scheduler.on_device
        harness.models["a"].scheduler.answer = None
        shared = DeviceBuffer(HostRegion(1, 2), 0, 8)
        request = harness.request(RecordingSink(), IN=[0, 0])
        request.inputs = [shared]
        harness.scheduler.submit(request)
        (given,) = asked(harness, "a").inputs
        assert given is shared if on_device else given == bytes(shared)


@pytest.mark.parametrize("decoupled", [False, True])
def test_a_step_in_a_process_of_its_own_fills_windows_that_get_one_answer(decoupled: bool) -> None:
    text = CHAIN + "model_transaction_policy { decoupled: true }" * decoupled
    harness = harness_of(text, a=True, b=False)
    harness.models["b"].scheduler.takes_regions = True
    window = DeviceWindow(HostRegion(0, 0), 0, 8)
    harness.models["a"].scheduler.answer = None
    request = harness.request(RecordingSink(), IN=[0, 0])
    request.device_windows = {"OUT": window}
    harness.scheduler.submit(request)
    first = asked(harness, "a")
    assert first.stay == ()
    first.sink.deliver(first, [np.float32([1, 2])])
    assert asked(harness, "b").device_windows == ({} if decoupled else {"y": window})


def test_windows_of_clients_are_filled_by_the_step_whose_output_nobody_else_takes() -> None:
    window = DeviceWindow(HostRegion(0, 0), 0, 8)
    text = ensemble_text("e", ["IN"], ["OUT", "MID"], [A, B])
    for on_device in (True, False):
        harness = harness_of(text, a=on_device, b=on_device)
        request = harness.request(RecordingSink(), IN=[1, 2])
        request.device_windows = {"OUT": window, "MID": window}
        harness.scheduler.submit(request)
        assert not asked(harness, "a").device_windows
        assert asked(harness, "b").device_windows == ({"y": window} if on_device else None)
