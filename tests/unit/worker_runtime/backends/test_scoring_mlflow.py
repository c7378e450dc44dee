"""MLflow's models behind ``/score``: what a request may say, and what comes back.

MLflow and pandas are stand-ins here: what is tested is what they are given.
"""

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worker_runtime.backends.python.stub.shoal_stub.faults import Misuse
from worker_runtime.backends.python.stub.shoal_stub.scoring import imports, mlflow_model
from worker_runtime.backends.python.stub.shoal_stub.scoring.http import AMLRequest, Refused
from worker_runtime.backends.python.stub.shoal_stub.scoring.mlflow_tensors import Tensors
from worker_runtime.backends.python.stub.shoal_stub.scoring.script import Script


class Column(list[Any]):
    def astype(self, kind: Any) -> "Column":
        return Column(np.array(self).astype(kind).tolist())


class Frame(dict[str, Any]):
    def __init__(self, data: Any, columns: Any = None, index: Any = None) -> None:
        if isinstance(data, dict):
            super().__init__({name: Column(value) for name, value in data.items()})
            return
        rows = data if columns is None else [dict(zip(columns, row, strict=True)) for row in data]
        names = list(rows[0])
        super().__init__({name: Column(row[name] for row in rows) for name in names})


class Spec:
    def __init__(self, name: str, kind: Any) -> None:
        self.name, self.required = name or None, True
        listed = kind is list
        self.type = types.SimpleNamespace(**({} if listed else {"to_pandas": lambda: kind}))


class Schema:
    def __init__(self, tensor: bool, **kinds: Any) -> None:
        self._tensor, self._kinds = tensor, kinds

    def is_tensor_spec(self) -> bool:
        return self._tensor

    def input_names(self) -> list[str]:
        return [] if self._tensor and len(self._kinds) == 1 else list(self._kinds)

    def numpy_types(self) -> list[Any]:
        return list(self._kinds.values())

    @property
    def inputs(self) -> list[Any]:
        """As MLflow's: a list of numbers has a type that is none of pandas'."""
        return [Spec(name, kind) for name, kind in self._kinds.items()]


class Model:
    def __init__(self, schema: Schema | None) -> None:
        self.answers: Any = np.array([1.5, 2.5])
        self.out = Schema(True, found=np.dtype("float64"))
        self.metadata = types.SimpleNamespace(
            get_input_schema=lambda: schema, get_output_schema=lambda: self.out
        )
        self.given: Any = None
        self.params: Any = None

    def predict(self, data: Any, params: Any = None) -> Any:
        self.given, self.params = data, params
        return self.answers


TENSOR = Schema(True, x=np.dtype("float32"))
NAMED = Schema(True, a=np.dtype("int64"), b=np.dtype("float64"))
COLUMNS = Schema(False, age=np.dtype("int32"), pay=np.dtype("float64"))
LISTS = Schema(False, age=np.dtype("int32"), at=list)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``served(schema)`` gives the script and the model that it asks."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    imports.offer()
    pandas = types.SimpleNamespace(
        DataFrame=Frame, read_csv=lambda file: Frame([{"csv": file.read()}])
    )
    monkeypatch.setitem(sys.modules, "pandas", pandas)  # type: ignore[arg-type]

    def made(schema: Schema | None) -> tuple[Script, Model]:
        model = Model(schema)
        flow = types.SimpleNamespace(load_model=lambda _: model)
        monkeypatch.setitem(sys.modules, "mlflow", types.ModuleType("mlflow"))
        monkeypatch.setitem(sys.modules, "mlflow.pyfunc", flow)  # type: ignore[arg-type]
        script = Script("/models/m/MLmodel", 0, mlflow_model)
        script.init()
        return script, model

    return made


def asked(script: Script, body: Any, kind: str = "application/json") -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = script.answer(AMLRequest(headers=[("Content-Type", kind)], body=data))
    return json.loads(answer.get_data())


@pytest.mark.parametrize(
    ("schema", "body", "given"),
    [
        (COLUMNS, {"input_data": {"columns": ["age", "pay"], "index": [0], "data": [[3, 4]]}},
         {"age": [3], "pay": [4.0]}),
        (COLUMNS, {"input_data": [{"age": 3, "pay": 4}]}, {"age": [3], "pay": [4.0]}),
        (COLUMNS, {"dataframe_split": {"columns": ["age"], "data": [[3]]}}, {"age": [3]}),
        (COLUMNS, {"dataframe_records": [{"age": 3.0}]}, {"age": [3]}),
        (LISTS, {"dataframe_records": [{"age": 3.0, "at": [1, 2]}]}, {"age": [3], "at": [[1, 2]]}),
        (TENSOR, {"input_data": [[1, 2]]}, [[1.0, 2.0]]),
        (TENSOR, {"inputs": [[1, 2]]}, [[1.0, 2.0]]),
        (NAMED, {"inputs": {"a": [1], "b": [2]}}, {"a": [1], "b": [2.0]}),
        (NAMED, {"instances": [{"a": 1, "b": 2}]}, {"a": [1], "b": [2.0]}),
        (None, {"instances": [[1, 2]]}, [[1, 2]]),
    ],
)  # fmt: skip
def test_data_comes_as_the_signature_has_it(
    served: Any, schema: Schema | None, body: dict[str, Any], given: Any
) -> None:
    script, model = served(schema)
    answer = asked(script, body)
    assert answer == ([1.5, 2.5] if "input_data" in body else {"predictions": [1.5, 2.5]})
    found = model.given
    if isinstance(found, np.ndarray):
        assert found.tolist() == given
        assert schema is None or found.dtype == np.float32
    else:
        assert {name: list(value) for name, value in found.items()} == given


