"""Python models and clients' device memory: inputs where they lie, outputs where they belong."""

import functools
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http
from tritonclient.utils import InferenceServerException

from tests.support import gpu_models as gm
from tests.support import python_models as pm
from tests.support.gpu_device import Device, used_bytes
from tests.support.gpu_regions import Region, floats, region
from tests.support.gpu_server import Server, given, let_go, number, wait_until

SIZE = 1 << 16
BYTES = 4 * SIZE
MB = 1 << 20
MODULES = {"http": over_http, "grpc": over_grpc}
NOTHING, KEEP, TAKE_KEPT, CALL, WAIT, CAPSULE = range(6)
# y = 2 x + 1, on a stream of its own that takes some time; what it saw of x.
CODE = """
import os
import time

KEEP, TAKE_KEPT, CALL, WAIT, CAPSULE = range(1, 6)


def opened():
    # the double's device memory is files, which show where they are open
    with open("/proc/self/maps") as maps:
        return sum("/shoal-gpu-" in line for line in maps)


class TritonPythonModel:
    def initialize(self, args):
        global torch
        import torch  # here, for the process that completes the configuration has no use for it

        on_card = args["model_instance_kind"] == "GPU" and torch.cuda.is_available()
        number = args["model_instance_device_id"]
        self.device = torch.device(f"cuda:{number}" if on_card else "cpu")
        self.stream = torch.cuda.Stream(self.device) if on_card else None
        self.gate = os.path.join(args["model_repository"], "go")
        self.kept = None

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        do = int(pb_utils.get_input_tensor_by_name(request, "do").as_numpy()[0])
        given = pb_utils.get_input_tensor_by_name(request, "x")
        said = ""
        try:
            given.as_numpy()
        except pb_utils.TritonModelException as error:
            said = str(error)
        x = torch.from_dlpack(given.to_dlpack())
        again = torch.from_dlpack(given)  # by the object's own methods
        assert again.data_ptr() == x.data_ptr() and again.device == x.device
        del again
        if do == KEEP:
            self.kept = x
        elif do == TAKE_KEPT:
            x, self.kept = self.kept, None
        elif do == WAIT:
            while not os.path.exists(self.gate):
                time.sleep(0.005)
        about = [given.is_cpu(), x.device, os.getpid(), opened(), said]
        with torch.cuda.stream(self.stream):
            many = x.to(self.device)
            if self.stream is not None:
                many = many.repeat(8)
                for _ in range(50):
                    many = many + 1
                many = many - 50
            y = (2 * many + 1)[: x.numel()]
            if do == CAPSULE:
                output = pb_utils.Tensor.from_dlpack("y", torch.utils.dlpack.to_dlpack(y))
            else:
                output = pb_utils.Tensor.from_dlpack("y", y)
        if do == CALL:
            called = pb_utils.InferenceRequest(
                model_name="called_on_host", inputs=[given], requested_output_names=["y"]
            ).exec()
            if called.has_error():
                return pb_utils.InferenceResponse(error=called.error())
            output = pb_utils.get_output_tensor_by_name(called, "y")
        text = np.array(["|".join(map(str, about)).encode()], np.object_)
        return pb_utils.InferenceResponse([output, pb_utils.Tensor("about", text)])
"""
ON_HOST = """
class TritonPythonModel:
    def execute(self, requests):
        return [
            pb_utils.InferenceResponse(
                [pb_utils.Tensor("y", 2 * pb_utils.get_input_tensor_by_name(r, "x").as_numpy() + 1)]
            )
            for r in requests
        ]
"""
TENSORS = ("x:FP32:-1 do:INT64:1", "y:FP32:-1 about:STRING:1")
ON_DEVICE = 'parameters { key: "FORCE_CPU_ONLY_INPUT_TENSORS" value { string_value: "no" } }'
Regions = Callable[[str, int], Region]


class About(NamedTuple):
    """What a model saw of x."""

    is_cpu: bool
    device: str
    pid: int
    opened: int
    said: str


@pytest.fixture(scope="module")
def model(shared: Server, device: Device) -> Iterator[str]:
    """Takes inputs on the device; one process."""
    with_torch(shared, device, "takes_regions", extra=ON_DEVICE)
    yield "takes_regions"
    shared.unload("takes_regions")


def with_torch(server: Server, device: Device, name: str, *, count: int = 1, extra: str) -> None:
    pytest.importorskip("torch")
    pm.add(server.root, name, CODE, write_config=False)
    text = gm.config("python", device, *TENSORS, count=count, extra=extra)
    (server.root / name / "config.pbtxt").write_text(text)
    server.load(name)


@pytest.fixture
def regions(server: Server, device: Device) -> Iterator[Regions]:
    """Makes regions that are registered; all are let go at the end."""
    made: list[Region] = []

    def make(name: str, size: int) -> Region:
        found = region(device, size)
        made.append(found)
        with server.over_http() as client:
            client.register_cuda_shared_memory(name, found.handle, 0, size)
        return found

    yield make
    try:
        let_go(server)
    finally:
        for found in made:
            found.close()


def numbers(seed: int, size: int = SIZE) -> Any:
    return np.random.default_rng(seed).integers(0, 1000, size).astype(np.float32)


def ask(
    server: Server,
    name: str,
    where: tuple[str, int] | Any,
    into: tuple[str, int, int] | None = None,
    *,
    do: int = NOTHING,
    size: int = SIZE,
    protocol: str = "http",
) -> tuple[Any, About]:
    """y and what the model saw; x lies in a region (its name, the offset) or is an array."""
    module = MODULES[protocol]
    if isinstance(where, tuple):
        x = module.InferInput("x", [size], "FP32")
        x.set_shared_memory(where[0], 4 * size, where[1])
        inputs = [x, *given(module, do=number(do))]
    else:
        inputs = given(module, x=where, do=number(do))
    wanted = [module.InferRequestedOutput("y"), module.InferRequestedOutput("about")]
    if into is not None:
        wanted[0].set_shared_memory(into[0], into[2], into[1])
    make = server.over_http if protocol == "http" else server.over_grpc
    with make() as client:
        result = client.infer(name, inputs, outputs=wanted)
        text = result.as_numpy("about")[0].decode()
        is_cpu, device, pid, opened, said = text.split("|")
        about = About(is_cpu == "True", device, int(pid), int(opened), said)
        return None if into is not None else result.as_numpy("y"), about


def registered(server: Server) -> list[str]:
    with server.over_http() as client:
        return [row["name"] for row in client.get_cuda_shared_memory_status()]


def unregister(server: Server, name: str) -> None:
    with server.over_http() as client:
        client.unregister_cuda_shared_memory(name)


def closed_in_process(server: Server, device: Device, name: str) -> bool:
    """The model's process has nothing open; asked with an input that lies in no region."""
    return device.is_gpu or ask(server, name, numbers(0, 8))[1].opened == 0


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
        unregister(server, "anew")
        wait_until(lambda: "anew" not in registered(server), "the region to go")
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
    with pytest.raises(InferenceServerException, match="'kept'"), server.over_http() as client:
        client.register_cuda_shared_memory("kept", found.handle, 0, BYTES)
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
