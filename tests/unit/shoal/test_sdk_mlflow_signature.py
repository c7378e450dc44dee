"""Signatures as MLflow 3.17 writes them into MLmodel, as tensors of a configuration."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal.client.errors import UnusableSource
from shoal.sdk.mlflow_signature import signature_of

AGE = {"type": "long", "name": "age", "required": True}
PAIRS = {"type": "tensor", "tensor-spec": {"dtype": "float32", "shape": [-1, 2]}}
MANY = {"type": "tensor", "tensor-spec": {"dtype": "int64", "shape": [-1]}}


def mlmodel(folder: Path, inputs: Any, outputs: Any = None) -> Path:
    given = {"inputs": json.dumps(inputs), "params": None}
    if outputs is not None:
        given["outputs"] = json.dumps(outputs)
    path = folder / "MLmodel"
    path.write_text(yaml.safe_dump({"flavors": {}, "signature": given}))
    return path


@pytest.mark.parametrize(
    ("inputs", "outputs", "lines"),
    [
        ([AGE, {"type": "string", "name": 'the "name"'}], [MANY],
         ['input { name: "age" data_type: TYPE_INT64 dims: [-1] optional: true }',
          'input { name: "the \\"name\\"" data_type: TYPE_STRING dims: [-1] optional: true }',
          'output { name: "output-0" data_type: TYPE_INT64 dims: [-1] }']),
        ([PAIRS], [{**PAIRS, "name": "sum"}],
         ['input { name: "input-0" data_type: TYPE_FP32 dims: [-1, 2] optional: true }',
          'output { name: "sum" data_type: TYPE_FP32 dims: [-1, 2] }']),
        ([{"type": "array", "items": {"type": "double"}, "name": "emb"},
          {"type": "datetime", "name": "at"}, {"type": "boolean", "name": "ok"}], [],
         ['input { name: "emb" data_type: TYPE_FP64 dims: [-1, -1] optional: true }',
          'input { name: "at" data_type: TYPE_STRING dims: [-1] optional: true }',
          'input { name: "ok" data_type: TYPE_BOOL dims: [-1] optional: true }']),
        # what cannot be said of the answer is said as JSON
        ([AGE], [MANY, {"type": "object", "name": "why", "properties": {}}],
         ['input { name: "age" data_type: TYPE_INT64 dims: [-1] optional: true }']),
    ],
)  # fmt: skip
def test_a_tensor_for_each_column(
    tmp_path: Path, inputs: Any, outputs: Any, lines: list[str]
) -> None:
    found = signature_of(mlmodel(tmp_path, inputs, outputs))
    assert found.text.splitlines() == lines
    assert found.note == ""


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([AGE, {"type": "map", "values": {"type": "string"}, "name": "tags"}], "inputs tags of"),
        ([{"type": "any", "name": "q"}], "inputs q of"),
        ([{"type": "string", "name": "REQUEST"}], "inputs REQUEST of"),
        ([], "no signature"),
    ],
)
def test_what_tensors_cannot_say_comes_as_json(tmp_path: Path, inputs: Any, words: str) -> None:
    found = signature_of(mlmodel(tmp_path, inputs))
    assert (found.text, found.inputs) == ("", ())
    assert words in found.note and "requests bring their data as JSON" in found.note


@pytest.mark.parametrize("text", ["signature: [", "signature: {inputs: 'no json'}", "[1]"])
def test_a_file_that_mlflow_did_not_write_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "MLmodel"
    path.write_text(text)
    with pytest.raises(UnusableSource, match="MLmodel cannot be read"):
        signature_of(path)
