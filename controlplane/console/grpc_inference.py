"""Inferences through the gateway over gRPC, also of models that answer several times or not at all.

Apart, and imported on use: gRPC and its messages are 15 MB of a process that seldom needs them.
"""

import time
from collections.abc import AsyncGenerator
from typing import Any, Final

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from controlplane.console.inference import (
    LARGEST_ANSWER,
    PIN,
    UPSTREAM,
    Answer,
    Call,
    InferenceFailed,
    Part,
    Target,
    number,
)
from controlplane.console.tensors import Tensor

MAX_RESPONSES: Final = 10_000
OPTIONS: Final = [
    ("grpc.max_receive_message_length", LARGEST_ANSWER),
    ("grpc.max_send_message_length", 256 << 20),
]


class GrpcClient:
    """One channel to the gateway. ``address`` is its host and port."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, OPTIONS)
        self._stub = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    async def close(self) -> None:
        await self._channel.close()

    async def infer(self, target: Target, call: Call, timeout_s: float) -> Answer:
        """Raises InferenceFailed."""
        began = time.perf_counter()
        sent = self._stub.ModelInfer(
            request_of(call), metadata=_metadata(target), timeout=timeout_s
        )
        try:
            response = await sent
        except grpc.aio.AioRpcError as error:
            raise _refused(error) from error
        total_us = (time.perf_counter() - began) * 1e6
        received = {str(key): value for key, value in await sent.initial_metadata()}
        return Answer(
            outputs=_outputs(response),
            model_version=response.model_version,
            total_us=total_us,
            upstream_us=number(received.get(UPSTREAM)),
            deployment=str(received.get(PIN, "")),
        )

    async def stream(self, target: Target, call: Call, timeout_s: float) -> AsyncGenerator[Part]:
        """The responses as they come. Closing the iterator cancels the call.

        Raises InferenceFailed; what came before stays true.
        """
        began = time.perf_counter()
        stream = self._stub.ModelStreamInfer(metadata=_metadata(target), timeout=timeout_s)
        deployment = ""
        try:
            await stream.write(request_of(call))
            await stream.done_writing()
            index = 0
            async for message in stream:
                at_us = (time.perf_counter() - began) * 1e6
                if message.error_message:
                    raise InferenceFailed(
                        "InferenceFailed", message.error_message, triton=message.error_message
                    )
                if index == 0:
                    deployment = await _deployment(stream)
                if index >= MAX_RESPONSES:
                    raise InferenceFailed(
                        "TooManyResponses", f"Stopped after {MAX_RESPONSES} responses."
                    )
                response = message.infer_response
                yield Part(index, at_us, _outputs(response), response.model_version, deployment)
                index += 1
        except grpc.aio.AioRpcError as error:
            raise _refused(error) from error
        finally:
            stream.cancel()


async def _deployment(stream: Any) -> str:
    received = {str(key): value for key, value in await stream.initial_metadata()}
    return str(received.get(PIN, ""))


def request_of(call: Call) -> Any:
    request = service_pb2.ModelInferRequest(model_name=call.model, model_version=call.version)
    for tensor in call.inputs:
        request.inputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
        request.raw_input_contents.append(tensor.raw)
    for name in call.outputs:
        request.outputs.add(name=name)
    for key, value in call.parameters.items():
        # why this order: a bool is an int
        if isinstance(value, bool):
            request.parameters[key].bool_param = value
        elif isinstance(value, int):
            request.parameters[key].int64_param = value
        else:
            request.parameters[key].string_param = value
    return request


def _metadata(target: Target) -> tuple[tuple[str, str], ...]:
    return tuple({**target.headers(), "x-shoal-endpoint": target.endpoint}.items())


def _refused(error: grpc.aio.AioRpcError) -> InferenceFailed:
    return InferenceFailed(
        error.code().name,
        error.details() or error.code().name,
        triton=error.details() or "",
        status=error.code().value[0],
    )


def _outputs(response: Any) -> tuple[Tensor, ...]:
    if len(response.raw_output_contents) != len(response.outputs):
        raise InferenceFailed(
            "AnswerUnreadable", "The answer does not carry its tensors as raw contents."
        )
    return tuple(
        Tensor(output.name, output.datatype, tuple(output.shape), raw)
        for output, raw in zip(response.outputs, response.raw_output_contents, strict=True)
    )
