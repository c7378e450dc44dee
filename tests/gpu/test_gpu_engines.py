"""TensorRT engines that are built here, for the card that is here."""

from typing import Any

import numpy as np
import pytest

from tests.support import gpu_models as gm
from tests.support import onnx_models as om
from tests.support.gpu_device import Device
from tests.support.gpu_products import Product, ask_by_regions, ask_every_size
from tests.support.gpu_regions import Regions
from tests.support.gpu_server import Server, number

BATCH, SEED = 16, 51
TENSORS = (f"x:FP32:{gm.WIDTH}", f"y:FP32:{gm.WIDTH}")
QUEUE = "dynamic_batching { max_queue_delay_microseconds: 500 }\n"
GRAPHS = "optimization { cuda { graphs: true } }\n"


@pytest.fixture(scope="module")
def trt(card: str) -> Any:
    return pytest.importorskip("tensorrt")


def plan(trt: Any, graph: Any, shapes: dict[str, Any], numbers: dict[str, Any]) -> bytes:
    """An engine of an ONNX graph; ``shapes`` and ``numbers`` are least, usual and most of each."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(om.model_bytes(graph)), parser.get_error(0)
    profile = builder.create_optimization_profile()
    for name, limits in shapes.items():
        profile.set_shape(name, *limits)
    for name, limits in numbers.items():
        profile.set_shape_input(name, *limits)
    config = builder.create_builder_config()
    config.add_optimization_profile(profile)
    return bytes(builder.build_serialized_network(network, config))


def add(server: Server, name: str, engine: bytes, text: str) -> None:
    folder = server.root / name / "1"
    folder.mkdir(parents=True)
    (folder / "model.plan").write_bytes(engine)
    (folder.parent / "config.pbtxt").write_text(text)
    server.load(name)


@pytest.fixture(scope="module")
def product(trt: Any) -> bytes:
    rows = [(count, gm.WIDTH) for count in (1, 8, BATCH)]
    return plan(trt, gm.onnx_product(SEED), {"x": rows}, {})


@pytest.mark.parametrize("extra", [QUEUE, QUEUE + GRAPHS], ids=["plain", "graphs"])
def test_engines_answer_batches_of_every_size(
    server: Server, product: bytes, extra: str, request: pytest.FixtureRequest, figures: Any
) -> None:
    name = f"engine_{request.node.callspec.id}"
    text = gm.config("tensorrt", Device("cuda"), *TENSORS, count=2, batch=BATCH, extra=extra)
    add(server, name, product, text)
    ask_every_size(server, Product(name, SEED), figures)
    server.unload(name)


@pytest.mark.parametrize("extra", ["", GRAPHS], ids=["plain", "graphs"])
def test_engines_take_and_give_regions(
    server: Server, regions: Regions, product: bytes, extra: str, request: pytest.FixtureRequest
) -> None:
    name = f"engine_region_{request.node.callspec.id}"
    text = gm.config("tensorrt", Device("cuda"), *TENSORS, batch=BATCH, extra=extra)
    add(server, name, product, text)
    ask_by_regions(server, Product(name, SEED), regions)
    server.unload(name)


def test_a_shape_that_is_a_tensor_is_read_on_the_host(server: Server, trt: Any) -> None:
    engine = plan(trt, gm.onnx_repeated(), {}, {"count": [(1,), (8,), (1000,)]})
    text = gm.config("tensorrt", Device("cuda"), "x:FP32:1 count:INT64:1", "y:FP32:-1")
    assert 'name: "count"' in text
    marked = text.replace('name: "count"', 'name: "count" is_shape_tensor: true')
    add(server, "engine_shape", engine, marked)
    for count in (1, 7, 1000, 3):
        x = np.array([count], np.float32)
        found = server.infer("engine_shape", x=x, count=number(count))
        np.testing.assert_array_equal(found, np.full(count, count, np.float32))
    server.unload("engine_shape")
