"""The transport on grpcio's asyncio server: calls of ours over contexts of theirs.

The only module that knows grpcio; what calls do is in ``service``.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc

from worker_runtime.observability.requests.watched import id_of
from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.grpc.native.messages import MessageFault, unreadable
from worker_runtime.protocols.grpc.service import MODEL_STREAM_INFER, Service
from worker_runtime.protocols.grpc.transport import Handler, Parts, fitting
from worker_runtime.protocols.inflating import InflateFault, inflate
from worker_runtime.types.listening import CompressionLevel, GrpcOptions, TlsFiles, inherited

_MAX_MESSAGE_BYTES = 2**31 - 1
_NO_LIMIT = 2**31 - 1
_QUEUE_BYTES = 4 * 1024 * 1024  # answers kept for a slow reader before its stream is told
_CODES = {code.value[0]: code for code in grpc.StatusCode}
# gRPC ranks gzip before deflate and takes the first for low, a later one for the other levels.
_COMPRESSION = {
    CompressionLevel.LOW: grpc.Compression.Gzip,
    CompressionLevel.MEDIUM: grpc.Compression.Deflate,
    CompressionLevel.HIGH: grpc.Compression.Deflate,
}


class GrpcioServer:
    """``port`` is the real one after ``start``."""

    def __init__(
        self,
        service: Service,
        address: str,
        port: int,
        options: GrpcOptions,
        admission: ConnectionAdmission,  # noqa: ARG002 # grpcio does not tell of its connections
        *,
        reuse_port: bool = False,
        descriptor: int | None = None,
    ) -> None:
        self._service = service
        self._address = address
        self.port = port
        self._options = options
        self._reuse_port = reuse_port
        self._descriptor = descriptor
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken or a TLS file cannot be used."""
        options = channel_options(self._options, reuse_port=self._reuse_port)
        server = grpc.aio.server(options=options)
        router = _Router(self._service, self._options.compression, self._options.max_inflated_bytes)
        server.add_generic_rpc_handlers((router,))
        if handed := inherited(self._descriptor):
            # gRPC takes no socket of others: it opens its own in the place of this one.
            with handed:
                self._address, self.port = handed.getsockname()[:2]
        where = f"{self._address}:{self.port}"
        try:
            if self._options.tls is None:
                bound = server.add_insecure_port(where)
            else:
                bound = server.add_secure_port(where, credentials(self._options.tls))
        except RuntimeError as error:
            raise OSError(f"cannot listen on {where}: {error}") from error
        if not bound:
            raise OSError(f"cannot listen on {where}")
        self.port = bound
        await server.start()
        self._server = server

    async def close(self, grace_s: float) -> None:
        """Refuse new calls, let running ones end within ``grace_s`` seconds."""
        if self._server is not None:
            await self._server.stop(grace_s)


def channel_options(given: GrpcOptions, *, reuse_port: bool) -> list[tuple[str, int]]:
    """Settings of the listener in gRPC's names."""
    keepalive = given.keepalive
    options = [
        # why: gRPC unpacks without any limit; ``_plain`` does it instead.
        ("grpc.per_message_decompression", 0),
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
        # why: gRPC would otherwise drop calls that come faster than Python picks them up.
        ("grpc.server.max_pending_requests", _NO_LIMIT),
        ("grpc.server.max_pending_requests_hard_limit", _NO_LIMIT),
        ("grpc.so_reuseport", int(reuse_port)),
        ("grpc.keepalive_time_ms", keepalive.time_ms),
        ("grpc.keepalive_timeout_ms", keepalive.timeout_ms),
        ("grpc.keepalive_permit_without_calls", int(keepalive.permit_without_calls)),
        ("grpc.http2.max_pings_without_data", keepalive.max_pings_without_data),
        (
            "grpc.http2.min_recv_ping_interval_without_data_ms",
            keepalive.min_recv_ping_interval_without_data_ms,
        ),
        ("grpc.http2.max_ping_strikes", keepalive.max_ping_strikes),
    ]
    if keepalive.max_connection_age_ms:
        options.append(("grpc.max_connection_age_ms", keepalive.max_connection_age_ms))
    if keepalive.max_connection_age_grace_ms:
        options.append(("grpc.max_connection_age_grace_ms", keepalive.max_connection_age_grace_ms))
    return options


