"""What else requests of a model on a device may ask for: regions through ensembles and callers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http
from tritonclient.utils import InferenceServerException

from tests.support import gpu_models as gm
from tests.support import python_models as pm
from tests.support.gpu_device import Device
from tests.support.gpu_regions import Region, floats, region
from tests.support.gpu_server import Server, given, let_go, number, side_by_side, wait_until

ROWS, BATCH = 4, 16
BYTES = ROWS * gm.WIDTH * 4
TENSORS = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
QUEUE = "dynamic_batching { max_queue_delay_microseconds: 500 }\n"
WARMUP = (
    'model_warmup {{ name: "first" batch_size: {rows} count: 2 inputs {{ key: "x" value '
    "{{ data_type: TYPE_FP32 dims: [ {width} ] random_data: true }} }} }}\n"
)
# Asks two models at once.
CALLER = """
import asyncio


class TritonPythonModel:
    async def execute(self, requests):
        return [await self.one(request) for request in requests]

    async def one(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "x")
        calls = [
            pb_utils.InferenceRequest(
                model_name=name, requested_output_names=["y"], inputs=[x]
            ).async_exec()
            for name in ("feature_onnxruntime", "feature_pytorch")
        ]
        first, second = await asyncio.gather(*calls)
        for answer in (first, second):
            if answer.has_error():
                raise pb_utils.TritonModelException(answer.error().message())
        total = sum(answer.output_tensors()[0].as_numpy() for answer in (first, second))
        return pb_utils.InferenceResponse([pb_utils.Tensor("y", total)])
