"""The targets: each takes any bytes and raises for what the server must never do."""

import gzip
import random
import re
import tempfile
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import hpack
from google.protobuf.message import DecodeError, Message
from tritonclient.grpc import service_pb2 as pb

from controlplane.console import frames, reading
from controlplane.console.tensors import TensorError
from controlplane.registry import archive as archives
from tests.fuzz.finding import Finding
from tests.fuzz.served import INPUT_LIMIT, Served, Transport, is_json
from tests.support.http2_peer import framed
from worker_runtime.errors import ConfigInvalid
from worker_runtime.protocols.grpc.native import connection as http2
from worker_runtime.protocols.grpc.native import frames as h2
from worker_runtime.protocols.grpc.wire import cut
from worker_runtime.protocols.http.bodies import ChunkedBody
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.errors import HttpRefusal
from worker_runtime.protocols.http.json_parser import read
from worker_runtime.protocols.http.json_values import BadJson
from worker_runtime.repository.config_json import from_json, read_json, to_json
from worker_runtime.repository.pbtxt import parse, places, render
from worker_runtime.repository.validation import validate

_STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3}) ")
_LENGTH = re.compile(rb"\r\nContent-Length: ([0-9]+)\r\n", re.IGNORECASE)
_JSON_LENGTH = re.compile(rb"\r\nInference-Header-Content-Length: ([0-9]+)\r\n", re.IGNORECASE)
_KNOWN = {b"100", b"200", b"400", b"403", b"404", b"405", b"413", b"417", b"431", b"500", b"501",
          b"503", b"505"}  # fmt: skip

PATHS = (
    "/v2/models/simple/infer", "/v2/models/id_bool/infer", "/v2/models/id_uint8/infer",
    "/v2/models/id_int32/infer", "/v2/models/id_int64/infer", "/v2/models/id_fp16/infer",
    "/v2/models/id_fp32/infer", "/v2/models/id_fp64/infer", "/v2/models/id_string/infer",
    "/v2/models/fixed/infer", "/v2/models/seq/infer", "/v2/models/square/infer",
    "/v2/models/id_string/generate", "/v2/models/id_fp32/generate_stream",
    "/v2/repository/index", "/v2/repository/models/simple/load",
    "/v2/repository/models/simple/unload", "/v2/systemsharedmemory/region/r/register",
    "/v2/systemsharedmemory/region/r/unregister", "/v2/cudasharedmemory/region/r/register",
    "/v2/trace/setting", "/v2/models/simple/trace/setting", "/v2/logging",
    "/v2/models/simple/versions/1/infer",
)  # fmt: skip
METHODS = (
    ("ModelInfer", pb.ModelInferRequest), ("ModelStreamInfer", pb.ModelInferRequest),
    ("ServerLive", pb.ServerLiveRequest), ("ModelReady", pb.ModelReadyRequest),
    ("ModelMetadata", pb.ModelMetadataRequest), ("ModelConfig", pb.ModelConfigRequest),
    ("ModelStatistics", pb.ModelStatisticsRequest),
    ("RepositoryIndex", pb.RepositoryIndexRequest),
    ("RepositoryModelLoad", pb.RepositoryModelLoadRequest),
    ("RepositoryModelUnload", pb.RepositoryModelUnloadRequest),
    ("SystemSharedMemoryStatus", pb.SystemSharedMemoryStatusRequest),
    ("SystemSharedMemoryRegister", pb.SystemSharedMemoryRegisterRequest),
    ("SystemSharedMemoryUnregister", pb.SystemSharedMemoryUnregisterRequest),
    ("CudaSharedMemoryRegister", pb.CudaSharedMemoryRegisterRequest),
    ("TraceSetting", pb.TraceSettingRequest), ("LogSettings", pb.LogSettingsRequest),
)  # fmt: skip
PREFIX = "/inference.GRPCInferenceService/"
END_OF_JSON = b"\n--\n"