def credentials(files: TlsFiles) -> Any:
    """Raises OSError when a file cannot be read."""

    def content(path: str) -> bytes | None:
        return Path(path).read_bytes() if path else None

    key, certificate = content(files.server_key), content(files.server_cert)
    if key is None or certificate is None:
        raise OSError("gRPC over TLS needs --grpc-server-cert and --grpc-server-key")
    return grpc.ssl_server_credentials(
        [(key, certificate)],
        root_certificates=content(files.root_cert),
        require_client_auth=files.mutual,
    )


class _Router(grpc.GenericRpcHandler):  # type: ignore[misc] # grpcio has no types
    """Finds the method of a call; grpcio refuses unknown ones itself."""

    def __init__(self, service: Service, level: CompressionLevel, limit: int) -> None:
        compression = _COMPRESSION.get(level)
        self._methods = {path: _unary(service, path, limit) for path in service.paths}
        if compression is not None:
            for path in self._methods:
                if path.endswith("/ModelInfer"):
                    self._methods[path] = _unary(service, path, limit, compression)
        self._methods[MODEL_STREAM_INFER] = _stream(service, MODEL_STREAM_INFER, limit, compression)

    def service(self, handler_call_details: Any) -> Any:
        return self._methods.get(handler_call_details.method)


class _Call:
    """What grpcio's contexts and ours have in common."""

    __slots__ = ("_context", "finished", "late", "path", "status", "text")

    def __init__(self, path: str, context: Any) -> None:
        self.path = path
        self._context = context
        self.finished = False
        self.status = 0
        self.text = ""
        self.late = False

    def release(self, size: int) -> None:
        """What is held is gRPC's own affair here."""

    async def aborted(self) -> None:
        """End it with its status, which is an error."""
        if self.late:
            await self._context.send_initial_metadata(())
        await self._context.abort(_CODES[self.status], fitting(self.text))

    @property
    def head(self) -> "_Call":
        return self

    @property
    def metadata(self) -> list[tuple[str, str]]:
        return [
            (name, value if isinstance(value, str) else value.decode("latin-1"))
            for name, value in self._context.invocation_metadata() or ()
        ]

    @property
    def request_id(self) -> bytes:
        return id_of(self.metadata)


class _UnaryCall(_Call):
    """A call whose coroutine waits on ``future``, if there is anything to wait for."""

    __slots__ = ("future", "reply")

    def __init__(self, path: str, context: Any) -> None:
        super().__init__(path, context)
        self.reply = b""
        self.future: asyncio.Future[None] | None = None

    @property
    def congested(self) -> bool:
        return False

    def answer(self, parts: Parts, size: int) -> None:  # noqa: ARG002 # a Call's shape
        self.reply = b"".join(parts)
        self.finish(0)

    send = answer

    def finish(self, status: int, message: str = "", *, late: bool = False) -> None:
        if self.finished:
            return
        self.finished, self.status, self.text = True, status, message
        self.late = late
        if self.future is not None and not self.future.done():
            self.future.set_result(None)

    def pause(self) -> None:
        return

    def resume(self) -> None:
        return


def _unary(service: Service, path: str, limit: int, compression: Any = None) -> Any:
    loop = asyncio.get_running_loop()

    async def serve(data: bytes, context: Any) -> bytes:
        call = _UnaryCall(path, context)
        data = await _plain(data, limit, context)
        handler = service.open(call)
        if handler is not None:
            handler.message(data)
            if not call.finished:
                call.future = loop.create_future()
                try:
                    await call.future
                except asyncio.CancelledError:  # the client hung up, or its deadline passed
                    handler.cancel()
                    raise
        if call.status:
            await call.aborted()
        if compression is not None:
            context.set_compression(compression)
        return call.reply

    return grpc.unary_unary_rpc_method_handler(serve)


