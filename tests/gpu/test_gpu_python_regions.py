"""Python models and clients' device memory: inputs where they lie, outputs where they belong."""

import functools
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
from tritonclient.utils import InferenceServerException

from tests.support import gpu_models as gm
from tests.support import python_models as pm
from tests.support.gpu_device import Device, used_bytes
from tests.support.gpu_python import (
    BYTES,
    CALL,
    CAPSULE,
    DECOUPLED,
    KEEP,
    MODULES,
    NOTHING,
    ON_DEVICE,
    ON_HOST,
    SIZE,
    TAKE_KEPT,
    TENSORS,
    WAIT,
    About,
    ask,
    closed_in_process,
    numbers,
    registered,
    unregister,
    with_torch,
)
from tests.support.gpu_regions import Regions, floats, region
from tests.support.gpu_server import Server, wait_until

MB = 1 << 20


@pytest.fixture(scope="module")
def model(shared: Server, device: Device) -> Iterator[str]:
    """Takes inputs on the device; one process."""
    with_torch(shared, device, "takes_regions", extra=ON_DEVICE)
    yield "takes_regions"
    shared.unload("takes_regions")


@pytest.mark.parametrize("protocol", MODULES)
def test_inputs_in_a_region_reach_the_model_where_they_are(
    server: Server, device: Device, model: str, regions: Regions, protocol: str
) -> None:
    found = regions("in", 3 * BYTES + 512)
    for turn, offset in enumerate((0, 512, BYTES + 256, 2 * BYTES + 512)):
        x = numbers(turn)
        found.write(offset, x.tobytes())
        y, about = ask(server, model, ("in", offset), protocol=protocol)
        np.testing.assert_array_equal(y, 2 * x + 1)
        assert about.is_cpu is not device.is_gpu
        assert about.device == ("cuda:0" if device.is_gpu else "cpu")
        if device.is_gpu:
            assert about.said == "Tensor is stored in GPU and cannot be converted to NumPy."
        else:
            assert about.opened == 1, "opened once, by the model's own process"
    np.testing.assert_array_equal(floats(found, 2 * BYTES + 512, SIZE), x)


def test_the_parameter_is_yes_or_no(server: Server, device: Device) -> None:
    pm.add(server.root, "neither", ON_HOST, write_config=False)
    text = gm.config("python", device, "x:FP32:-1", "y:FP32:-1", extra=ON_DEVICE.replace("no", "2"))
    (server.root / "neither" / "config.pbtxt").write_text(text)
    status, error = server.try_load("neither")
    assert status == 400
    assert "'FORCE_CPU_ONLY_INPUT_TENSORS' of model 'neither' is '2', expected yes or no" in error


def test_coroutines_that_answer_many_times_take_inputs_where_they_are(
    server: Server, device: Device, regions: Regions
) -> None:
    """Their answers go to a region one after the other, by way of the host."""
    pytest.importorskip("torch")
    pm.add(server.root, "many_answers", DECOUPLED, write_config=False)
    extra = ON_DEVICE + "model_transaction_policy { decoupled: true }"
    text = gm.config("python", device, *TENSORS, extra=extra)
    (server.root / "many_answers" / "config.pbtxt").write_text(text)
    server.load("many_answers")
    found = regions("in", 2 * BYTES)
    x = numbers(10)
    found.write(0, x.tobytes())
    answers: list[Any] = []
    given = [over_grpc.InferInput("x", [SIZE], "FP32"), over_grpc.InferInput("do", [1], "INT64")]
    given[0].set_shared_memory("in", BYTES)
    given[1].set_data_from_numpy(np.array([3], np.int64))
    wanted = [over_grpc.InferRequestedOutput("y"), over_grpc.InferRequestedOutput("about")]
    wanted[0].set_shared_memory("in", BYTES, BYTES)
    with server.over_grpc() as client:
        client.start_stream(lambda result, error: answers.append(error or result))
        client.async_stream_infer("many_answers", given, outputs=wanted)
        wait_until(lambda: len(answers) == 3, "the answers")
        client.stop_stream()
    device_name = b"cuda:0" if device.is_gpu else b"cpu"
    assert [answer.as_numpy("about")[0] for answer in answers] == [device_name] * 3
    np.testing.assert_array_equal(floats(found, BYTES, SIZE), x + 2)
    unregister(server, "in")
    wait_until(lambda: not registered(server), "the region to go, though no request comes")
    server.unload("many_answers")


