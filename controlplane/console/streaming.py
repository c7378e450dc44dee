"""Calls to models that answer several times, or not at all: one gRPC stream per call."""

import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import grpc
from tritonclient.grpc import service_pb2_grpc

from controlplane.console.inference import (
    PIN,
    Call,
    InferenceFailed,
    Target,
    grpc_metadata,
    grpc_refused,
    grpc_request,
    parse_grpc,
)
from controlplane.console.tensors import Tensor

MAX_RESPONSES = 10_000


@dataclass(frozen=True, slots=True)
class Part:
    """One response of a stream. ``at_us`` counts from when the call was sent."""

    index: int
    at_us: float
    outputs: tuple[Tensor, ...]
    model_version: str
    deployment: str


async def stream_grpc(
    channel: grpc.aio.Channel, target: Target, call: Call, timeout_s: float
) -> AsyncGenerator[Part]:
    """The responses as they come. Closing the iterator cancels the call.

    Raises InferenceFailed; what came before stays true.
    """
    stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
    began = time.perf_counter()
    stream = stub.ModelStreamInfer(metadata=grpc_metadata(target), timeout=timeout_s)
    deployment = ""
    try:
        await stream.write(grpc_request(call))
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
            yield Part(index, at_us, parse_grpc(response), response.model_version, deployment)
            index += 1
    except grpc.aio.AioRpcError as error:
        raise grpc_refused(error) from error
    finally:
        stream.cancel()


async def _deployment(stream: Any) -> str:
    received = {str(key): value for key, value in await stream.initial_metadata()}
    return str(received.get(PIN, ""))
