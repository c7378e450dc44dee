"""An endpoint with a blue and a green deployment, made as a script makes it, and calls to it."""

from pathlib import Path

import numpy
import onnx
import tritonclient.http as triton

from shoal.client import Client, Installation
from shoal.client.packing import packaged
from tests.e2e import tiny_model
from tests.e2e.product import Product


def client_of(product: Product) -> Client:
    address = {key: product.client[key] for key in ("url", "token", "gateway_url", "ca_path")}
    return Client(installation=Installation(**address))


def blue_and_green(client: Client, endpoint: str, folder: Path) -> str:
    """Blue with all the traffic, green with none, of two versions of a model; returns a key.

    Green keeps what it is asked.
    """
    file = tiny_model.write(folder / "model.onnx")
    client.deploy(file, name=endpoint, deployment="blue")
    again = onnx.load(file)
    again.doc_string = "the same again"
    onnx.save(again, file)
    upload = client.upload_package(packaged(file, serve_as=endpoint))
    version = client.register_model(endpoint, upload["id"])
    operation = client.create_deployment(
        endpoint,
        {
            "name": "green", "model": endpoint, "version": str(version["version"]),
            "capture": {"sampling_rate": 1, "roll_seconds": 5},
        },
    )  # fmt: skip
    client.wait_operation(operation)
    return client.get_keys(endpoint)["primaryKey"]


def call(
    product: Product, endpoint: str, key: str, *, times: int, batch: int, deployment: str = ""
) -> None:
    """``times`` requests of ``batch`` rows with a stock client; a wrong answer raises."""
    values = numpy.ones((batch, tiny_model.FEATURES), dtype=numpy.float32)
    address = product.client["gateway_plain_url"].removeprefix("http://")
    headers = {"Authorization": f"Bearer {key}"}
    if deployment:
        headers["x-shoal-deployment"] = deployment
    with triton.InferenceServerClient(f"{address}/endpoints/{endpoint}") as stock:
        tensor = triton.InferInput(tiny_model.INPUT, list(values.shape), "FP32")
        tensor.set_data_from_numpy(values)
        for _ in range(times):
            answer = stock.infer(endpoint, [tensor], headers=headers)
            numpy.testing.assert_allclose(
                answer.as_numpy(tiny_model.OUTPUT), tiny_model.expected(values), rtol=1e-4
            )
