"""Protocol cases as data: every case over HTTP (binary and JSON) and gRPC (raw and typed)."""

import json
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from tests.support.runtime_process import Runtime
from worker_runtime.types.tensor import BY_NAME

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())
WAYS = ["http-binary", "http-json", "grpc-raw", "grpc-typed"]
# Byte sizes are a matter of raw tensors only.
RUNS = [(c, way) for c in CASES for way in WAYS if "bytes" not in c or way in WAYS[::2]]
_TYPED = {"INT32": "int_contents", "FP32": "fp32_contents"}


def array_of(spec: list[Any]) -> np.ndarray:
    _, datatype, shape, value = spec
    return np.full(shape, value, BY_NAME[datatype].dtype)


def raw_of(case: dict[str, Any], spec: list[Any]) -> bytes:
    raw = array_of(spec).tobytes()
    return raw.ljust(case["bytes"], b"\0")[: case["bytes"]] if "bytes" in case else raw


def over_http(server: Runtime, case: dict[str, Any], *, binary: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"inputs": [], "parameters": dict(case.get("parameters", {}))}
    tail = b""
    for spec in case["inputs"]:
        item: dict[str, Any] = {"name": spec[0], "datatype": spec[1], "shape": spec[2]}
        if binary:
            raw = raw_of(case, spec)
            item["parameters"] = {"binary_data_size": len(raw)}
            tail += raw
        else:
            item["data"] = array_of(spec).tolist()
        body["inputs"].append(item)
    body["parameters"]["binary_data_output"] = binary
    if "id" in case:
        body["id"] = case["id"]
    if "outputs" in case:
        body["outputs"] = [
            {"name": name, "parameters": {"binary_data": binary}} for name in case["outputs"]
        ]
    head = json.dumps(body).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))} if binary else {}
    version = f"/versions/{case['version']}" if "version" in case else ""
    status, found, answer = server.call(
        f"v2/models/{case['model']}{version}/infer", head + tail, headers=headers
    )
    if status != 200:
        return {"error": (status, json.loads(answer)["error"])}
    length = int(found.get("inference-header-content-length", len(answer)))
    data = json.loads(answer[:length])
    return {"id": data.get("id", ""), "outputs": _http_outputs(data["outputs"], answer[length:])}


def _http_outputs(outputs: list[dict[str, Any]], tail: bytes) -> dict[str, np.ndarray]:
    arrays = {}
    for output in outputs:
        dtype = BY_NAME[output["datatype"]].dtype
        if "data" in output:
            array = np.array(output["data"], dtype)
        else:
            size = output["parameters"]["binary_data_size"]
            array, tail = np.frombuffer(tail[:size], dtype), tail[size:]
        arrays[output["name"]] = array.reshape(output["shape"])
    assert not tail
    return arrays


def over_grpc(server: Runtime, case: dict[str, Any], *, raw: bool) -> dict[str, Any]:
    message = pb.ModelInferRequest(
        model_name=case["model"], model_version=case.get("version", ""), id=case.get("id", "")
    )
    for spec in case["inputs"]:
        item = message.inputs.add(name=spec[0], datatype=spec[1], shape=spec[2])
        if raw:
            message.raw_input_contents.append(raw_of(case, spec))
        else:
            values = getattr(item.contents, _TYPED[spec[1]])
            item.contents.SetInParent()
            values.extend(array_of(spec).reshape(-1).tolist())
    for name in case.get("outputs", []):
        message.outputs.add(name=name)
    for key, value in case.get("parameters", {}).items():
        message.parameters[key].bool_param = value
    with grpc.insecure_channel(server.grpc) as channel:
        try:
            reply = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer(
                message, timeout=30
            )
        except grpc.RpcError as error:
            return {"error": (error.code().name, error.details())}
    assert len(reply.outputs) == len(reply.raw_output_contents)
    arrays = {
        output.name: np.frombuffer(data, BY_NAME[output.datatype].dtype).reshape(output.shape)
        for output, data in zip(reply.outputs, reply.raw_output_contents, strict=True)
    }
    return {"id": reply.id, "outputs": arrays}


@pytest.mark.parametrize(
    ("case", "way"), RUNS, ids=[f"{case['name']}, {way}" for case, way in RUNS]
)
def test_case(conforming: Runtime, case: dict[str, Any], way: str) -> None:
    if way.startswith("http"):
        found = over_http(conforming, case, binary=way == "http-binary")
    else:
        found = over_grpc(conforming, case, raw=way == "grpc-raw")
    if "error" in case:
        # A fourth entry is gRPC's text where it is not HTTP's.
        status, code, *texts = case["error"]
        http = way.startswith("http")
        assert found["error"] == (status if http else code, texts[0 if http else -1])
        return
    assert found["id"] == case.get("id", "")
    assert list(found["outputs"]) == list(case["expect"])
    shape = tuple(case["inputs"][0][2])
    for name, value in case["expect"].items():
        np.testing.assert_array_equal(found["outputs"][name], np.full(shape, value))