def test_numbers_at_an_odd_place_come_to_the_host(
    server: Server, model: str, regions: Regions
) -> None:
    """A kernel that reads them there would cost the process its device."""
    found = regions("odd", 2 * BYTES + 64)
    x = numbers(9)
    found.write(6, x.tobytes())
    y, about = ask(server, model, ("odd", 6))
    np.testing.assert_array_equal(y, 2 * x + 1)
    assert about == About(True, "cpu", about.pid, 0, "")
    ask(server, model, ("odd", 6), ("odd", BYTES + 11, BYTES))
    assert found.read(BYTES + 11, BYTES) == (2 * x + 1).tobytes()


def test_inputs_that_come_in_the_request_stay_on_the_host(
    server: Server, device: Device, model: str
) -> None:
    x = numbers(1)
    y, about = ask(server, model, x)
    np.testing.assert_array_equal(y, 2 * x + 1)
    assert (about.is_cpu, about.device, about.said) == (True, "cpu", "")


def test_without_the_parameter_inputs_in_regions_come_to_the_host(
    server: Server, device: Device, regions: Regions
) -> None:
    with_torch(server, device, "takes_host", extra="")
    found = regions("in", 2 * BYTES)
    x = numbers(2)
    found.write(256, x.tobytes())
    y, about = ask(server, "takes_host", ("in", 256))
    np.testing.assert_array_equal(y, 2 * x + 1)
    assert about == About(True, "cpu", about.pid, 0, "")
    _, about = ask(server, "takes_host", ("in", 256), ("in", BYTES, BYTES))
    np.testing.assert_array_equal(floats(found, BYTES, SIZE), 2 * x + 1)
    server.unload("takes_host")


@pytest.mark.parametrize("do", [NOTHING, CAPSULE])
def test_outputs_on_the_device_go_into_a_region(
    server: Server, device: Device, model: str, regions: Regions, do: int
) -> None:
    found, other = regions("both", 3 * BYTES + 512), regions("out", BYTES)
    for turn in range(device.pick(50, 3)):
        x = numbers(turn)
        found.write(256, x.tobytes())
        ask(server, model, ("both", 256), ("both", 512 + BYTES, BYTES), do=do)
        np.testing.assert_array_equal(floats(found, 512 + BYTES, SIZE), 2 * x + 1)
        assert found.read(0, 256) == bytes(256)
        assert found.read(512 + 2 * BYTES, BYTES) == bytes(BYTES), "written behind the output"
        ask(server, model, x + 1, ("out", 0, BYTES), do=do)
        np.testing.assert_array_equal(floats(other, 0, SIZE), 2 * x + 3)
    _, about = ask(server, model, ("both", 256))
    assert device.is_gpu or about.opened == 2, "the process itself wrote to both"
    with pytest.raises(InferenceServerException, match=f"at least {BYTES} bytes"):
        ask(server, model, ("both", 256), ("out", 0, BYTES - 4), do=do)


def test_a_tensor_on_the_device_is_given_to_another_model(
    server: Server, device: Device, model: str, regions: Regions
) -> None:
    pm.add(server.root, "called_on_host", ON_HOST, inputs="x:FP32:-1", outputs="y:FP32:-1")
    server.load("called_on_host")
    found = regions("in", BYTES)
    x = numbers(3)
    found.write(0, x.tobytes())
    y, _ = ask(server, model, ("in", 0), do=CALL)
    np.testing.assert_array_equal(y, 2 * x + 1)
    server.unload("called_on_host")


def test_a_region_that_is_unregistered_is_closed_in_the_process_too(
    server: Server, device: Device, model: str, regions: Regions
) -> None:
    x = numbers(4)
    for turn in range(device.pick(20, 3)):
        found = regions("anew", 2 * BYTES)
        found.write(0, (x + turn).tobytes())
        ask(server, model, ("anew", 0), ("anew", BYTES, BYTES))
        np.testing.assert_array_equal(floats(found, BYTES, SIZE), 2 * (x + turn) + 1)
        unregister(server, "anew")  # and register it anew at once
    wait_until(lambda: not registered(server), "the regions to go")
    assert closed_in_process(server, device, model)


def test_a_tensor_that_the_model_keeps_keeps_its_region(
    server: Server, device: Device, model: str, regions: Regions
) -> None:
    found = regions("kept", BYTES)
    x = numbers(5)
    found.write(0, x.tobytes())
    ask(server, model, ("kept", 0), do=KEEP)
    unregister(server, "kept")
    assert registered(server) == ["kept"], "closed under the model"
    with pytest.raises(InferenceServerException, match="Unable to find shared memory region"):
        ask(server, model, ("kept", 0))
    other = regions("kept", BYTES)  # its name is free
    other.write(0, (x + 1).tobytes())
    y, about = ask(server, model, ("kept", 0))
    np.testing.assert_array_equal(y, 2 * x + 3)
    assert device.is_gpu or about.opened == 2
    unregister(server, "kept")
    y, about = ask(server, model, numbers(0, 8), do=TAKE_KEPT)
    np.testing.assert_array_equal(y, 2 * x + 1)
    assert device.is_gpu or about.opened == 1
    wait_until(lambda: not registered(server), "the region to go")
    assert closed_in_process(server, device, model)


