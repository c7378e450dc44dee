"""The bytes that are sent, by what a server says of a model."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from load_client.connections import Broken, chunked_end
from load_client.requests import http_request, tensor_bytes
from load_client.signature import inputs_of
from load_client.targets import target_of
from wire.load import LoadInput, LoadPlan

PLAN = LoadPlan("m", "concurrency", (1.0,), 1.0)
METADATA = {
    "inputs": [
        {"name": "image", "datatype": "FP32", "shape": ["-1", "3", "-1", "-1"]},
        {"name": "mask", "datatype": "BOOL", "shape": ["-1", "4"]},
    ]
}
BATCHED = {"max_batch_size": 8, "input": [{"name": "image"}, {"name": "mask"}]}


def shapes(plan: LoadPlan, config: Any, metadata: Any = METADATA) -> dict[str, tuple[int, ...]]:
    return {one.name: one.shape for one in inputs_of(plan, metadata, config)}


def with_(**changes: Any) -> LoadPlan:
    return LoadPlan("m", "concurrency", (1.0,), 1.0, **changes)


@pytest.mark.parametrize(
    ("plan", "config", "expected"),
    [
        (PLAN, BATCHED, {"image": (1, 3, 1, 1), "mask": (1, 4)}),
        (with_(batch=4), BATCHED, {"image": (4, 3, 1, 1), "mask": (4, 4)}),
        (with_(shapes={"image": (3, 8, 8)}), BATCHED, {"image": (1, 3, 8, 8), "mask": (1, 4)}),
        (with_(batch=4), {}, {"image": (1, 3, 1, 1), "mask": (1, 4)}),  # no batches
        (with_(batch=4), None, {"image": (4, 3, 1, 1), "mask": (4, 4)}),  # a server without config
        (PLAN, {"input": [{"name": "mask", "optional": True}]}, {"image": (1, 3, 1, 1)}),
    ],
)
def test_random_inputs_fit_the_model(plan: LoadPlan, config: Any, expected: Any) -> None:
    assert shapes(plan, config) == expected


@pytest.mark.parametrize(
    ("plan", "config", "metadata", "text"),
    [
        (with_(shapes={"pixels": (1,)}), {}, METADATA, "'pixels', expected an input of m: image"),
        (with_(shapes={"image": (3, 8)}), BATCHED, METADATA, r"image is \[3, 8\], expected"),
        (with_(shapes={"image": (4, 8, 8)}), BATCHED, METADATA, r"that fits \[3, -1, -1\]"),
        (PLAN, {"model_transaction_policy": {"decoupled": True}}, METADATA, "in a stream"),
        (PLAN, {"sequence_batching": {"x": 1}}, METADATA, "sequences"),
        (PLAN, {}, {}, "does not tell its inputs"),
        (PLAN, {}, {"inputs": [{"name": "x", "datatype": "FP32", "shape": ["?"]}]}, "not tell"),
    ],
)
def test_what_cannot_be_sent(plan: LoadPlan, config: Any, metadata: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        inputs_of(plan, metadata, config)


@pytest.mark.parametrize(
    ("datatype", "kind"),
    [("BOOL", np.bool_), ("UINT8", np.uint8), ("INT32", np.int32), ("INT64", np.int64),
     ("FP16", np.float16), ("FP32", np.float32), ("FP64", np.float64)],
)  # fmt: skip
def test_random_values_are_of_the_datatype(datatype: str, kind: Any) -> None:
    raw = tensor_bytes(LoadInput("x", datatype, (100,)))
    values = np.frombuffer(raw, kind)
    assert len(values) == 100 and values.min() >= 0 and values.max() <= 1
    assert len(set(values.tolist())) > 1
    assert raw == tensor_bytes(LoadInput("x", datatype, (100,)))  # so that sweeps compare


def test_other_random_values() -> None:
    half = np.frombuffer(tensor_bytes(LoadInput("x", "BF16", (100,))), "<u2").astype("<u4") << 16
    full = np.frombuffer(tensor_bytes(LoadInput("x", "FP32", (100,))), "<f4")
    assert np.allclose(half.view("<f4"), full, rtol=0.01)
    words = tensor_bytes(LoadInput("x", "BYTES", (2,)))
    assert len(words) == 40 and words[:4] == words[20:24] == b"\x10\0\0\0"
    assert tensor_bytes(LoadInput("x", "FP32", (0, 4))) == b""


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (LoadInput("x", "FP8", (1,)), "unknown datatype 'FP8'"),
        (LoadInput("x", "FP32", (-1,)), "expected sizes from 0"),
        (LoadInput("x", "FP32", (2**20, 2**10)), "smaller shape"),
        (LoadInput("x", "FP32", (1,), "no base64!"), "x: expected base64"),
    ],
)
def test_inputs_that_are_none(one: LoadInput, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tensor_bytes(one)


def test_a_request_is_what_triton_reads() -> None:
    given = LoadInput("x", "INT32", (1, 2), base64.b64encode(b"12345678").decode())
    plan = LoadPlan("a b", "concurrency", (1.0,), 1.0, version="3")
    raw = http_request(plan, [given], host="h:1", prefix="/endpoints/e", headers={"X-Key": "k"})
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    fields = dict(line.split(": ", 1) for line in lines)
    assert first == "POST /endpoints/e/v2/models/a%20b/versions/3/infer HTTP/1.1"
    assert (fields["Host"], fields["X-Key"]) == ("h:1", "k")
    assert int(fields["Content-Length"]) == len(body)
    size = int(fields["Inference-Header-Content-Length"])
    (sent,) = json.loads(body[:size])["inputs"]
    assert sent == {"name": "x", "shape": [1, 2], "datatype": "INT32",
                    "parameters": {"binary_data_size": 8}}  # fmt: skip
    assert body[size:] == b"12345678"
    with pytest.raises(ValueError, match="printable"):
        http_request(plan, [given], host="h", headers={"X-Key": "k\r\nX-Other: 1"})


@pytest.mark.parametrize(
    ("url", "host", "port", "prefix", "secure"),
    [
        ("http://h:8000", "h", 8000, "", False),
        ("h:8000", "h", 8000, "", False),
        ("https://h/endpoints/e/", "h", 443, "/endpoints/e", True),
        ("http://h/v2", "h", 80, "", False),
        ("http://[::1]:9", "::1", 9, "", False),
    ],
)
def test_where_a_server_is(url: str, host: str, port: int, prefix: str, secure: bool) -> None:
    found = target_of(url)
    assert (found.host, found.port, found.prefix, found.tls is not None) == (
        host, port, prefix, secure,
    )  # fmt: skip


@pytest.mark.parametrize("url", ["", "ftp://h", "http://", "http://h:port"])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ValueError):
        target_of(url)


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"0\r\n\r\n", 5),
        (b"3\r\nabc\r\n0\r\n\r\nrest", 13),
        (b"3;x=1\r\nabc\r\n0\r\nT: 1\r\n\r\n", 23),
        (b"7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", 17),  # what looks like the end is inside
        (b"", -1),
        (b"3\r\nab", -1),
        (b"3\r\nabc\r\n", -1),
        (b"3\r\nabc\r\n0\r\n", -1),
    ],
)
def test_where_chunks_end(data: bytes, end: int) -> None:
    assert chunked_end(data, 0) == end


def test_broken_chunks() -> None:
    with pytest.raises(Broken):
        chunked_end(b"zz\r\nabc\r\n", 0)
