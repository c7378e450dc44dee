"""gRPC message by message: requests, streams and calls as data, in protobuf's text form.

The expected texts and codes were checked against a real Triton server, the replies too where its
backends could give the same.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import text_format
from grpc_health.v1 import health_pb2, health_pb2_grpc
from onnx import TensorProto
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from tests.support import onnx_models as om
from tests.support.builtin_models import REPEAT
from tests.support.runtime_process import Runtime, runtime

HERE = Path(__file__).parent
CASES = json.loads((HERE / "grpc_cases.json").read_text())
STREAMS = json.loads((HERE / "grpc_streams.json").read_text())
CALLS = json.loads((HERE / "grpc_calls.json").read_text())
CPU = "instance_group [{ count: 1 kind: KIND_CPU }]\n"
KINDS = {
    "bool": TensorProto.BOOL,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "fp16": TensorProto.FLOAT16,
    "fp32": TensorProto.FLOAT,
    "fp64": TensorProto.DOUBLE,
    "string": TensorProto.STRING,
}
IDENTITY = """
backend: "identity"
input {{ name: "INPUT0" data_type: {kind} dims: [ {dim} ] }}
output {{ name: "OUTPUT0" data_type: {kind} dims: [ {dim} ] }}
{more}
"""
SECOND = """
input { name: "INPUT1" data_type: TYPE_FP32 dims: [ 2 ] optional: true }
output { name: "OUTPUT1" data_type: TYPE_FP32 dims: [ 2 ] }
"""


def configured(root: Path, name: str, text: str) -> None:
    (root / name / "1").mkdir(parents=True)
    (root / name / "config.pbtxt").write_text(text + CPU)


def identity(kind: str = "TYPE_FP32", dim: int = -1, more: str = "", **parameters: str) -> str:
    text = IDENTITY.format(kind=kind, dim=dim, more=more)
    for key, value in parameters.items():
        text += f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
    return text


@pytest.fixture(scope="module", params=["native", "grpcio"])
def speaking(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("speaking") / "models"
    for name, kind in KINDS.items():
        om.save(root, f"id_{name}", om.identity(kind, "N"), f"max_batch_size: 0\n{CPU}")
    om.save(root, "fixed", om.identity(om.FP32, 2, 3), CPU)
    om.save(root, "batched", om.identity(om.FP32, "N", 3), f"max_batch_size: 4\n{CPU}")
    om.save(root, "addsub", om.add_sub(), f"max_batch_size: 8\n{CPU}")
    labels = 'max_batch_size: 4\noutput { name: "y" label_filename: "labels.txt" }\n'
    om.save(root, "labelled", om.identity(om.FP32, "N", 3), labels + CPU)
    (root / "labelled" / "labels.txt").write_text("cat\ndog\nfish\n")
    configured(root, "repeat", REPEAT)
    configured(root, "fails", identity(fail="no luck"))
    configured(root, "brain", identity("TYPE_BF16"))
    configured(root, "slow", identity(delay_ms="300"))
    configured(root, "optional", identity(dim=2, more=SECOND))
    flags = ("--model-control-mode=explicit", "--load-model=*")
    with runtime(root, f"--grpc-frontend={request.param}", *flags) as found:
        yield found


@pytest.fixture(scope="module")
def channel(speaking: Runtime) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(speaking.grpc) as found:
        yield found


@pytest.fixture(scope="module")
def stub(channel: grpc.Channel) -> Any:
    return service_pb2_grpc.GRPCInferenceServiceStub(channel)


def message(kind: Any, text: str) -> Any:
    return text_format.Parse(text, kind())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_model_infer(stub: Any, case: dict[str, Any]) -> None:
    request = message(pb.ModelInferRequest, case["request"])
    for _ in range(2):  # once read anew, once known
        if "error" in case:
            with pytest.raises(grpc.RpcError) as caught:
                stub.ModelInfer(request, timeout=30)
            assert [caught.value.code().name, caught.value.details()] == case["error"]
        else:
            assert stub.ModelInfer(request, timeout=30) == message(
                pb.ModelInferResponse, case["reply"]
            )


@pytest.mark.parametrize("case", STREAMS, ids=lambda case: case["name"])
def test_model_stream_infer(stub: Any, case: dict[str, Any]) -> None:
    requests = [message(pb.ModelInferRequest, text) for text in case["requests"]]
    expected = [message(pb.ModelStreamInferResponse, text) for text in case["replies"]]
    metadata = tuple(case.get("metadata", {}).items())
    found: list[Any] = []
    error: list[str] | None = None
    try:
        found.extend(stub.ModelStreamInfer(iter(requests), timeout=30, metadata=metadata))
    except grpc.RpcError as raised:
        error = [raised.code().name, raised.details()]
    assert error == case.get("error")
    if error is None:
        assert found == expected


@pytest.mark.parametrize("case", CALLS, ids=lambda case: f"{case['rpc']} {case['request'][:40]}")
def test_calls(stub: Any, case: dict[str, Any]) -> None:
    request = message(getattr(pb, f"{case['rpc']}Request"), case["request"])
    if "error" in case:
        with pytest.raises(grpc.RpcError) as caught:
            getattr(stub, case["rpc"])(request, timeout=30)
        assert [caught.value.code().name, caught.value.details()] == case["error"]
    else:
        expected = message(getattr(pb, f"{case['rpc']}Response"), case["reply"])
        assert getattr(stub, case["rpc"])(request, timeout=30) == expected


def test_every_rpc_is_served(stub: Any) -> None:
    for method in pb.DESCRIPTOR.services_by_name["GRPCInferenceService"].methods:
        request = getattr(pb, method.input_type.name)()
        argument = iter([request]) if method.name == "ModelStreamInfer" else request
        try:
            reply = getattr(stub, method.name)(argument, timeout=30)
            if method.name == "ModelStreamInfer":
                list(reply)
        except grpc.RpcError as error:
            assert error.code() is not grpc.StatusCode.UNIMPLEMENTED, method.name


def test_the_standard_health_check_serves_and_does_not_watch(channel: grpc.Channel) -> None:
    health = health_pb2_grpc.HealthStub(channel)
    request = health_pb2.HealthCheckRequest(service="anything")
    assert health.Check(request, timeout=30).status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as caught:
        next(health.Watch(request, timeout=30))
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_config_index_and_statistics_are_messages(stub: Any) -> None:
    config = stub.ModelConfig(pb.ModelConfigRequest(name="addsub"), timeout=30).config
    assert (config.name, config.max_batch_size, config.input[0].dims) == ("addsub", 8, [16])
    rows = stub.RepositoryIndex(pb.RepositoryIndexRequest(ready=True), timeout=30).models
    assert {(row.name, row.version, row.state) for row in rows} >= {("addsub", "1", "READY")}
    request = message(pb.ModelInferRequest, CASES[0]["request"])
    before = statistics(stub, "fixed")
    stub.ModelInfer(request, timeout=30)
    after = statistics(stub, "fixed")
    assert after.inference_count == before.inference_count + 1
    assert after.execution_count == before.execution_count + 1
    assert after.inference_stats.success.count == before.inference_stats.success.count + 1
    assert after.inference_stats.compute_infer.ns > before.inference_stats.compute_infer.ns
    assert after.batch_stats[0].batch_size == 1


def test_decoupled_answers_are_counted_by_their_index(stub: Any) -> None:
    case = next(case for case in STREAMS if case["name"] == "many answers")
    before = statistics(stub, "repeat").response_stats
    request = message(pb.ModelInferRequest, case["requests"][0])
    list(stub.ModelStreamInfer(iter([request]), timeout=30))
    after = statistics(stub, "repeat").response_stats
    assert set(after) >= {"0", "1", "2"}
    for index in ("0", "1", "2"):
        assert after[index].success.count == before[index].success.count + 1


def statistics(stub: Any, name: str) -> Any:
    return stub.ModelStatistics(pb.ModelStatisticsRequest(name=name), timeout=30).model_stats[0]


def test_log_settings_change_and_change_back(stub: Any) -> None:
    for form, level in (("ISO8601", 1), ("default", 0)):
        request = pb.LogSettingsRequest()
        request.settings["log_format"].string_param = form
        request.settings["log_verbose_level"].uint32_param = level
        found = stub.LogSettings(request, timeout=30).settings
        assert found["log_format"].string_param == form
        assert found["log_verbose_level"].uint32_param == level


def test_what_is_no_message_is_refused(channel: grpc.Channel) -> None:
    raw = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    with pytest.raises(grpc.RpcError) as caught:
        raw(b"\xff\xff\xff", timeout=30)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_fields_may_come_in_any_order(channel: grpc.Channel) -> None:
    request = message(pb.ModelInferRequest, CASES[0]["request"])
    raw, request.raw_input_contents[:] = list(request.raw_input_contents), []
    turned = pb.ModelInferRequest(raw_input_contents=raw).SerializeToString()
    call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    reply = call(turned + request.SerializeToString(), timeout=30)
    assert pb.ModelInferResponse.FromString(reply).raw_output_contents[:] == raw
