# ruff: noqa: E501 # tokens of other languages
"""What the fuzzers start from: the cases of the conformance tests, and tokens of each language."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hpack
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2
from tritonclient.grpc import service_pb2 as pb

from tests.fuzz import agent_seeds, gateway_headers, verdict_seeds
from tests.fuzz.targets import END_OF_JSON, METHODS, PATHS, PREFIX
from tests.support import builtin_models
from tests.support.http2_peer import framed
from worker_runtime.protocols.grpc.native import frames as h2

_CASES = Path(__file__).parents[1] / "conformance"
_WHOLE, _SINGLE = 255, 255  # the first byte of targets that cut their input

_TYPES = {
    "id_bool": ("BOOL", [True, False]), "id_uint8": ("UINT8", [0, 255]),
    "id_int32": ("INT32", [-1, 2147483647]), "id_int64": ("INT64", [-(2**63), 2**63 - 1]),
    "id_fp16": ("FP16", [1, 2]), "id_fp32": ("FP32", [0.1, 1e30]),
    "id_fp64": ("FP64", [0.1, 1e300]), "id_string": ("BYTES", ["a", "\u00e4\n"]),
}  # fmt: skip
_PARAMETERS: list[dict[str, Any]] = [
    {}, {"priority": 1, "timeout": 5}, {"sequence_id": 5, "sequence_start": True},
    {"sequence_id": "a", "sequence_end": True}, {"binary_data_output": True},
    {"triton_enable_empty_final_response": True}, {"a": 1.5, "b": "c", "d": None, "e": [1]},
]  # fmt: skip


def _requests() -> Iterator[tuple[str, Any]]:
    for model, (datatype, values) in _TYPES.items():
        for parameters in _PARAMETERS:
            one = {"name": "INPUT0", "datatype": datatype, "shape": [1, 2], "data": values}
            yield (
                f"/v2/models/{model}/infer",
                {
                    "id": "7",
                    "inputs": [one],
                    "parameters": parameters,
                    "outputs": [{"name": "OUTPUT0", "parameters": {"classification": 2}}],
                },
            )
    sixteen = {"datatype": "INT32", "shape": [1, 16], "data": list(range(16))}
    two = [{"name": "INPUT0", **sixteen}, {"name": "INPUT1", **sixteen}]
    yield "/v2/models/simple/infer", {"inputs": two}
    yield "/v2/models/square/infer", {"inputs": [{"name": "IN", "datatype": "INT32",
                                                  "shape": [1], "data": [2]}]}  # fmt: skip
    yield "/v2/models/id_string/generate", {"INPUT0": "hello", "parameters": {"k": 1}}
    yield "/v2/models/id_fp32/generate_stream", {"INPUT0": [1, 2.5], "id": "x"}
    yield "/v2/repository/index", {"ready": True}
    yield "/v2/repository/models/simple/load", {"parameters": {"config": "{}", "file:a": "eA=="}}
    yield "/v2/repository/models/simple/unload", {"parameters": {"unload_dependents": True}}
    yield (
        "/v2/systemsharedmemory/region/r/register",
        {"key": "/no-such-region", "offset": 0, "byte_size": 8},
    )
    yield (
        "/v2/cudasharedmemory/region/r/register",
        {"raw_handle": {"b64": "AAAA"}, "device_id": 0, "byte_size": 8},
    )
    yield "/v2/trace/setting", {"trace_level": ["TIMESTAMPS"], "trace_rate": "1"}
    yield "/v2/models/simple/trace/setting", {"trace_count": "-1", "log_frequency": None}
    yield "/v2/logging", {"log_info": False, "log_verbose_level": 0, "log_format": "ISO8601"}


def http() -> Iterator[bytes]:
    for path, body in _requests():
        text = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(text)}\r\n\r\n"
        yield bytes([_WHOLE]) + head.encode() + text
    for path in ("/v2", "/v2/health/ready", "/v2/models/simple/config", "/v2/models/stats", "/"):
        yield b"\x01GET %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip;q=0.5\r\n\r\n" % (
            path.encode()
        )
    yield b"\x03POST /v2/models/fixed/infer HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"  # one request
    yield b"\xffPOST /v2/models/fixed/infer HTTP/1.1\r\nInference-Header-Content-Length: 0\r\nContent-Length: 16\r\n\r\n0123456789abcdef"
    yield b"\xffPOST /v2/repository/index HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n"


def http_bodies() -> Iterator[bytes]:
    for path, body in _requests():
        start = bytes([PATHS.index(path)])
        text = json.dumps(body).encode()
        for way in (0xC0, 0xD4, 0xE0):
            yield start + bytes([way]) + text
    bits = {"name": "INPUT0", "datatype": "FP32", "shape": [1, 2],
            "parameters": {"binary_data_size": 8}}  # fmt: skip
    text = json.dumps({"inputs": [bits], "parameters": {"binary_data_output": True}}).encode()
    yield bytes([PATHS.index("/v2/models/id_fp32/infer"), 0xD1]) + text + END_OF_JSON + b"\0" * 8
    yield bytes([PATHS.index("/v2/models/id_string/infer"), 0xC2]) + b"raw"
    for case in json.loads((_CASES / "http_cases.json").read_text()):
        if isinstance(case.get("body"), str | dict | list):
            body = case["body"]
            yield b"\x00\xc0" + (body if isinstance(body, str) else json.dumps(body)).encode()


def chunks() -> Iterator[bytes]:
    yield b"5\r\nhello\r\n0\r\n\r\nGET /"
    yield b"5;a=b\r\nhello\r\n3 \r\nabc\r\n0\r\nX: y\r\n\r\n"
    yield b"3e9\r\n"
    yield b"0\r\n\r\n"


def json_text() -> Iterator[bytes]:
    for _, body in _requests():
        yield json.dumps(body).encode()
    yield b'{"a":[NaN,-Infinity,Inf,1e400,-0.0,1E+2],"a":"\\ud83d\\ude00\\u00e4\xff","b":{}}'


def _messages() -> Iterator[tuple[str, bytes]]:
    for case in json.loads((_CASES / "grpc_cases.json").read_text()):
        message = text_format.Parse(case["request"], pb.ModelInferRequest())
        if message.model_name == "fixed" and message.inputs:
            message.inputs[0].name = "INPUT0"
        yield "ModelInfer", message.SerializeToString()
        yield "ModelStreamInfer", message.SerializeToString()
    for model, (datatype, _) in _TYPES.items():
        message = pb.ModelInferRequest(model_name=model, id="7", model_version="1")
        message.inputs.add(name="INPUT0", datatype=datatype, shape=[1, 2])
        message.outputs.add(name="OUTPUT0").parameters["classification"].int64_param = 1
        message.parameters["triton_enable_empty_final_response"].bool_param = True
        message.raw_input_contents.append(b"\0" * 8)
        yield "ModelStreamInfer", END_OF_JSON.join([message.SerializeToString()] * 2)
    trace = pb.TraceSettingRequest(model_name="simple")
    trace.settings["trace_rate"].value.append("5")
    log = pb.LogSettingsRequest()
    log.settings["log_verbose_level"].uint32_param = 0
    load = pb.RepositoryModelLoadRequest(model_name="simple")
    load.parameters["config"].string_param = "{}"
    shm = pb.SystemSharedMemoryRegisterRequest(name="r", key="/none", offset=1, byte_size=8)
    yield "TraceSetting", trace.SerializeToString()
    yield "LogSettings", log.SerializeToString()
    yield "RepositoryModelLoad", load.SerializeToString()
    yield "SystemSharedMemoryRegister", shm.SerializeToString()
    for name, kind in METHODS:
        fields = (
            {"name": "simple", "version": "1"} if "name" in kind.DESCRIPTOR.fields_by_name else {}
        )
        known = {
            key: value for key, value in fields.items() if key in kind.DESCRIPTOR.fields_by_name
        }
        yield name, kind(**known).SerializeToString()


def grpc_messages() -> Iterator[bytes]:
    numbers = {name: number for number, (name, _) in enumerate(METHODS)}
    for name, message in _messages():
        yield bytes([numbers[name], 0xFE]) + message


def grpc_wire() -> Iterator[bytes]:
    for name, message in _messages():
        if name == "ModelInfer":
            yield message


def http2_frames() -> Iterator[bytes]:
    headers = [
        (":method", "POST"), (":scheme", "http"), (":path", PREFIX + "ServerLive"),
        (":authority", "x"), ("te", "trailers"), ("content-type", "application/grpc"),
        ("grpc-timeout", "5S"), ("grpc-encoding", "gzip"), ("x-bin", "AAA"),
    ]  # fmt: skip
    block = hpack.Encoder().encode(headers)
    opened = h2.head(len(block), h2.HEADERS, h2.END_HEADERS, 1) + block
    yield b"\xff" + opened + h2.head(5, h2.DATA, h2.END_STREAM, 1) + framed(b"")
    yield (
        b"\x01" + h2.ping(b"12345678") + h2.window_update(0, 100) + h2.settings({4: 100, 5: 20000})
    )
    yield (
        b"\xff"
        + opened
        + h2.rst_stream(1, h2.ErrorCode.CANCEL)
        + h2.goaway(1, h2.ErrorCode.NO_ERROR, "x")
    )
    message = framed(pb.ServerLiveRequest().SerializeToString())
    short = hpack.Encoder().encode(headers[:6])
    open_call = bytes([h2.HEADERS, h2.END_HEADERS, 1, len(short)]) + short
    yield b"\xfe" + open_call + bytes([h2.DATA, h2.END_STREAM, 1, 5]) + message
    yield (
        b"\x02"
        + open_call
        + open_call.replace(b"\x01", b"\x03", 1)
        + bytes([h2.RST_STREAM, 0, 1, 4, 0, 0, 0, 8, h2.PING, 0, 0, 8])
        + b"12345678"
    )
    yield (
        b"\xfe"
        + bytes([h2.SETTINGS, 0, 0, 6, 0, 4, 0, 0, 0, 1])
        + open_call
        + bytes([h2.DATA, h2.END_STREAM, 1, 5])
        + message
        + bytes([h2.WINDOW_UPDATE, 0, 1, 4, 0, 0, 1, 0])
    )
    half = len(block) // 2
    yield (
        b"\xff"
        + h2.head(half, h2.HEADERS, 0, 1)
        + block[:half]
        + h2.head(len(block) - half, h2.CONTINUATION, h2.END_HEADERS, 1)
        + block[half:]
        + h2.head(8, h2.DATA, h2.PADDED | h2.END_STREAM, 1)
        + b"\x02"
        + framed(b"")
        + b"\0\0"
    )


def config_text() -> Iterator[bytes]:
    for text in (builtin_models.IDENTITY, builtin_models.REPEAT, builtin_models.SQUARE):
        yield text.encode()
    yield b"""name: "m" platform: 'onnxruntime_onnx' max_batch_size: 0x8 # words
