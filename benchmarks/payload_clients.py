"""Clients that send one payload to the identity model and see to it that it comes back.

Each is a context manager that gives a function: one request, and its answer. The answer is compared
once, at the beginning. Raises LoadFailed when it is something else.
"""

import http.client
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import grpc
import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.grpc import service_pb2 as pb
from tritonclient.utils import shared_memory

from benchmarks.load import LoadFailed
from benchmarks.server import Server

MODEL = "identity"
Infer = Callable[[], object]
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@contextmanager
def _over_http(server: Server, size: int) -> Iterator[Infer]:
    data = _payload(size)
    tensor = tritonclient.http.InferInput("INPUT0", [size], "UINT8").set_data_from_numpy(data)
    wanted = tritonclient.http.InferRequestedOutput("OUTPUT0", binary_data=True)
    body, json_size = tritonclient.http.InferenceServerClient.generate_request_body(
        [tensor], outputs=[wanted]
    )
    headers = {"Inference-Header-Content-Length": str(json_size)}
    memory = memoryview(bytearray(size + 4096))
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port)
    connection.connect()

    def request() -> memoryview:
        connection.request("POST", f"/v2/models/{MODEL}/infer", body, headers)
        answer, got = connection.getresponse(), 0
        while more := answer.readinto(memory[got:]):
            got += more
        if answer.status != http.client.OK:
            raise LoadFailed(f"the server answered {bytes(memory[:got])!r}")
        return memory[:got]

    _same(np.frombuffer(request()[-size:], np.uint8), data)
    yield request
    connection.close()


@contextmanager
def _over_grpc(server: Server, size: int) -> Iterator[Infer]:
    data = _payload(size)
    message = pb.ModelInferRequest(model_name=MODEL, raw_input_contents=[data.tobytes()])
    message.inputs.add(name="INPUT0", datatype="UINT8", shape=[size])
    with _call(server, message) as request:
        _same(np.frombuffer(request()[-size:], np.uint8), data)
        yield request


@contextmanager
def _over_shared_memory(server: Server, size: int) -> Iterator[Infer]:
    data = _payload(size)
    message = pb.ModelInferRequest(model_name=MODEL)
    tensors = {
        "given": message.inputs.add(name="INPUT0", datatype="UINT8", shape=[size]),
        "found": message.outputs.add(name="OUTPUT0"),
    }
    regions = {}
    with (
        tritonclient.grpc.InferenceServerClient(server.address("grpc")) as client,
        ExitStack() as stack,
    ):
        for name, tensor in tensors.items():
            key = f"/shoal_bench_{server.pid}_{name}"
            regions[name] = shared_memory.create_shared_memory_region(name, key, size)
            stack.callback(shared_memory.destroy_shared_memory_region, regions[name])
            client.register_system_shared_memory(name, key, size)
            stack.callback(client.unregister_system_shared_memory, name)
            tensor.parameters["shared_memory_region"].string_param = name
            tensor.parameters["shared_memory_byte_size"].int64_param = size
        shared_memory.set_shared_memory_region(regions["given"], [data])
        with _call(server, message) as request:
            request()
            _same(shared_memory.get_contents_as_numpy(regions["found"], np.uint8, [size]), data)
            yield request


CLIENTS: Mapping[str, Callable[[Server, int], AbstractContextManager[Infer]]] = {
    "HTTP": _over_http,
    "gRPC": _over_grpc,
    "shared memory": _over_shared_memory,
}


@contextmanager
def _call(server: Server, message: Any) -> Iterator[Callable[[], bytes]]:
    raw = message.SerializeToString()
    with grpc.insecure_channel(server.address("grpc"), _UNLIMITED) as channel:
        infer = channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer",
            request_serializer=None,
            response_deserializer=None,
        )
        yield lambda: infer(raw)


def _payload(size: int) -> "np.ndarray[Any, np.dtype[np.uint8]]":
    return np.random.default_rng(0).integers(0, 256, size, np.uint8)


def _same(found: "np.ndarray[Any, Any]", sent: "np.ndarray[Any, Any]") -> None:
    if not np.array_equal(found, sent):
        raise LoadFailed("the identity model gave something else")
