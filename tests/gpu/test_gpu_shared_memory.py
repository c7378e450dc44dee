"""Device memory of a client's process, opened by the server: inputs from it, outputs into it."""

import base64
from functools import partial
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http
from tritonclient.utils import InferenceServerException, serialize_byte_tensor

from tests.support import gpu_models as gm
from tests.support import onnx_models as om
from tests.support.gpu_device import Device
from tests.support.gpu_regions import Regions, floats
from tests.support.gpu_server import Server, given, number, wait_until

ROWS = 4
BYTES = ROWS * gm.WIDTH * 4
SEEDS = {"onnxruntime": 21, "pytorch": 22, "graphs": 23}
TENSORS = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
QUEUE = "dynamic_batching { max_queue_delay_microseconds: 50000 }"
MODULES = {"http": over_http, "grpc": over_grpc}


@pytest.fixture(scope="module")
def products(shared: Server, device: Device) -> dict[str, str]:
    """The names of products by their kinds; batches of 32 rows are waited for."""
    for kind, seed in SEEDS.items():
        backend = "pytorch" if kind == "pytorch" else "onnxruntime"
        extra = QUEUE + (gm.GRAPHS if kind == "graphs" else "")
        text = gm.config(backend, device, *TENSORS, batch=32, extra=extra)
        shared.add(f"region_{kind}", product(backend, seed), text)
    return {kind: f"region_{kind}" for kind in SEEDS}


def product(backend: str, seed: int) -> Any:
    return gm.torch_product(seed) if backend == "pytorch" else gm.onnx_product(seed)


def taken(module: Any, name: str, offset: int, rows: int = ROWS) -> Any:
    found = module.InferInput("x", [rows, gm.WIDTH], "FP32")
    found.set_shared_memory(name, rows * gm.WIDTH * 4, offset)
    return found


def wanted(module: Any, name: str, size: int, offset: int) -> Any:
    found = module.InferRequestedOutput("y")
    found.set_shared_memory(name, size, offset)
    return found


@pytest.mark.parametrize("backend", SEEDS)
@pytest.mark.parametrize("protocol", MODULES)
def test_tensors_come_from_and_go_to_places_inside_a_region(
    server: Server, products: dict[str, str], regions: Regions, backend: str, protocol: str
) -> None:
    module, name = MODULES[protocol], products[backend]
    found = regions("both", 3 * BYTES + 512)
    array, factor = gm.rows_of(1, ROWS), gm.weights(SEEDS[backend])
    found.write(256, array.tobytes())
    make = server.over_http if protocol == "http" else server.over_grpc
    with make() as client:
        outputs = [wanted(module, "both", BYTES, 512 + BYTES)]
        client.infer(name, [taken(module, "both", 256)], outputs=outputs)
        np.testing.assert_array_equal(floats(found, 512 + BYTES, ROWS, gm.WIDTH), array @ factor)
        assert found.read(0, 256) == bytes(256)
        assert found.read(512 + 2 * BYTES, BYTES) == bytes(BYTES), "written behind the output"
        found.write(256, (array + 1).tobytes())
        plain = client.infer(name, [taken(module, "both", 256)]).as_numpy("y")
        np.testing.assert_array_equal(plain, (array + 1) @ factor)
        client.infer(name, given(module, x=array), outputs=outputs)
        np.testing.assert_array_equal(floats(found, 512 + BYTES, ROWS, gm.WIDTH), array @ factor)


@pytest.mark.parametrize("backend", SEEDS)
def test_requests_of_one_batch_have_each_their_own_places(
    server: Server, device: Device, products: dict[str, str], regions: Regions, backend: str
) -> None:
    """Eight requests fill a batch; half bring their inputs along, some take their outputs home."""
    name, factor = products[backend], gm.weights(SEEDS[backend])
    found = regions("many", 16 * BYTES)
    before = server.statistics(name)
    ends: list[Any] = []
    plain: dict[int, Any] = {}

    def end(item: int, result: Any, error: Any) -> None:
        if item % 3 == 2 and error is None:
            plain[item] = result.as_numpy("y")
        ends.append(error)

    for turn in range(device.pick(20, 2)):
        arrays = [gm.rows_of(100 * turn + item, ROWS) for item in range(8)]
        ends.clear()
        with server.over_grpc() as client:
            for item, array in enumerate(arrays):
                found.write(item * BYTES, array.tobytes())
                own = given(over_grpc, x=array)
                inputs = own if item % 2 else [taken(over_grpc, "many", item * BYTES)]
                outputs = [wanted(over_grpc, "many", BYTES, (8 + item) * BYTES)]
                if item % 3 == 2:
                    outputs = [over_grpc.InferRequestedOutput("y")]
                client.async_infer(name, inputs, partial(end, item), outputs=outputs)
            wait_until(lambda: len(ends) == 8, "the answers")
        assert ends == [None] * 8
        for item, array in enumerate(arrays):
            answer = floats(found, (8 + item) * BYTES, ROWS, gm.WIDTH)
            if item % 3 == 2:
                answer = plain[item]
            np.testing.assert_array_equal(answer, array @ factor, f"request {item}")
    after = server.statistics(name)
    executions = after["execution_count"] - before["execution_count"]
    assert executions < 8 * device.pick(20, 2), "no two requests shared a batch"