input < name: "a" "b" data_type: TYPE_FP32; dims: [ -1, 3 ]; reshape { shape: [ ] } >
parameters { key: "k" value: { string_value: "v\\n\\x41\\101" } }, metric_tags { key: "a" }
dynamic_batching { preferred_batch_size: [ 4, 8 ] priority_queue_policy { key: 1 value { } } }
instance_group [ { kind: KIND_GPU gpus: [ 0 ] rate_limiter { resources [ { name: "r" count: 1 } ] } } ]
sequence_batching { direct { minimum_slot_utilization: 1.5e-3 } control_input [ { name: "C"
 control [ { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } ] } ] }
ensemble_scheduling { step [ { model_name: "x" model_version: -1 input_map { key: "a" value: "b" } } ] }
version_policy { specific { versions: [ 1, 2 ] } } model_warmup { name: "w" batch_size: 1 inputs { key: "a"
 value { data_type: TYPE_STRING dims: 1 zero_data: true } } } response_cache { enable: true }"""


def config_json() -> Iterator[bytes]:
    yield b'{"name":"m","max_batch_size":"8","input":[{"name":"a","data_type":"TYPE_FP32","dims":["-1",3]}]}'
    yield b'{"parameters":{"k":{"string_value":"v"}},"dynamic_batching":{"priority_queue_policy":{"1":{}}}}'
    yield b'{"instance_group":[{"kind":"KIND_CPU","count":2}],"maxBatchSize":4,"output":[]}'
    yield b'{"ensemble_scheduling":{"step":[{"model_name":"x","model_version":-1,"input_map":{"a":"b"}}]}}'


def archive() -> Iterator[bytes]:
    names = ("net/1/model.onnx", "net/config.pbtxt", "../evil", "/abs", "a\\b", "a%2e", "x" * 300)
    for name in names:
        zipped, tarred = io.BytesIO(), io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as container:
            container.writestr(name, b"0123456789")
        with tarfile.open(fileobj=tarred, mode="w") as stream:
            stream.addfile(tarfile.TarInfo(name))
            for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
                member = tarfile.TarInfo(f"{name}.{kind.decode()}")
                member.type, member.linkname = kind, "../../etc/passwd"
                stream.addfile(member)
        yield zipped.getvalue()
        yield tarred.getvalue()
        yield gzip.compress(tarred.getvalue(), mtime=0)


def socket_frames() -> Iterator[bytes]:
    yield b'{"op":"sub","topic":"endpoint:digits","range":60,"after_seq":7}'
    yield b'{"op":"rate","hz":0.5}'
    one = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, "NaN"]}
    two = {"name": "y", "datatype": "BYTES", "shape": [1], "data": {"b64": "AAAAAA=="}}
    three = {"name": "z", "datatype": "INT64", "shape": [1], "data": {"frames": 1}}
    parameters = {"sequence_id": "7", "priority": 1}
    yield json.dumps(
        {"op": "infer", "id": "1", "inputs": [one, two, three], "outputs": ["o"],
         "parameters": parameters}
    ).encode()  # fmt: skip
    yield b"[" * 2000


SEEDS = {
    "http": http,
    "http_bodies": http_bodies,
    "chunks": chunks,
    "json_text": json_text,
    "grpc_messages": grpc_messages,
    "grpc_wire": grpc_wire,
    "http2_frames": http2_frames,
    "config_text": config_text,
    "config_json": config_json,
    "archive": archive,
    "socket_frames": socket_frames,
    "verdict": verdict_seeds.seeds,
    "agent_messages": agent_seeds.seeds,
    "gateway_headers": gateway_headers.seeds,
}
_HTTP = [
    "HTTP/1.1", "HTTP/1.0", "POST ", "GET ", "\r\n\r\n", "Content-Length: ", "Connection: close",
    "Transfer-Encoding: chunked", "Inference-Header-Content-Length: ", "Expect: 100-continue",
    "Content-Encoding: gzip", "/versions/1", "0\r\n\r\n",
]  # fmt: skip
_JSON = [
    '"inputs"', '"outputs"', '"parameters"', '"name"', '"shape"', '"datatype"', '"data"', '"id"',
    '"binary_data_size"', '"binary_data"', '"classification"', '"shared_memory_region"',
    '"shared_memory_byte_size"', '"shared_memory_offset"', '"sequence_id"', '"sequence_start"',
    '"sequence_end"', '"priority"', '"timeout"', '"triton_x"', '"INPUT0"', '"OUTPUT0"', "null",
    "true", "NaN", "-Infinity", "1e999", "9223372036854775808", "-1", "[]", "{}", "\\ud800",
    "\n--\n", '"BYTES"', '"BF16"',
]  # fmt: skip
_CONFIG = [field.name for field in model_config_pb2.ModelConfig.DESCRIPTOR.fields] + [
    "TYPE_FP32", "KIND_CPU", "dims", "data_type", "string_value", "key", "value", "0x7f", "1e99",
    "nan", "[", "]", "{", "}", "<", ">", "#",
]  # fmt: skip
DICTIONARY = {
    "http": _HTTP + _JSON,
    "http_bodies": _JSON,
    "chunks": ["\r\n", "0\r\n\r\n", ";"],
    "json_text": _JSON,
    "config_text": _CONFIG,
    "config_json": _CONFIG + _JSON[-12:],
    "socket_frames": [*_JSON, '"op"', '"topic"', '"range"', '"hz"', '"frames"', '"b64"'],
    "verdict": [*_CONFIG, *verdict_seeds.DICTIONARY],
    "agent_messages": agent_seeds.DICTIONARY,
    "gateway_headers": gateway_headers.DICTIONARY,
}


def dictionary(target: str) -> str:
    """libFuzzer's form of ``DICTIONARY``."""
    lines = []
    for token in DICTIONARY.get(target, ()):
        escaped = "".join(
            chr(byte) if 32 < byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
            for byte in token.encode()
        )
        lines.append(f'"{escaped}"')
    return "\n".join(lines)
