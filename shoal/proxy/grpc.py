"""The gRPC port: every call goes on as bytes, with the endpoint's name and key as metadata."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

ENDPOINT, PIN = "x-shoal-endpoint", "azureml-model-deployment"
THREADS = 64
LONGEST_S = 10 * 365 * 86_400
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def _same(content: bytes) -> bytes:
    return content


class Forwarding(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio has no types
    """Every method goes on as a stream of bytes both ways; a unary call is one of length one."""

    def __init__(self, channel: grpc.Channel, metadata: tuple[tuple[str, str], ...]) -> None:
        self._channel, self._metadata = channel, metadata

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        own = {name for name, _ in self._metadata}
        metadata = [
            (name, value)
            for name, value in details.invocation_metadata
            if name not in own and not name.startswith(("grpc-", ":")) and name != "user-agent"
        ] + list(self._metadata)
        call = self._channel.stream_stream(details.method, _same, _same)

        def forward(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
            left_s = context.time_remaining()  # without a deadline: centuries, or None
            deadline = left_s if left_s is not None and left_s < LONGEST_S else None
            upstream = call(requests, metadata=metadata, timeout=deadline)
            context.add_callback(upstream.cancel)
            try:
                yield from upstream
            except grpc.RpcError as error:
                failed: Any = error
                context.abort(failed.code(), failed.details() or "")

        return grpc.stream_stream_rpc_method_handler(forward, _same, _same)


def serve(
    target: str,
    authority: bytes | None,
    metadata: tuple[tuple[str, str], ...],
    host: str,
    port: int,
) -> tuple[grpc.Server, int]:
    """The started server and its port. Raises OSError when the port is taken."""
    channel = grpc.secure_channel(
        target, grpc.ssl_channel_credentials(root_certificates=authority), OPTIONS
    )
    server = grpc.server(
        ThreadPoolExecutor(THREADS, thread_name_prefix="proxy-grpc"),
        [Forwarding(channel, metadata)],
        options=[*OPTIONS, ("grpc.so_reuseport", 0)],
    )
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError as error:
        raise OSError(f"port {port}: {error}") from error
    server.start()
    return server, bound
