"""Captured requests made into calls: which can be asked again, and why others cannot."""

import json
from random import Random
from typing import Any

import pytest

from controlplane.deployments.capturing import Capture
from controlplane.golden.replays import Drawn, drawn, replayed
from controlplane.rollouts import Unusable, place
from wire.own_requests import COMPARISON, OWN_REQUESTS

X = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1.5, -2]}
RECORD: dict[str, Any] = {"time": "2026-11-27T06:00:00+00:00", "id": "7", "model": "net",
                          "inputs": [X], "outputs": []}  # fmt: skip
INPUTS = [
    {"name": "x", "datatype": "FP32", "shape": [2]},
    {"name": "name", "datatype": "BYTES", "shape": [1], "optional": True},
]
MODELS = {
    "net": {"name": "net", "decoupled": False, "inputs": INPUTS},
    "stream": {"name": "stream", "decoupled": True, "inputs": INPUTS},
}
ALL = Capture()


def text(*values: str) -> dict[str, Any]:
    return {"name": "name", "datatype": "BYTES", "shape": [len(values)], "data": list(values)}


def line(**changes: Any) -> bytes:
    return json.dumps({**RECORD, **changes}).encode()


@pytest.mark.parametrize(
    ("content", "capture", "found"),
    [
        (line(error="InvalidArgument"), ALL, Unusable.FAILED),
        (line(inputs=[{**X, "hashed": True, "datatype": "BYTES"}]), ALL, Unusable.HASHED),
        (line(inputs=[{**X, "omitted": "larger"}]), ALL, Unusable.OMITTED),
        (line(inputs=[{**X, "data": [1, None]}]), ALL, Unusable.NOT_FINITE),
        (line(inputs=[X, text("a\\xffb")]), ALL, Unusable.NOT_TEXT),
        (line(model="stream"), ALL, Unusable.OTHER_MODEL),
        (line(model="gone"), ALL, Unusable.OTHER_MODEL),
        (line(model=["net"]), ALL, Unusable.OTHER_MODEL),
        (line(inputs=[]), ALL, Unusable.LEFT_OUT),
        (line(inputs=[text("a")]), ALL, Unusable.LEFT_OUT),
        # nobody knows whether the client sent what is never captured
        (line(), Capture(drop=("name",)), Unusable.LEFT_OUT),
        (line(), Capture(fields=("x",)), Unusable.LEFT_OUT),
        (b"{", ALL, Unusable.UNREADABLE),
        (b"[]", ALL, Unusable.UNREADABLE),
        (b"[" * 200_000, ALL, Unusable.UNREADABLE),
        (line(inputs="x"), ALL, Unusable.UNREADABLE),
        (line(inputs=[1]), ALL, Unusable.UNREADABLE),
        (line(inputs=[{**X, "data": {"frames": 1}}]), ALL, Unusable.UNREADABLE),
        (line(inputs=[{**X, "data": [1]}]), ALL, Unusable.UNREADABLE),
        (line(inputs=[{**X, "datatype": "FP31"}]), ALL, Unusable.UNREADABLE),
        (line(inputs=[X, {**X, "name": []}]), ALL, Unusable.UNREADABLE),
        *((line(id=own), ALL, None) for own in sorted(OWN_REQUESTS)),
    ],
)
def test_what_is_not_whole_is_not_asked(
    content: bytes, capture: Capture, found: Unusable | None
) -> None:
    assert replayed(content, MODELS, capture) == found


@pytest.mark.parametrize(
    ("inputs", "capture"),
    [
        ([X], ALL),
        ([X, text("ada\n\u00e9")], ALL),
        ([X, text("a")], Capture(fields=("x", "name"))),
        ([X], Capture(drop=("score",))),
    ],
)
def test_what_a_client_sent_is_asked_as_it_was(
    inputs: list[dict[str, Any]], capture: Capture
) -> None:
    found = replayed(line(inputs=inputs), MODELS, capture)
    assert isinstance(found, tuple)
    call, at = found
    assert (call.model, call.version, at) == ("net", "", RECORD["time"])
    assert [tensor.name for tensor in call.inputs] == [one["name"] for one in inputs]
    assert call.inputs[0].raw == b"\x00\x00\xc0\x3f\x00\x00\x00\xc0"


def draw(files: list[tuple[str, list[bytes]]], count: int, **changes: Any) -> Drawn:
    said = {"taken": (), "models": list(MODELS.values()), "capture": ALL, "most_bytes": 1 << 20}
    return drawn(files, count, rng=Random(1), **{**said, **changes})


def test_some_are_drawn_and_none_twice() -> None:
    files = [("a" * 32, [line()] * 5), ("b" * 32, [line(), b"{", line(id=COMPARISON)])]
    found = draw(files, 4)
    assert len(found.inputs) == 4
    assert {one.kind for one in found.inputs} == {"captured"}
    taken = {place(one.file, one.line) for one in found.inputs}
    assert len(taken) == 4
    rest = draw(files, 9, taken=taken)
    assert len(rest.inputs) == 2
    assert taken.isdisjoint(place(one.file, one.line) for one in rest.inputs)
    assert rest.unusable == {Unusable.UNREADABLE: 1}, "what we asked ourselves is nobody's loss"
    assert draw([], 3) == draw(files, 0) == Drawn((), {})


def test_their_bytes_are_bounded_and_so_is_the_search() -> None:
    assert len(draw([("f", [line()] * 50)], 40, most_bytes=8 * 10).inputs) == 10
    hashed = line(inputs=[{**X, "hashed": True}])
    assert draw([("f", [hashed] * 500)], 2).unusable == {Unusable.HASHED: 40}
