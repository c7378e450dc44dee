"""The gRPC listener on grpc.aio."""

import grpc
from grpc_health.v1 import health_pb2_grpc
from tritonclient.grpc import service_pb2_grpc

from worker_runtime.core.engine import Engine
from worker_runtime.protocols.grpc.servicer import HealthServicer, InferenceServicer

_MAX_MESSAGE_BYTES = 2**31 - 1
_OPTIONS = (
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
    ("grpc.http2.max_ping_strikes", 2),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 300_000),
)


class GrpcServer:
    """``port`` is the real one after ``start``."""

    def __init__(self, engine: Engine, address: str, port: int) -> None:
        self._engine = engine
        self._address = address
        self.port = port
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken."""
        server = grpc.aio.server(options=_OPTIONS)
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(
            InferenceServicer(self._engine), server
        )
        health_pb2_grpc.add_HealthServicer_to_server(HealthServicer(self._engine), server)
        try:
            bound = server.add_insecure_port(f"{self._address}:{self.port}")
        except RuntimeError as error:
            raise OSError(f"cannot listen on {self._address}:{self.port}: {error}") from error
        if not bound:
            raise OSError(f"cannot listen on {self._address}:{self.port}")
        self.port = bound
        await server.start()
        self._server = server

    async def close(self, grace_s: float) -> None:
        """Refuse new calls, let running ones end within ``grace_s`` seconds."""
        if self._server is not None:
            await self._server.stop(grace_s)
