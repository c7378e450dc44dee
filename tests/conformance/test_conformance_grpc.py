"""What only gRPC has: tensor contents, unimplemented calls, health, shapes of messages."""

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from tests.support.runtime_process import Runtime


@pytest.fixture
def channel(conforming: Runtime) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(conforming.grpc) as found:
        yield found


@pytest.fixture
def stub(channel: grpc.Channel) -> Any:
    return service_pb2_grpc.GRPCInferenceServiceStub(channel)


def good() -> Any:
    message = pb.ModelInferRequest(model_name="fixed")
    message.inputs.add(name="x", datatype="FP32", shape=[2, 3])
    return message


def both(message: Any) -> None:
    message.inputs[0].contents.fp32_contents.extend([1] * 6)
    message.raw_input_contents.append(b"\0" * 24)


def wrong_field(message: Any) -> None:
    message.inputs[0].contents.fp64_contents.extend([1] * 6)


def too_few(message: Any) -> None:
    message.inputs[0].contents.fp32_contents.extend([1] * 5)


def surplus(message: Any) -> None:
    message.raw_input_contents.extend([b"\0" * 24] * 2)


def half(message: Any) -> None:
    message.model_name = "half"
    del message.inputs[:]
    message.inputs.add(name="x", datatype="FP16", shape=[2]).contents.fp32_contents.extend([1, 2])


def priority(message: Any) -> None:
    message.raw_input_contents.append(b"\0" * 24)
    message.parameters["priority"].string_param = "high"


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (both, "contents field must not be specified when using raw_input_contents for 'x'"),
        (wrong_field, "FP32 data belongs in fp32_contents"),
        (too_few, "expected 6, got 5"),
        (surplus, "expected 1 raw_input_contents, one per input, got 2"),
        (half, "must be sent in raw_input_contents"),
        (priority, "invalid value type for 'priority'"),
        (lambda message: None, "no data for input 'x' of model 'fixed'"),
    ],
)
def test_bad_contents_are_invalid_arguments(
    stub: Any, spoil: Callable[[Any], None], text: str
) -> None:
    message = good()
    spoil(message)
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(message, timeout=30)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert text in caught.value.details()


def test_bytes_may_come_as_typed_contents(stub: Any) -> None:
    message = pb.ModelInferRequest(model_name="words")
    item = message.inputs.add(name="x", datatype="BYTES", shape=[2])
    item.contents.bytes_contents.extend([b"one", b""])
    reply = stub.ModelInfer(message, timeout=30)
    assert reply.raw_output_contents[0] == b"\x03\0\0\0one\0\0\0\0"
    assert reply.outputs[0].datatype == "BYTES"


def test_an_unknown_model_is_not_found_and_not_just_unready(stub: Any) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelReady(pb.ModelReadyRequest(name="nope"), timeout=30)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("SystemSharedMemoryStatus", pb.SystemSharedMemoryStatusRequest()),
        ("CudaSharedMemoryStatus", pb.CudaSharedMemoryStatusRequest()),
        ("TraceSetting", pb.TraceSettingRequest()),
        ("LogSettings", pb.LogSettingsRequest()),
        ("RepositoryIndex", pb.RepositoryIndexRequest(repository_name="here")),
    ],
)
def test_what_is_not_offered_says_so(stub: Any, call: str, message: Any) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        getattr(stub, call)(message, timeout=30)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_the_standard_health_check_serves(channel: grpc.Channel) -> None:
    health = health_pb2_grpc.HealthStub(channel)
    reply = health.Check(health_pb2.HealthCheckRequest(service="anything"), timeout=30)
    assert reply.status == health_pb2.HealthCheckResponse.SERVING


def test_config_and_index_are_messages(stub: Any) -> None:
    config = stub.ModelConfig(pb.ModelConfigRequest(name="simple"), timeout=30).config
    assert (config.name, config.max_batch_size, config.input[0].dims) == ("simple", 8, [16])
    rows = stub.RepositoryIndex(pb.RepositoryIndexRequest(), timeout=30).models
    assert {(row.name, row.version, row.state) for row in rows} >= {("simple", "1", "READY")}
