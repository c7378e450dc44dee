"""The gRPC listener: the service behind a transport."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from worker_runtime.observability.metrics.connections import Load, Refusals
from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.grpc.native.server import NativeServer
from worker_runtime.protocols.grpc.service import Service
from worker_runtime.protocols.grpc.simple import Query
from worker_runtime.types.listening import ConnectionLimits, GrpcFrontend, GrpcOptions, TlsFiles

_DEFAULTS = GrpcOptions()


class Transport(Protocol):
    """What listens, under the service."""

    port: int

    async def start(self) -> None:
        """Listen. Raises OSError."""

    async def close(self, grace_s: float) -> None:
        """Let running calls end within ``grace_s`` seconds."""


class GrpcServer:
    """``port`` is the real one after ``start``. ``control`` as for ``Service``."""

    def __init__(
        self,
        engine: Engine,
        address: str,
        port: int,
        options: GrpcOptions = _DEFAULTS,
        admission: ConnectionAdmission | None = None,
        *,
        reuse_port: bool = False,
        descriptor: int | None = None,
        control: Mapping[str, Query] | None = None,
    ) -> None:
        self._tls = options.tls
        service = Service(
            engine,
            restrictions=options.restrictions,
            forward_pattern=options.forward_pattern,
            control=control,
        )
        admission = admission or ConnectionAdmission(ConnectionLimits(), Refusals())
        make: Callable[..., Transport] = NativeServer
        if options.frontend is GrpcFrontend.GRPCIO:
            # why here: gRPC is 15 ms and 10 MB for each server that starts, and few use it
            from worker_runtime.protocols.grpc.grpcio import GrpcioServer  # noqa: PLC0415

            make = GrpcioServer
        self._transport = make(
            *(service, address, port, options, admission),
            reuse_port=reuse_port,
            descriptor=descriptor,
        )

    @property
    def port(self) -> int:
        return self._transport.port

    @property
    def load(self) -> Load | None:
        """None with grpcio, which does not tell."""
        transport = self._transport
        return transport.load if isinstance(transport, NativeServer) else None

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken or a TLS file cannot be used."""
        if self._tls is not None:
            _check_files(self._tls)
        await self._transport.start()

    async def close(self, grace_s: float) -> None:
        """Refuse new calls, let running ones end within ``grace_s`` seconds."""
        await self._transport.close(grace_s)


def _check_files(files: TlsFiles) -> None:
    """Raises OSError, naming the file: TLS libraries tell neither which nor why."""
    for path in (files.server_cert, files.server_key, files.root_cert):
        if path:
            Path(path).read_bytes()