def test_parameters_and_csv_go_along(served: Any) -> None:
    script, model = served(None)
    asked(script, {"inputs": [1], "params": {"temperature": 0.5}})
    assert model.params == {"temperature": 0.5}
    assert asked(script, b"a,b\n1,2\n", "text/csv") == {"predictions": [1.5, 2.5]}
    assert model.given == {"csv": [b"a,b\n1,2\n"]}


@pytest.mark.parametrize(
    ("schema", "body", "words"),
    [
        (None, {"data": [1]}, "one of input_data, dataframe_split"),
        (None, [1], "one of input_data"),
        (None, {"inputs": [1], "instances": [1]}, "one of input_data"),
        (COLUMNS, {"dataframe_split": {"columns": ["age"]}}, "dataframe_split is no data"),
        (COLUMNS, {"dataframe_records": [{"age": "old"}]}, "not the types of the model's"),
        (NAMED, {"instances": [{"a": 1}, {"b": 2}]}, "instances is no data"),
    ],
)  # fmt: skip
def test_what_says_nothing_to_the_model_is_refused(
    served: Any, schema: Schema | None, body: Any, words: str
) -> None:
    script, _ = served(schema)
    with pytest.raises(Refused, match=words) as refused:
        asked(script, body)
    assert refused.value.status == 400


def test_an_environment_without_mlflow_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow.pyfunc", None)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "mlflow", None)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match=r"name mlflow in the requirements\.txt beside MLmodel"):
        mlflow_model.init()


def config(inputs: str, **outputs: str) -> dict[str, Any]:
    names = ["REQUEST", "REQUEST_HEAD", *inputs.split()]
    answers = [{"name": "RESPONSE", "data_type": "TYPE_STRING", "dims": [1]}]
    answers += [{"name": n, "data_type": f"TYPE_{kind}", "dims": [-1]}
                for n, kind in outputs.items()]  # fmt: skip
    return {"input": [{"name": name} for name in names], "output": answers}


def test_columns_come_by_the_names_of_the_signature(served: Any) -> None:
    _, model = served(Schema(False, age=np.dtype("int64"), name=np.dtype("O"), at=list))
    tensors = Tensors(config("age name at", found="FP32"))
    given = {
        "age": np.array([3, 4]),
        "name": np.array([b"a", "\u00e9".encode()], np.object_),
        "at": np.array([[1.0, 2.0], [3.0, 4.0]]),
    }
    found = tensors.arrays(tensors.predict(given))
    assert {name: list(map(_plain, value)) for name, value in model.given.items()} == {
        "age": [3, 4], "name": ["a", "\u00e9"], "at": [[1.0, 2.0], [3.0, 4.0]],
    }  # fmt: skip
    assert found["found"].dtype == np.float32 and found["found"].tolist() == [1.5, 2.5]


def test_tensors_come_as_arrays(served: Any) -> None:
    _, model = served(NAMED)
    tensors = Tensors(config("a b", total="INT64", rest="FP64"))
    model.out = Schema(True, total=np.dtype("int64"), rest=np.dtype("float64"))
    model.answers = {"rest": np.array([[0.5], [1.5]]), "total": np.array([3.0, 4.0])}
    found = tensors.arrays(tensors.predict({"a": np.array([1, 2]), "b": np.array([3, 4])}))
    assert model.given["b"].dtype == np.float64
    assert {name: (a.dtype.name, a.tolist()) for name, a in found.items()} == {
        "total": ("int64", [3, 4]), "rest": ("float64", [0.5, 1.5]),
    }  # fmt: skip
    _, model = served(Schema(True, **{"": np.dtype("float32")}))
    tensors = Tensors(config("input-0", **{"output-0": "FP64"}))
    tensors.predict({"input-0": np.array([[1.0, 2.0]])})
    assert model.given.dtype == np.float32


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "expected REQUEST, or age, pay"),
        ({"age": [1]}, "inputs are missing: pay"),
        ({"age": [1], "pay": [1.0, 2.0]}, "age has 1, pay has 2"),
    ],
)
def test_columns_that_say_nothing_to_the_model_are_refused(
    served: Any, given: dict[str, list[Any]], words: str
) -> None:
    served(COLUMNS)
    with pytest.raises(Refused, match=words):
        Tensors(config("age pay")).predict({n: np.array(value) for n, value in given.items()})


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