@cache
def served() -> Served:
    return Served()


# --- HTTP ------------------------------------------------------------------------------------


def http(data: bytes) -> None:
    """Any bytes on an HTTP connection, whole and in pieces; the answers are well formed."""
    if not data:
        return
    _exchange(data[1:], pieces=data[0])


def http_bodies(data: bytes) -> None:
    """A request with a right head and any body: one byte for the path, one for how it is sent."""
    if len(data) < 2:
        return
    path, way, body = PATHS[data[0] % len(PATHS)], data[1], data[2:]
    headers = []
    if way & 1 and END_OF_JSON in body:
        text, _, tail = body.partition(END_OF_JSON)
        headers.append(f"Inference-Header-Content-Length: {len(text)}")
        body = text + tail
    elif way & 2:
        headers.append("Inference-Header-Content-Length: 0")
    if way & 4:
        body = gzip.compress(body, 1) if way & 8 else zlib.compress(body, 1)
        headers.append("Content-Encoding: " + ("gzip" if way & 8 else "deflate"))
    if way & 16:
        headers.append("Accept-Encoding: gzip")
    if way & 32:
        body = b"".join(
            b"%x\r\n%s\r\n" % (len(body[at : at + 100]), body[at : at + 100])
            for at in range(0, len(body), 100)
        )
        body += b"0\r\n\r\n"
        headers.append("Transfer-Encoding: chunked")
    else:
        headers.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode()
    # Sequences may wait for others to end; everybody else is answered.
    output = _exchange(head + body, pieces=way, answered="/seq/" not in path)
    if "/seq/" in path and not output:
        return
    if not _STATUS.match(output):
        raise Finding(f"no answer to a whole request: {output[:200]!r}")


def _exchange(data: bytes, *, pieces: int, answered: bool = False) -> bytes:
    home = served()
    transport = Transport()
    connection = Connection(home.app)
    connection.connection_made(transport)  # type: ignore[arg-type] # enough of one
    transport.protocol = connection
    pieces_of = _cut(data, pieces)
    groups = [[piece] for piece in pieces_of] if pieces & 1 else [pieces_of]
    for group in groups:  # pieces of a group arrive in one turn of the loop
        home.within(lambda group=group: _give(transport, group))
    home.finish(connection, repr(data[:300]), answered=answered)
    if connection in home.app.connections:
        raise Finding("a connection that is lost is still known")
    if b"HEAD " not in data:  # its answers have no bodies
        _check_http(transport.output)
    return transport.output


def _give(transport: Transport, pieces: list[bytes]) -> None:
    """Hand bytes to whichever protocol reads now."""
    for piece in pieces:
        left = piece
        while left and not transport.closed:
            protocol = transport.protocol
            if isinstance(protocol, Connection):
                protocol.data_received(left)
                break
            room = protocol.get_buffer(-1)
            size = min(len(room), len(left))
            room[:size] = left[:size]
            protocol.buffer_updated(size)
            left = left[size:]


def _cut(data: bytes, how: int) -> list[bytes]:
    if how < 128:
        return [data]
    choice = random.Random(how)
    pieces, at = [], 0
    while at < len(data):
        step = choice.choice((1, 2, 7, 64, 1000))
        pieces.append(data[at : at + step])
        at += step
    return pieces


def _check_http(output: bytes) -> None:
    """Every answer has a known status, the length that it says, and JSON where it says JSON."""
    while output:
        match = _STATUS.match(output)
        if match is None or match[1] not in _KNOWN:
            raise Finding(f"not an answer: {output[:200]!r}")
        head, _, rest = output.partition(b"\r\n\r\n")
        if match[1] == b"100":
            output = rest
            continue
        head += b"\r\n"
        length = _LENGTH.search(head)
        if length is None:
            return  # a stream, or an answer to a broken head
        size = int(length[1])
        body, output = rest[:size], rest[size:]
        if len(body) < size:
            raise Finding(f"{len(body)} of {size} bytes: {head!r}")
        json_length = _JSON_LENGTH.search(head)
        text = body[: int(json_length[1])] if json_length else body
        if (
            text
            and b"Content-Encoding" not in head
            and b"application/json" in head
            and not is_json(text)
        ):
            raise Finding(f"not JSON: {text[:200]!r}")
        if match[1] >= b"400" and b'"error"' not in body and body:
            raise Finding(f"an error without words: {body[:200]!r}")