def test_a_region_that_is_unregistered_under_a_request_stays_until_its_answer(
    server: Server, device: Device, model: str, regions: Regions
) -> None:
    found = regions("leaving", 2 * BYTES)
    x = numbers(6)
    found.write(0, x.tobytes())
    gate = server.root / model / "go"
    in_flight = functools.partial(server.metric, "shoal_in_flight_requests", protocol="grpc")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(
            functools.partial(
                ask, server, model, ("leaving", 0), ("leaving", BYTES, BYTES), do=WAIT,
                protocol="grpc",
            )
        )  # fmt: skip
        try:
            wait_until(lambda: list(in_flight().values()) == [1.0], "the request at the model")
            unregister(server, "leaving")
            assert registered(server) == ["leaving"], "closed under a request"
        finally:
            gate.touch()
        asked.result()
    gate.unlink()
    np.testing.assert_array_equal(floats(found, BYTES, SIZE), 2 * x + 1)
    wait_until(lambda: not registered(server), "the region to go")
    assert closed_in_process(server, device, model)


def test_a_process_that_is_killed_with_a_region_in_its_hands_costs_nobody_the_region(
    server: Server, device: Device, model: str, regions: Regions
) -> None:
    found = regions("held", 2 * BYTES)
    x = numbers(7)
    found.write(0, x.tobytes())
    _, before = ask(server, model, ("held", 0), do=KEEP)
    os.kill(before.pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{before.pid}").exists(), "the process to be gone")
    with server.over_http() as client:
        wait_until(lambda: client.is_model_ready(model), "the model to be back")
    ask(server, model, ("held", 0), ("held", BYTES, BYTES))
    np.testing.assert_array_equal(floats(found, BYTES, SIZE), 2 * x + 1)
    _, after = ask(server, model, ("held", 0))
    assert after.pid != before.pid
    unregister(server, "held")
    wait_until(lambda: not registered(server), "the region to go")


def test_many_requests_at_once_in_two_processes_are_none_wrong(
    server: Server, device: Device, regions: Regions, figures: Any
) -> None:
    with_torch(server, device, "two_processes", count=2, extra=ON_DEVICE)
    size, lanes, requests = device.pick(1 << 18, 4096), 16, 200
    found = regions("many", lanes * 8 * size)

    def serve(lane: int) -> tuple[list[str], set[int]]:
        wrong, pids = [], set()
        at, protocol = lane * 8 * size, ("http", "grpc")[lane % 2]
        for turn in range(lane, requests, lanes):
            x = numbers(turn, size)
            found.write(at, x.tobytes())
            into = ("many", at + 4 * size, 4 * size) if turn % 3 else None
            y, about = ask(
                server, "two_processes", ("many", at), into, size=size, protocol=protocol
            )
            y = floats(found, at + 4 * size, size) if into else y
            pids.add(about.pid)
            if not np.array_equal(y, 2 * x + 1) or about.is_cpu is device.is_gpu:
                wrong.append(f"request {turn}: {y[:3]}, not {2 * x[:3] + 1}; {about}")
        return wrong, pids

    with ThreadPoolExecutor(lanes) as pool:
        ends = list(pool.map(serve, range(lanes)))
    assert [text for wrong, _ in ends for text in wrong] == []
    assert len(set().union(*(pids for _, pids in ends))) == 2
    figures(requests=requests, wrong=0)
    server.unload("two_processes")
    unregister(server, "many")
    wait_until(lambda: not registered(server), "a region of processes that are gone")


def test_the_card_s_memory_is_given_back_after_many_regions(
    server: Server, card: str, model: str, device: Device, figures: Any
) -> None:
    size = 16 * MB
    x = numbers(8)

    def turn() -> None:
        found = region(device, size)
        try:
            found.write(0, x.tobytes())
            with server.over_http() as client:
                client.register_cuda_shared_memory("pass", found.handle, 0, size)
            y, _ = ask(server, model, ("pass", 0))
            np.testing.assert_array_equal(y, 2 * x + 1)
            unregister(server, "pass")
            wait_until(lambda: not registered(server), "the region to go")
        finally:
            found.close()

    turn()
    before = used_bytes(card)
    for _ in range(50):
        turn()
    figures(kept_mb=(used_bytes(card) - before) / MB)
    assert used_bytes(card) - before < 2 * size
