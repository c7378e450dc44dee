"""The same cases with the stock clients: sync, asyncio, streams and system shared memory."""

import asyncio
import contextlib
import queue
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.grpc.aio as grpc_aio
import tritonclient.http as http_client
import tritonclient.http.aio as http_aio
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

from tests.conformance.test_conformance_cases import CASES, array_of
from tests.support.runtime_process import Runtime

Answer = dict[str, Any]
Shared = dict[str, Any]  # region by the name of an input or output
_OUTPUT_BYTES = 4096


def inputs_of(case: dict[str, Any], kind: Any, shared: Shared | None) -> list[Any]:
    made = []
    for number, spec in enumerate(case["inputs"]):
        item = kind.InferInput(spec[0], spec[2], spec[1])
        array = array_of(spec)
        if shared is None:
            item.set_data_from_numpy(array)
        else:
            name, handle = shared[f"in {number}"]
            shm.set_shared_memory_region(handle, [array])
            item.set_shared_memory(name, array.nbytes)
        made.append(item)
    return made


def outputs_of(case: dict[str, Any], kind: Any, shared: Shared | None) -> list[Any] | None:
    if shared is None:
        return (
            [kind.InferRequestedOutput(name) for name in case["outputs"]]
            if "outputs" in case
            else None
        )
    made = []
    for name in case.get("outputs", case.get("expect", ())):
        item = kind.InferRequestedOutput(name)
        item.set_shared_memory(shared[name][0], _OUTPUT_BYTES)
        made.append(item)
    return made or None


def arguments(case: dict[str, Any], kind: Any, shared: Shared | None = None) -> dict[str, Any]:
    return {
        "model_name": case["model"],
        "inputs": inputs_of(case, kind, shared),
        "model_version": case.get("version", ""),
        "outputs": outputs_of(case, kind, shared),
        "request_id": case.get("id", ""),
        "parameters": case.get("parameters"),
    }


def read(result: Any, case: dict[str, Any]) -> Answer:
    reply = result.get_response()
    listed = reply["outputs"] if isinstance(reply, dict) else reply.outputs
    names = [item["name"] if isinstance(item, dict) else item.name for item in listed]
    found = reply.get("id", "") if isinstance(reply, dict) else reply.id
    return {"id": found, "outputs": {name: result.as_numpy(name) for name in names}}


def over_http(server: Runtime, case: dict[str, Any]) -> Answer:
    with http_client.InferenceServerClient(server.http) as client:
        return read(client.infer(**arguments(case, http_client)), case)


def over_http_compressed(server: Runtime, case: dict[str, Any]) -> Answer:
    options = {"request_compression_algorithm": "gzip", "response_compression_algorithm": "deflate"}
    with http_client.InferenceServerClient(server.http) as client:
        return read(client.infer(**arguments(case, http_client), **options), case)


def over_http_async(server: Runtime, case: dict[str, Any]) -> Answer:
    with http_client.InferenceServerClient(server.http) as client:
        return read(client.async_infer(**arguments(case, http_client)).get_result(), case)


def over_http_aio(server: Runtime, case: dict[str, Any]) -> Answer:
    async def ask() -> Answer:
        async with http_aio.InferenceServerClient(server.http) as client:
            return read(await client.infer(**arguments(case, http_client)), case)

    return asyncio.run(ask())


def over_grpc(server: Runtime, case: dict[str, Any]) -> Answer:
    with grpc_client.InferenceServerClient(server.grpc) as client:
        return read(client.infer(**arguments(case, grpc_client)), case)


def over_grpc_aio(server: Runtime, case: dict[str, Any]) -> Answer:
    async def ask() -> Answer:
        async with grpc_aio.InferenceServerClient(server.grpc) as client:
            return read(await client.infer(**arguments(case, grpc_client)), case)

    return asyncio.run(ask())


def over_stream(server: Runtime, case: dict[str, Any]) -> Answer:
    answers: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
    with grpc_client.InferenceServerClient(server.grpc) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        client.async_stream_infer(**arguments(case, grpc_client))
        result, error = answers.get(timeout=30)
        client.stop_stream()
    if error is not None:
        raise error
    return read(result, case)