def chunks(data: bytes) -> None:
    """A chunked body gives the same, whole or byte by byte, and never more than the limit."""
    if not data:
        return
    results = []
    for step in (len(data), 1, 1 + data[0] % 7):
        body = ChunkedBody(1000)
        found: Any = None
        try:
            for at in range(0, len(data), step):
                done, rest = body.feed(data[at : at + step])
                if done is not None:
                    found = (done, rest + data[at + step :])
                    break
        except HttpRefusal as refusal:
            found = "malformed" if "malformed" in str(refusal) else str(refusal)
        results.append(found)
    if isinstance(results[0], tuple) and len(results[0][0]) > 1000:
        raise Finding("more than the limit")
    if any(result != results[0] for result in results):
        raise Finding(f"pieces matter: {results!r}")


def json_text(data: bytes) -> None:
    """JSON is read or refused, quickly."""
    try:
        read(data)
    except BadJson as error:
        if not str(error):
            raise Finding("a refusal without a message") from error


# --- gRPC ------------------------------------------------------------------------------------


def grpc_messages(data: bytes) -> None:
    """Any bytes as the messages of a call: one byte for the method, one for how they are sent."""
    if len(data) < 2:
        return
    name, _ = METHODS[data[0] % len(METHODS)]
    body = data[2:]
    messages = body.split(END_OF_JSON) if name == "ModelStreamInfer" else [body]
    payload = b"".join(framed(message) for message in messages)
    if data[1] & 1:
        payload = body  # the framing too is up to the fuzzer
    block = hpack.Encoder().encode(
        [
            (":method", "POST"), (":scheme", "http"), (":path", PREFIX + name),
            (":authority", "x"), ("te", "trailers"), ("content-type", "application/grpc"),
        ]
    )  # fmt: skip
    stream = h2.head(len(block), h2.HEADERS, h2.END_HEADERS, 1) + block
    stream += h2.head(len(payload), h2.DATA, h2.END_STREAM, 1) + payload
    output = _http2(h2.PREFACE + h2.settings({}) + stream, data[1])
    if len(payload) <= INPUT_LIMIT and b"grpc-status" not in output and name != "ModelStreamInfer":
        raise Finding(f"a call without an end: {name}")


def http2_frames(data: bytes) -> None:
    """Any bytes behind the preface of an HTTP/2 connection, or any frames of the right length."""
    if data:
        tail = _framed_frames(data[1:]) if data[0] & 2 else data[1:]
        _http2(h2.PREFACE + h2.settings({}) + tail, data[0])


def _framed_frames(data: bytes) -> bytes:
    """Type, flags, stream and length in a byte each, then the payload: as frames."""
    frames, at = [], 0
    while len(data) - at >= 4:
        kind, flags, stream, size = data[at : at + 4]
        payload = data[at + 4 : at + 4 + size]
        frames.append(h2.head(len(payload), kind, flags, stream) + payload)
        at += 4 + size
    return b"".join(frames)


def _http2(data: bytes, pieces: int) -> bytes:
    home = served()

    transport = Transport()
    made: list[http2.Connection] = []

    def feed() -> None:
        connection = http2.Connection(home.connection_owner)
        made.append(connection)
        connection.connection_made(transport)  # type: ignore[arg-type] # enough of one
        for piece in _cut(data, pieces):
            if not transport.closed:
                connection.data_received(piece)

    home.within(feed)
    (connection,) = made
    home.finish(connection, repr(data[:300]))
    return transport.output