class _StreamCall(_Call):
    """Answers wait in ``outgoing`` for the one coroutine that may write."""

    __slots__ = ("_reported_congested", "_resumed", "_wake", "outgoing", "queued")

    def __init__(self, path: str, context: Any) -> None:
        super().__init__(path, context)
        self.outgoing: deque[bytes] = deque()
        self.queued = 0
        self._reported_congested = False
        self._wake: asyncio.Future[None] | None = None
        self._resumed: asyncio.Event = asyncio.Event()
        self._resumed.set()

    @property
    def congested(self) -> bool:
        if self.queued > _QUEUE_BYTES:
            self._reported_congested = True
            return True
        return False

    def answer(self, parts: Parts, size: int) -> None:
        self.send(parts, size)
        self.finish(0)

    def send(self, parts: Parts, size: int) -> None:
        if self.finished:
            return
        self.outgoing.append(b"".join(parts))
        self.queued += size
        self._notify()

    def finish(self, status: int, message: str = "", *, late: bool = False) -> None:
        if self.finished:
            return
        self.finished, self.status, self.text = True, status, message
        self.late = late
        self._notify()

    def pause(self) -> None:
        self._resumed.clear()

    def resume(self) -> None:
        self._resumed.set()

    async def may_read(self) -> None:
        await self._resumed.wait()

    async def something_to_do(self) -> None:
        if not self.outgoing and not self.finished:
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake

    async def write_all(self, handler: Handler) -> None:
        """Hand over what waits; each message as fast as the client takes it."""
        while self.outgoing:
            message = self.outgoing.popleft()
            await self._context.write(message)
            self.queued -= len(message)
            if self._reported_congested and self.queued <= _QUEUE_BYTES // 2:
                self._reported_congested = False
                handler.drained()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


def _stream(service: Service, path: str, limit: int, compression: Any = None) -> Any:
    async def serve(messages: AsyncIterator[bytes], context: Any) -> None:
        if compression is not None:
            context.set_compression(compression)
        call = _StreamCall(path, context)
        handler = service.open(call)
        if handler is None:
            await call.aborted()
            return
        reader = asyncio.ensure_future(_read(messages, call, handler, limit))
        try:
            while call.outgoing or not call.finished:
                await call.something_to_do()
                await call.write_all(handler)
        except BaseException:  # why so wide: whatever ended the call, its requests must end too
            handler.cancel()
            raise
        finally:
            reader.cancel()
        if call.status:
            await call.aborted()

    return grpc.stream_stream_rpc_method_handler(serve)


async def _read(
    messages: AsyncIterator[bytes], call: _StreamCall, handler: Handler, limit: int
) -> None:
    async for data in messages:
        try:
            plain = await _unpacked(data, limit)
        except MessageFault as fault:
            call.finish(fault.status, str(fault))
            handler.cancel()
            return
        handler.message(plain)
        await call.may_read()
    handler.half_close()


async def _plain(data: bytes, limit: int, context: Any) -> bytes:
    """The message of a unary call, which ends when it cannot be unpacked."""
    try:
        return await _unpacked(data, limit)
    except MessageFault as fault:
        await context.abort(_CODES[fault.status], str(fault))
        raise


async def _unpacked(data: bytes, limit: int) -> bytes:
    """Raises MessageFault."""
    coding = _coding(data)
    if not coding:
        return data
    plain: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def failed(fault: InflateFault) -> None:
        if not plain.done():
            plain.set_exception(unreadable(fault, coding, limit))

    def done(found: bytes) -> None:
        if not plain.done():
            plain.set_result(found)

    working = inflate(data, coding, limit, done, failed)
    try:
        return await plain
    finally:
        if working is not None:
            working.cancel()


def _coding(data: bytes) -> str:
    """How a message is compressed, which grpcio knows and does not tell; "" for not at all.

    No message of ours begins so: their first byte names a field, and there are none of number 3
    with a wire type of 7, nor of number 15.
    """
    if data[:2] == b"\x1f\x8b":
        return "gzip"
    return "deflate" if data[:1] == b"\x78" and int.from_bytes(data[:2]) % 31 == 0 else ""
