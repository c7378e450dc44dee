"""Large bodies of generate and of loads: read in slices they say what they say in one piece."""

import base64
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.protocols.http.admin import large_load_override, load_override
from worker_runtime.protocols.http.documents import MOST_SHORT, base64_in_slices, large_document
from worker_runtime.protocols.http.generate import generate_in_slices, generate_request
from worker_runtime.protocols.http.json_parser import read
from worker_runtime.protocols.http.json_parts import PART_BYTES
from worker_runtime.protocols.http.json_values import BadJson
from worker_runtime.protocols.http.limits import LARGE_JSON, check_small_document
from worker_runtime.protocols.slices import Steps, at_once, in_turns
from worker_runtime.types.tensor import BY_NAME

LONG = 5 * PART_BYTES
MANY = LONG // 3
LIMIT = 1 << 40
FILE = bytes(range(256)) * (LONG // 256)


def spec(name: str, datatype: str) -> Any:
    return SimpleNamespace(
        name=name, datatype=BY_NAME[datatype], wire_shape=lambda _most: [-1], dims=(-1,)
    )


MODEL: Any = SimpleNamespace(
    signature=SimpleNamespace(
        inputs=[spec("text", "BYTES"), spec("f", "FP32"), spec("i", "INT32"), spec("b", "BOOL")],
        max_batch_size=0,
    )
)


class Engine:
    """Plans whatever is asked; its forms are what was understood."""

    def plan(self, _model: Any, _id: str, forms: Any, _outputs: Any) -> Any:
        inputs = [SimpleNamespace(name=name) for name, _, _ in forms]
        return SimpleNamespace(inputs=inputs, outputs=[], forms=forms)


def told(ask: Callable[[], Any]) -> Any:
    try:
        request = ask()
    except RuntimeFault as fault:
        return type(fault), str(fault)
    inputs = [i.tolist() if isinstance(i, np.ndarray) else bytes(i) for i in request.inputs]
    return request.plan.forms, inputs, request.parameters, request.id


def both(body: bytes) -> tuple[Any, Any]:
    engine, sink = cast("Any", Engine()), cast("Any", None)
    return (
        told(lambda: generate_request(engine, MODEL, body, sink, LIMIT)),
        told(lambda: at_once(generate_in_slices(engine, MODEL, body, sink, LIMIT))),
    )


def turns(steps: Steps[Any]) -> int:
    return sum(1 for _ in steps)


BODIES: list[dict[str, Any]] = [
    {"text": "ü" * LONG},
    {"text": 'a"\\\n' * LONG, "id": "x", "temperature": 0.5, "stream": True},
    {"text": ["a" * LONG, "b"]},
    {"text": ["a"] * MANY},
    {"f": [0.25] * MANY, "i": list(range(MANY)), "b": [True] * MANY},
    {"f": 1, "text": "x", "parameters": {"prompt": "a" * LONG, "k": 3}},
    {"text": "x", "parameters": {"f": [1.5] * MANY, "text": "y"}},
    {"i": [1] * MANY + [2**40]},
    {"i": [1] * MANY + ["x"]},
    {"b": [1] * MANY},
    {"text": [1] * MANY},
    {"f": {"a": [1] * MANY}},
    {"a": [1] * MANY, "text": "x"},
    {"text": "x" * LONG, "id": 7},
    {"text": "x", "id": "ü" * LONG},
    {"text": "x", "id": [1] * MANY},
    {"text": "x", "parameters": [1] * MANY},
    {"text": "x", "parameters": {"a": {"b": [1] * MANY}}},
    {"f": [float("nan")] * MANY},
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_large_generate_request_says_the_same(body: dict[str, Any]) -> None:
    whole, sliced = both(json.dumps(body).encode())
    assert sliced == whole


@pytest.mark.parametrize(
    "raw",
    [
        b'{"f":[1,%b],"text":"x","a":1,"a":2}' % b",".join([b"2"] * MANY),
        b'{"text":"%b","f":1e999}' % (b"a" * LONG),
        b'{"text":"%b"' % (b"a" * LONG),
        b'{"text":"%b",}' % (b"a" * LONG),
        b"[%b]" % b",".join([b"1"] * MANY),
        b'"%b"' % (b"a" * LONG),
    ],
)
def test_what_is_no_such_request_is_refused_in_the_same_words(raw: bytes) -> None:
    whole, sliced = both(raw)
    assert sliced == whole or (b'"a":2' in raw and sliced[2] == {"a": 1})


@pytest.mark.parametrize("more", ["", '"%s":1,' % ("n" * LONG)])
def test_an_input_given_twice_is_refused(more: str) -> None:
    numbers = json.dumps([1] * MANY)
    _, sliced = both(f'{{"f":{numbers},"f":{numbers}}}'.encode())
    assert sliced[1].endswith("input 'f' already exists in request")


def test_no_turn_has_more_than_a_slice() -> None:
    engine, sink = cast("Any", Engine()), cast("Any", None)
    for body in BODIES[:5]:
        raw = json.dumps(body).encode()
        # once to know that it is JSON, once to find the members, once to read the values
        count = turns(generate_in_slices(engine, MODEL, raw, sink, LIMIT))
        assert count >= 2 * len(raw) // PART_BYTES


def test_what_is_neither_long_nor_text_has_a_bound() -> None:
    many = ",".join(f'"p{number}":1' for number in range(MOST_SHORT // 10))
    with pytest.raises(InvalidArgument, match=f"maximum allowed value of {MOST_SHORT} bytes"):
        at_once(large_document(f"{{{many}}}".encode()))
    texts = {f"file:{number}": "a" * 2000 for number in range(MOST_SHORT // 1000)}
    assert dict(at_once(large_document(json.dumps(texts).encode()))) == texts


# --- loads ---------------------------------------------------------------------------------------


def load(**parameters: Any) -> bytes:
    return json.dumps({"parameters": parameters}).encode()


WRAPPED = base64.encodebytes(FILE).decode()
PLAIN = base64.b64encode(FILE + b"1").decode()


@pytest.mark.parametrize(
    "body",
    [
        load(config='{"name": "ü"}', **{"file:1/model.onnx": PLAIN, "file:a": WRAPPED}),
        load(**{"file:1/model.onnx": PLAIN.rstrip("=")}),
        load(config="{}" + " " * LONG),
        load(**{f"file:{number}": PLAIN[:1000] for number in range(300)}),
        load(**{"file:a": 7, "file:b": PLAIN}),
        load(**{"file:a": [1] * MANY}),
        load(other=PLAIN),
        json.dumps({"parameters": PLAIN}).encode(),
        json.dumps({"something": PLAIN}).encode(),
        json.dumps({"parameters": None, "x": PLAIN}).encode(),
    ],
    ids=range(10),
)
def test_a_large_load_says_the_same(body: bytes) -> None:
    def said(ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except RuntimeFault as fault:
            return type(fault), str(fault)

    whole = said(lambda: load_override(read(body)))
    assert said(lambda: at_once(large_load_override(body))) == whole
    assert isinstance(whole, tuple) or whole.files or whole.config or b"something" in body


def test_a_large_load_that_is_no_object_is_refused() -> None:
    with pytest.raises(BadJson, match="attempt to get members for non-object"):
        at_once(large_load_override(json.dumps([1] * MANY).encode()))


def test_a_file_is_decoded_slice_by_slice() -> None:
    text = WRAPPED.encode()
    assert turns(base64_in_slices(text, "x")) >= len(text) // PART_BYTES
    assert at_once(base64_in_slices(text, "x")) == FILE


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"AA==" + b"A" * LONG, "it goes on behind a '='"),
        (b"A" * LONG + b"=A", "it goes on behind a '='"),
        (b"A" * (LONG + 1), "one letter is left over"),
    ],
)
def test_what_is_no_base64_is_refused(text: bytes, told: str) -> None:
    with pytest.raises(InvalidArgument, match=f"failed to decode base64 of 'file:x': {told}"):
        at_once(base64_in_slices(text, "file:x"))


async def test_who_awaits_slices_lets_the_loop_turn() -> None:
    body = load(**{"file:1/model.onnx": PLAIN})
    assert (await in_turns(large_load_override(body))).files["1/model.onnx"] == FILE + b"1"


def test_other_documents_are_small() -> None:
    check_small_document(LARGE_JSON - 1)
    with pytest.raises(InvalidArgument, match=f"request JSON size of {LARGE_JSON} bytes exceeds"):
        check_small_document(LARGE_JSON)