def grpc_wire(data: bytes) -> None:
    """Where our own reading of ModelInferRequest takes a message, protobuf reads the same."""
    parts = cut(data)
    if parts is None:
        return
    try:
        whole = pb.ModelInferRequest.FromString(data)
    except DecodeError:
        return  # then its head cannot be read either
    mine = (parts.name, parts.version, parts.id, [bytes(raw) for raw in parts.raw])
    theirs = (whole.model_name, whole.model_version, whole.id, list(whole.raw_input_contents))
    if mine != theirs:
        raise Finding(f"{mine!r} is not {theirs!r}")


# --- configurations --------------------------------------------------------------------------


def config_text(data: bytes) -> None:
    """config.pbtxt is read or refused with a place; what is read survives printing."""
    text = data.decode("utf-8", "replace")
    found = places(text)
    try:
        config = parse(text)
    except ConfigInvalid as error:
        if any(p.line < 1 or p.column < 1 or not p.message for p in error.problems):
            raise Finding(f"a problem without a place: {error.problems!r}") from error
        return
    _same(parse(render(config)), config)
    _same(from_json(to_json(config)), config)
    for problem in validate(config, found):
        if not problem.message:
            raise Finding("a problem without a message")


def config_json(data: bytes) -> None:
    """JSON of a configuration is read or refused."""
    try:
        config, _ = read_json(data)
    except ConfigInvalid as error:
        if not str(error):
            raise Finding("a refusal without a message") from error
        return
    _same(from_json(to_json(config)), config)
    for problem in validate(config, {}):
        if not problem.message:
            raise Finding("a problem without a message")


def _same(one: Message, other: Message) -> None:
    # why serialised: NaN is not equal to itself.
    if one != other and one.SerializeToString(deterministic=True) != other.SerializeToString(
        deterministic=True
    ):
        raise Finding(f"not the same after a round trip:\n{one}\n--\n{other}")


# --- the control plane -----------------------------------------------------------------------

_SMALL = archives.Limits(max_bytes=1 << 20, max_entries=100, max_ratio=200, room=1 << 20)


def archive(data: bytes) -> None:
    """An archive is unpacked below its folder within its limits, or refused with a message."""
    with tempfile.TemporaryDirectory() as folder:
        packed, target = Path(folder) / "packed", Path(folder) / "target"
        packed.write_bytes(data)
        target.mkdir()
        try:
            said = archives.unpack(packed, target, _SMALL)
        except archives.Refused as refused:
            if not refused.answer["message"]:
                raise Finding("a refusal without a message") from refused
            said = None
        if sorted(item.name for item in Path(folder).iterdir()) != ["packed", "target"]:
            raise Finding("written outside")
        there = list(target.rglob("*"))
        if any(item.is_symlink() or not (item.is_dir() or item.is_file()) for item in there):
            raise Finding("a link or a special file")
        sizes = [item.stat().st_size for item in there if item.is_file()]
        if sum(sizes) > _SMALL.max_bytes or len(there) > _SMALL.max_entries * archives.MAX_DEPTH:
            raise Finding("more than the limits")
        if said is not None and (said.files, said.bytes) != (len(sizes), sum(sizes)):
            raise Finding(f"{said} is not what was written: {sizes}")


def socket_frames(data: bytes) -> None:
    """What a browser sends over the sockets is understood or refused; both quickly."""
    text = data.decode("utf-8", "replace")
    with suppress(frames.BadRequest):
        frames.parse(text)
    try:
        request = reading.parse(text)
        arriving = reading.Arriving.of(request)
        for _ in range(min(arriving.missing, 4)):
            arriving.add(b"\0" * 8)
        reading.names(request)
        reading.parameters(request)
        arriving.inputs()
    except (frames.BadRequest, TensorError) as refused:
        frames.error("BadRequest", str(refused))