def test_a_region_that_is_unregistered_while_in_use_stays_until_the_answer(
    server: Server, device: Device, regions: Regions
) -> None:
    pytest.importorskip("torch")
    from tests.support.gpu_modules import Slow

    text = gm.config("pytorch", device, "x:FP32:64,64 turns:INT64:1", "y:FP32:64,64")
    server.add("slow", Slow(), text)
    size = 64 * 64 * 4
    found = regions("leaving", 2 * size)
    array = np.random.default_rng(5).integers(0, 1000, (64, 64)).astype(np.float32)
    found.write(0, array.tobytes())
    first = over_grpc.InferInput("x", [64, 64], "FP32")
    first.set_shared_memory("leaving", size)
    outputs = [wanted(over_grpc, "leaving", size, size)]

    def in_flight() -> bool:
        return list(server.metric("shoal_in_flight_requests", protocol="grpc").values()) == [1.0]

    ends: list[Any] = []
    with server.over_grpc() as client:
        inputs = [first, *given(over_grpc, turns=number(device.pick(50_000, 20_000)))]
        client.async_infer(
            "slow", inputs, lambda result, error: ends.append(error), outputs=outputs
        )
        wait_until(in_flight, "the request at the model")
        client.unregister_cuda_shared_memory("leaving")
        status = client.get_cuda_shared_memory_status(as_json=True)
        assert ends or "leaving" in status["regions"], "closed under a request"
        with pytest.raises(InferenceServerException):
            client.register_cuda_shared_memory("leaving", found.handle, 0, 2 * size)
        assert not ends, "the model was too quick to be unregistered from"
        wait_until(lambda: ends, "the answer")
        assert ends == [None]
        gone = client.get_cuda_shared_memory_status
        wait_until(lambda: not gone(as_json=True).get("regions"), "the region to go")
    np.testing.assert_array_equal(floats(found, size, 64, 64), array)
    server.unload("slow")


@pytest.mark.parametrize("backend", SEEDS)
def test_an_output_may_go_where_its_input_lay(
    server: Server, products: dict[str, str], regions: Regions, backend: str
) -> None:
    """A product that is written while its input is still read would be wrong."""
    found = regions("place", BYTES)
    array = gm.rows_of(2, ROWS)
    with server.over_grpc() as client:
        for turn in range(5):
            found.write(0, (array + turn).tobytes())
            outputs = [wanted(over_grpc, "place", BYTES, 0)]
            client.infer(products[backend], [taken(over_grpc, "place", 0)], outputs=outputs)
            answer = floats(found, 0, ROWS, gm.WIDTH)
            np.testing.assert_array_equal(answer, (array + turn) @ gm.weights(SEEDS[backend]))


@pytest.mark.parametrize("backend", SEEDS)
def test_a_name_that_is_registered_anew_is_the_new_memory(
    server: Server, products: dict[str, str], regions: Regions, backend: str
) -> None:
    factor = gm.weights(SEEDS[backend])
    with server.over_http() as client:
        for turn in range(4):
            found = regions("anew", 2 * BYTES)
            array = gm.rows_of(turn, ROWS)
            found.write(0, array.tobytes())
            outputs = [wanted(over_http, "anew", BYTES, BYTES)]
            client.infer(products[backend], [taken(over_http, "anew", 0)], outputs=outputs)
            answer = floats(found, BYTES, ROWS, gm.WIDTH)
            np.testing.assert_array_equal(answer, array @ factor, f"turn {turn}")
            client.unregister_cuda_shared_memory("anew")


def test_a_model_that_changes_its_input_leaves_the_client_s_memory_alone(
    server: Server, device: Device, regions: Regions
) -> None:
    pytest.importorskip("torch")
    from tests.support.gpu_modules import InPlace

    text = gm.config("pytorch", device, *TENSORS, batch=32)
    server.add("in_place", InPlace(), text)
    found = regions("mine", 2 * BYTES)
    array = gm.rows_of(6, ROWS)
    found.write(0, array.tobytes())
    outputs = [wanted(over_http, "mine", BYTES, BYTES)]
    with server.over_http() as client:
        for _ in range(3):
            client.infer("in_place", [taken(over_http, "mine", 0)], outputs=outputs)
            np.testing.assert_array_equal(floats(found, BYTES, ROWS, gm.WIDTH), array + 1)
            np.testing.assert_array_equal(floats(found, 0, ROWS, gm.WIDTH), array)
    server.unload("in_place")