"""


@pytest.fixture(scope="module")
def features(shared: Server, device: Device) -> dict[str, Any]:
    """Products of both backends with all that a configuration may add, by their right factors."""
    found = {}
    for seed, (backend, make) in enumerate(
        (("onnxruntime", gm.onnx_product), ("pytorch", gm.torch_product)), 61
    ):
        warm = "".join(WARMUP.format(rows=rows, width=gm.WIDTH) for rows in (1, 8))
        text = gm.config(backend, device, *TENSORS, count=2, batch=BATCH, extra=QUEUE + warm)
        shared.add(f"feature_{backend}", make(seed), text)
        shared.add(f"cached_{backend}", make(seed), text + "response_cache { enable: true }\n")
        found[f"feature_{backend}"] = found[f"cached_{backend}"] = gm.weights(seed)
    steps = ["feature_onnxruntime", "feature_pytorch"]
    gm.ensemble(shared.root, "feature_chain", steps, BATCH)
    shared.load("feature_chain")
    return found | {"feature_chain": found[steps[0]] @ found[steps[1]]}


@pytest.fixture
def place(server: Server, device: Device) -> Iterator[Region]:
    found = region(device, 2 * BYTES)
    with server.over_http() as client:
        client.register_cuda_shared_memory("feature", found.handle, 0, found.size)
    yield found
    try:
        let_go(server)
    finally:
        found.close()


@pytest.mark.parametrize(
    "name",
    [
        "feature_onnxruntime",
        "feature_pytorch",
        "feature_chain",
        "cached_onnxruntime",
        "cached_pytorch",
    ],
)
def test_regions_are_read_and_written_anew_for_each_answer(
    server: Server, features: dict[str, Any], place: Region, name: str
) -> None:
    """Also through an ensemble, and by a cache where the same request comes again."""
    first = over_grpc.InferInput("x", [ROWS, gm.WIDTH], "FP32")
    first.set_shared_memory("feature", BYTES)
    wanted = over_grpc.InferRequestedOutput("y")
    wanted.set_shared_memory("feature", BYTES, BYTES)
    with server.over_grpc() as client:
        for turn in (0, 0, 1, 0):
            array = gm.rows_of(turn, ROWS)
            place.write(0, array.tobytes())
            place.write(BYTES, bytes(BYTES))
            client.infer(name, [first], outputs=[wanted], client_timeout=30)
            found = floats(place, BYTES, ROWS, gm.WIDTH)
            np.testing.assert_array_equal(found, array @ features[name], f"request {turn}")
            plain = client.infer(name, [first], client_timeout=30).as_numpy("y")
            np.testing.assert_array_equal(plain, array @ features[name])


@pytest.mark.parametrize("name", ["feature_onnxruntime", "feature_pytorch"])
def test_classes_are_made_of_outputs_on_the_device(
    server: Server, features: dict[str, Any], name: str
) -> None:
    array = gm.rows_of(3, ROWS)
    wanted = over_http.InferRequestedOutput("y", class_count=2)
    with server.over_http() as client:
        answer = client.infer(name, given(over_http, x=array), outputs=[wanted]).as_numpy("y")
    scores = array @ features[name]
    for row, texts in zip(scores, answer, strict=True):
        said = [float(text.decode().split(":")[0]) for text in texts]
        assert said == sorted(row, reverse=True)[:2]


def test_answers_of_the_cache_are_those_of_the_device(
    server: Server, features: dict[str, Any]
) -> None:
    """Repeated requests beside new ones, in the same batches."""

    def ask(part: int) -> None:
        with server.over_grpc() as client:
            for turn in range(30):
                array = gm.rows_of(turn % 5 if turn % 2 else 1000 * part + turn, 1 + turn % 3)
                for name in ("cached_onnxruntime", "cached_pytorch"):
                    answer = client.infer(name, given(over_grpc, x=array), client_timeout=30)
                    np.testing.assert_array_equal(answer.as_numpy("y"), array @ features[name])

    side_by_side(4, ask)


def test_python_models_call_models_on_the_device(server: Server, features: dict[str, Any]) -> None:
    text = gm.config("python", Device("cpu"), *TENSORS, batch=BATCH)
    pm.add(server.root, "feature_caller", CALLER, write_config=False)
    (server.root / "feature_caller" / "config.pbtxt").write_text(text)
    server.load("feature_caller")
    factor = features["feature_onnxruntime"] + features["feature_pytorch"]
    for turn in range(10):
        array = gm.rows_of(turn, 1 + turn % 4)
        np.testing.assert_array_equal(server.infer("feature_caller", x=array), array @ factor)
    server.unload("feature_caller")


def test_requests_that_fail_or_are_given_up_let_their_regions_go(
    server: Server, device: Device, place: Region
) -> None:
    """Else a region would be open for ever; the fixture waits for its end."""
    pytest.importorskip("torch")
    from tests.support.gpu_modules import Slow, SumOfMany

    text = gm.config("pytorch", device, "x:FP32:1 count:INT64:1", "y:FP32:1")
    server.add("fails", SumOfMany(), text)
    text = gm.config("pytorch", device, "x:FP32:64,64 turns:INT64:1", "y:FP32:64,64")
    server.add("given_up", Slow(), text)
    failing = over_grpc.InferInput("x", [1], "FP32")
    failing.set_shared_memory("feature", 4)
    leaving = over_grpc.InferInput("x", [64, 64], "FP32")
    leaving.set_data_from_numpy(np.zeros((64, 64), np.float32))
    wanted = over_grpc.InferRequestedOutput("y")
    wanted.set_shared_memory("feature", BYTES, BYTES)
    ends: list[Any] = []
    with server.over_grpc() as client:
        inputs = [failing, *given(over_grpc, count=number(1 << 44))]
        with pytest.raises(InferenceServerException, match=r"(?i)memory|alloc"):
            client.infer("fails", inputs, outputs=[wanted], client_timeout=30)
        inputs = [leaving, *given(over_grpc, turns=number(device.pick(20_000, 100_000)))]
        call = client.async_infer(
            "given_up", inputs, lambda result, error: ends.append(error), outputs=[wanted]
        )
        wait_until(lambda: in_flight(server) == 1, "the request at the model")
        call.cancel()
        wait_until(lambda: ends, "the end of the call")
        assert "cancel" in str(ends[0]).lower()
        let_go(server)
    wait_until(lambda: in_flight(server) == 0, "the model to be free")
    server.unload("fails", "given_up")


def in_flight(server: Server) -> float:
    return sum(server.metric("shoal_in_flight_requests", protocol="grpc").values())