@contextlib.contextmanager
def regions(case: dict[str, Any], client: Any) -> Iterator[Shared]:
    """A registered region for every input and every output that is expected."""
    names = [f"in {number}" for number in range(len(case["inputs"]))]
    names += case.get("outputs", list(case.get("expect", ())))
    made: Shared = {}
    try:
        for name in names:
            region = uuid.uuid4().hex
            handle = shm.create_shared_memory_region(region, f"/{region}", _OUTPUT_BYTES)
            made[name] = (region, handle)
            client.register_system_shared_memory(region, f"/{region}", _OUTPUT_BYTES)
        yield made
    finally:
        for region, handle in made.values():
            client.unregister_system_shared_memory(region)
            shm.destroy_shared_memory_region(handle)


def _through_memory(client: Any, kind: Any, case: dict[str, Any]) -> Answer:
    with regions(case, client) as shared:
        result = client.infer(**arguments(case, kind, shared))
        reply = result.get_response()
        listed = reply["outputs"] if isinstance(reply, dict) else reply.outputs
        outputs = {}
        for item in listed:
            output = item if isinstance(item, dict) else {
                "name": item.name, "datatype": item.datatype, "shape": list(item.shape)
            }  # fmt: skip
            dtype = {"INT32": np.int32, "FP32": np.float32}[output["datatype"]]
            handle = shared[output["name"]][1]
            found = shm.get_contents_as_numpy(handle, dtype, output["shape"])
            outputs[output["name"]] = found.copy()
        identifier = reply.get("id", "") if isinstance(reply, dict) else reply.id
        return {"id": identifier, "outputs": outputs}


def over_http_memory(server: Runtime, case: dict[str, Any]) -> Answer:
    with http_client.InferenceServerClient(server.http) as client:
        return _through_memory(client, http_client, case)


def over_grpc_memory(server: Runtime, case: dict[str, Any]) -> Answer:
    with grpc_client.InferenceServerClient(server.grpc) as client:
        return _through_memory(client, grpc_client, case)


WAYS: dict[str, Callable[[Runtime, dict[str, Any]], Answer]] = {
    "http": over_http,
    "http compressed": over_http_compressed,
    "http async": over_http_async,
    "http aio": over_http_aio,
    "grpc": over_grpc,
    "grpc aio": over_grpc_aio,
    "grpc stream": over_stream,
    "http shared memory": over_http_memory,
    "grpc shared memory": over_grpc_memory,
}


def possible(case: dict[str, Any], way: str) -> bool:
    """The clients do not send what they see is wrong, nor tensors of nothing in shared memory."""
    empty = any(0 in spec[2] for spec in case["inputs"])
    return (
        "bytes" not in case
        and not any(key.startswith("triton_") for key in case.get("parameters", {}))
        and not (empty and "memory" in way)
    )


RUNS = [(case, way) for case in CASES for way in WAYS if possible(case, way)]


@pytest.mark.parametrize(
    ("case", "way"), RUNS, ids=[f"{case['name']}, {way}" for case, way in RUNS]
)
def test_case_with_a_client(conforming: Runtime, case: dict[str, Any], way: str) -> None:
    if "error" in case:
        with pytest.raises(InferenceServerException) as caught:
            WAYS[way](conforming, case)
        status, code, *texts = case["error"]
        assert caught.value.message() == texts[0 if way.startswith("http") else -1]
        if way != "grpc stream":  # there is no status inside a stream
            wanted = str(status) if way.startswith("http") else f"StatusCode.{code}"
            assert caught.value.status() == wanted
        return
    found = WAYS[way](conforming, case)
    assert found["id"] == case.get("id", "")
    assert list(found["outputs"]) == list(case["expect"])
    shape = tuple(case["inputs"][0][2])
    for name, value in case["expect"].items():
        np.testing.assert_array_equal(found["outputs"][name], np.full(shape, value))