@pytest.mark.parametrize("backend", SEEDS)
def test_an_output_that_does_not_fit_is_told_and_writes_nothing(
    server: Server, products: dict[str, str], regions: Regions, backend: str
) -> None:
    found = regions("small", 2 * BYTES)
    found.write(0, gm.rows_of(1, ROWS).tobytes())
    with server.over_http() as client:
        outputs = [wanted(over_http, "small", BYTES - 4, BYTES)]
        with pytest.raises(InferenceServerException, match=f"at least {BYTES} bytes") as told:
            client.infer(products[backend], [taken(over_http, "small", 0)], outputs=outputs)
        assert "'y'" in str(told.value)
        outside = [wanted(over_http, "small", BYTES, BYTES + 4)]
        with pytest.raises(InferenceServerException, match="'small'"):
            client.infer(products[backend], [taken(over_http, "small", 0)], outputs=outside)
    assert found.read(BYTES, BYTES) == bytes(BYTES)


def test_texts_in_a_region_are_read_on_the_host(
    server: Server, device: Device, regions: Regions
) -> None:
    texts = np.array([b"one", b"", "drei äöü".encode(), b"x" * 300], np.object_)
    raw = serialize_byte_tensor(texts).item()
    graph = om.identity(om.STRING, "N")
    server.add("texts", graph, gm.config("onnxruntime", device, "x:STRING:-1", "y:STRING:-1"))
    found = regions("texts", 4096)
    found.write(64, raw)
    first = over_http.InferInput("x", [4], "BYTES")
    first.set_shared_memory("texts", len(raw), 64)
    with server.over_http() as client:
        answer = client.infer("texts", [first]).as_numpy("y")
        assert answer.tolist() == texts.tolist()
        client.infer("texts", [first], outputs=[wanted(over_http, "texts", 1024, 2048)])
    assert found.read(2048, len(raw)) == raw


@pytest.mark.parametrize("backend", ["onnxruntime", "pytorch"])
def test_models_on_the_cpu_take_regions_too(server: Server, regions: Regions, backend: str) -> None:
    text = gm.config(backend, Device("cpu"), *TENSORS, batch=32)
    name = server.add(f"host_{backend}", product(backend, 4), text)
    found = regions("host", 2 * BYTES)
    array = gm.rows_of(3, ROWS)
    found.write(0, array.tobytes())
    outputs = [wanted(over_http, "host", BYTES, BYTES)]
    with server.over_http() as client:
        client.infer(name, [taken(over_http, "host", 0)], outputs=outputs)
    np.testing.assert_array_equal(floats(found, BYTES, ROWS, gm.WIDTH), array @ gm.weights(4))


def test_what_cannot_be_registered_is_told(
    server: Server, device: Device, regions: Regions
) -> None:
    found = regions("twice", 4096)
    garbage = base64.b64encode(b"\xa5" * 64)
    short = base64.b64encode(b"\xa5" * 60)
    with server.over_http() as client:
        for name, handle, card, size, text in (
            ("twice", found.handle, 0, 4096, "'twice' already in manager"),
            ("other", garbage, 0, 4096, "invalid args"),
            ("other", short, 0, 4096, "must be a valid base64 encoded cudaIpcMemHandle_t"),
            ("other", found.handle, 99, 4096, "invalid args"),
            # why so much: the driver hands out memory by pieces of 2 MB
            ("other", found.handle, 0, 1 << 30, "'other': invalid args"),
        ):
            with pytest.raises(InferenceServerException, match=text) as told:
                client.register_cuda_shared_memory(name, handle, card, size)
            assert str(told.value.status()) == "400", told.value
        rows = client.get_cuda_shared_memory_status()
        assert [row["name"] for row in rows] == ["twice"]


def test_the_stock_client_s_own_regions_work(
    server: Server, card: str, products: dict[str, str]
) -> None:
    stock = _stock()
    array, factor = gm.rows_of(9, ROWS), gm.weights(SEEDS["pytorch"])
    memory = {name: stock.create_shared_memory_region(name, BYTES, 0) for name in ("in", "out")}
    with server.over_grpc() as client:
        stock.set_shared_memory_region(memory["in"], [array])
        for name, item in memory.items():
            client.register_cuda_shared_memory(name, stock.get_raw_handle(item), 0, BYTES)
        outputs = [wanted(over_grpc, "out", BYTES, 0)]
        client.infer(products["pytorch"], [taken(over_grpc, "in", 0)], outputs=outputs)
        answer = stock.get_contents_as_numpy(memory["out"], np.float32, [ROWS, gm.WIDTH])
        np.testing.assert_array_equal(answer, array @ factor)
        client.unregister_cuda_shared_memory()
    for item in memory.values():
        stock.destroy_shared_memory_region(item)


def _stock() -> Any:
    pytest.importorskip("cuda.bindings.runtime", exc_type=ImportError)
    import tritonclient.utils.cuda_shared_memory as stock

    return stock
