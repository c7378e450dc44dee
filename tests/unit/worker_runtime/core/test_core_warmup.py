"""Warm-up: what samples feed to whom, and that their failure is the model's."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worker_runtime.backends.base import BackendRequest
from worker_runtime.core.warmup import warm_up
from worker_runtime.errors import Internal, LoadFailed
from worker_runtime.repository.pbtxt import parse
from worker_runtime.types.request import Response
from worker_runtime.types.signature import signature_of

CONFIG = """
name: "m"
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] },
        { name: "s" data_type: TYPE_STRING dims: [ 1 ] } ]
output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }
instance_group [ { name: "m" kind: KIND_CPU count: 2 },
                 { name: "p" kind: KIND_CPU count: 1 passive: true } ]
model_warmup {
  name: "first" batch_size: 3 count: 2
  inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 2 ] %s } }
  inputs { key: "s" value { data_type: TYPE_STRING dims: [ 1 ] %s } }
}
"""
ZERO, RANDOM = "zero_data: true", "random_data: true"


class Whole:
    """Takes batches; keeps them."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.error: Exception | None = None

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        self.seen.append({name: array.tolist() for name, array in inputs.items()})
        if self.error is not None:
            raise self.error
        return [inputs["x"] for _ in outputs]


class Apart(Whole):
    def execute_requests(self, requests: Sequence[BackendRequest]) -> None:
        for request in requests:
            self.seen.append({name: array.tolist() for name, array in request.inputs.items()})
            if self.error is not None:
                request.send(Response(error=Internal(str(self.error))), final=True)
            else:
                request.send(Response(("y",), [np.zeros((1, 2), np.float32)]), final=True)


class Loaded:
    graph = None
    inline = None

    def __init__(self, kind: type[Whole]) -> None:
        self.instances: list[Any] = [kind(), kind(), kind()]
        if kind is Whole:
            for instance in self.instances:
                assert not hasattr(instance, "execute_requests")

    def close(self) -> None: ...


def run(kind: type[Whole], text: str, folder: Path, error: Exception | None = None) -> Loaded:
    config, loaded = parse(text), Loaded(kind)
    for instance in loaded.instances:
        instance.error = error
    warm_up(config, signature_of(config), loaded, folder)
    return loaded


def test_every_instance_runs_every_sample_as_often_as_asked(tmp_path: Path) -> None:
    loaded = run(Whole, CONFIG % (ZERO, ZERO), tmp_path)
    batch = {"x": [[0.0, 0.0]] * 3, "s": [[b""]] * 3}
    assert [instance.seen for instance in loaded.instances] == [[batch] * 2, [batch] * 2, []]


def test_models_that_take_requests_get_as_many_as_the_batch_has(tmp_path: Path) -> None:
    loaded = run(Apart, CONFIG % (ZERO, RANDOM), tmp_path)
    request = {"x": [[0.0, 0.0]], "s": [[b""]]}
    assert [instance.seen for instance in loaded.instances] == [[request] * 6, [request] * 6, []]


def test_data_comes_from_files_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "warmup").mkdir()
    (tmp_path / "warmup" / "x.bin").write_bytes(np.array([1, 2], np.float32).tobytes())
    (tmp_path / "warmup" / "s.bin").write_bytes(b"\x02\x00\x00\x00hi")
    text = CONFIG % ('input_data_file: "x.bin"', 'input_data_file: "s.bin"')
    loaded = run(Whole, text, tmp_path)
    assert loaded.instances[0].seen[0] == {"x": [[1.0, 2.0]] * 3, "s": [[b"hi"]] * 3}


def test_a_file_that_is_too_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "warmup").mkdir()
    (tmp_path / "warmup" / "x.bin").write_bytes(b"123")
    with pytest.raises(LoadFailed, match="warmup setting expects 8 bytes, but the data provided"):
        run(Whole, CONFIG % ('input_data_file: "x.bin"', ZERO), tmp_path)


@pytest.mark.parametrize("kind", [Whole, Apart])
def test_a_failing_sample_is_a_failing_load(kind: type[Whole], tmp_path: Path) -> None:
    text = re.escape("failed to run warmup sample 'first': no such luck; ")
    with pytest.raises(LoadFailed, match=text):
        run(kind, CONFIG % (ZERO, ZERO), tmp_path, ValueError("no such luck"))


def test_a_sample_must_fit_the_model(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="unexpected shape for input 'x'"):
        run(
            Whole,
            (CONFIG % (ZERO, ZERO)).replace(
                "TYPE_FP32 dims: [ 2 ] zero", "TYPE_FP32 dims: [ 3 ] zero"
            ),
            tmp_path,
        )
