"""Scoring scripts without a process: what ``run`` takes, decorators, requests and responses."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from worker_runtime.backends.python.stub.shoal_stub.faults import Misuse
from worker_runtime.backends.python.stub.shoal_stub.scoring import imports
from worker_runtime.backends.python.stub.shoal_stub.scoring.http import (
    AMLRequest,
    AMLResponse,
    Refused,
)
from worker_runtime.backends.python.stub.shoal_stub.scoring.script import Script

_INIT = "def init():\n    pass\n\n\n"
_SCHEMA = (
    """
import numpy as np
from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType
from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType
from inference_schema.schema_decorators import input_schema, output_schema

"""
    + _INIT
    + """
@input_schema("data", NumpyParameterType(np.array([[1.0, 2.0]], dtype=np.float32)))
@input_schema("limit", StandardPythonParameterType(1.5), optional=True)
@output_schema(StandardPythonParameterType([1.0]))
def run(data, limit=2.0):
    assert data.dtype == np.float32
    return (data * limit).sum(axis=1).tolist()
"""
)


@pytest.fixture(autouse=True)
def _names(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    imports.offer()
    yield
    for name in {*imports.OURS, *imports.ELSE}:
        sys.modules.pop(name, None)


def script(folder: Path, text: str, timeout_ms: int = 0) -> Script:
    path = folder / "score.py"
    path.write_text(text)
    return Script(str(path), timeout_ms)


def asked(found: Script, body: Any, query: str = "", method: str = "POST") -> Any:
    data = json.dumps(body).encode()
    return json.loads(found.answer(AMLRequest(method, query=query, body=data)).get_data())


def test_a_schema_says_what_run_gets(tmp_path: Path) -> None:
    found = script(tmp_path, _SCHEMA)
    assert asked(found, {"data": [[1, 2], [3, 4]]}) == [6.0, 14.0]
    assert asked(found, {"data": [[1, 2]], "limit": 1}) == [3.0]
    assert asked(found, None, "data=[[1,2]]&limit=0.5", "GET") == [1.5]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ([1], Refused, "Expected a JSON object with data, limit"),
        ({"limit": 1}, Refused, "data is missing"),
        ({"data": [[1, 2]], "x": 1}, Refused, "x is not a parameter"),
        ({"data": [[1, 2, 3]]}, ValueError, r"data: the array has shape \(1, 3\)"),
        ({"data": [["a", "b"]]}, ValueError, "data: could not convert string"),
        ({"data": [[1, 2]], "limit": "x"}, ValueError, "limit: expected float, got str"),
    ],
)
def test_what_does_not_fit_a_schema_is_told_by_name(
    tmp_path: Path, body: Any, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        asked(script(tmp_path, _SCHEMA), body)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def run(data): pass\n", r"score.py has no init\(\) function"),
        (_INIT, r"score.py has no run\(\) function"),
        (f"{_INIT}run = 3\n", r"has no run\(\) function"),
        (f"{_INIT}def run(): pass\n", r"score.py\(5\): run\(\) has no parameter"),
        (f"{_INIT}def run(request_headers): pass\n", "has no parameter for the request's data"),
        (f"{_INIT}def run(*data): pass\n", "cannot have positional-only parameters"),
        (
            "from azureml.contrib.services.aml_request import rawhttp\n"
            + _SCHEMA.replace("@input_schema", "@rawhttp\n@input_schema", 1),
            "both @rawhttp and @input_schema",
        ),
    ],
)  # fmt: skip
def test_a_script_that_cannot_be_asked_says_why(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        script(tmp_path, text)


def test_headers_are_named_as_flask_names_them(tmp_path: Path) -> None:
    """Gateways write them in lower case, and scripts look for Content-Type."""
    text = _INIT + "def run(data, request_headers):\n    return request_headers\n"
    headers = [("content-type", "application/json"), ("x-ms-client-request-id", "7")]
    request = AMLRequest("POST", headers=headers, body=b"{}")
    told = json.loads(script(tmp_path, text).answer(request).get_data())
    assert told == {"Content-Type": "application/json", "X-Ms-Client-Request-Id": "7"}


BATCHED = (
    "from shoal.scoring import batched\n"
    "from azureml.contrib.services.aml_response import AMLResponse\n\n\n" + _INIT
)


def together(found: Script, *bodies: str, method: str = "POST") -> list[Any]:
    requests = [AMLRequest(method, body=body.encode()) for body in bodies]
    return [
        repr(one) if isinstance(one, Exception) else (one.status_code, json.loads(one.get_data()))
        for one in found.answer_together(requests)
    ]


def test_a_batched_run_is_asked_once_for_all(tmp_path: Path) -> None:
    text = """
@batched
def run(bodies, request_headers):
    assert len(request_headers) == len(bodies)
    return [[body, len(bodies)] for body in bodies]
"""
    found = script(tmp_path, BATCHED + text)
    assert found.batched
    assert together(found, "a", "b") == [(200, ["a", 2]), (200, ["b", 2])]


def test_of_a_batch_only_what_is_wrong_fails(tmp_path: Path) -> None:
    text = """
@batched(max_batch_size=4, max_queue_delay_ms=1.5)
def run(bodies):
    told = {"no": ValueError("no"), "odd": {1, 2}, "teapot": AMLResponse('"short"', 418)}
    return [told.get(body, body) for body in bodies]
"""
    found = script(tmp_path, BATCHED + text)
    no, odd, other, teapot = together(found, "no", "odd", "fine", "teapot")
    assert no == "ValueError('no')"
    assert "returned set, which is no JSON" in odd
    assert other == (200, "fine")
    assert teapot == (418, "short")
    good, bad = found.answer_together(
        [AMLRequest("POST", body=b"fine"), AMLRequest("POST", body=b"\xff")]
    )
    assert (good.status_code, type(bad)) == (200, Refused)


@pytest.mark.parametrize("answer", ["[" * 9 + "]" * 9, "deep"])
def test_an_answer_that_cannot_be_written_is_nobody_elses(tmp_path: Path, answer: str) -> None:
    text = """
@batched
def run(bodies):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return [deep if body == "deep" else body for body in bodies]
"""
    first, second = together(script(tmp_path, BATCHED + text), answer, "fine")
    assert second == (200, "fine")
    assert ("run() returned list, which is no JSON: maximum rec" in first) == (answer == "deep")


@pytest.mark.parametrize(
    ("waits", "bound"),
    [(("900", "5000"), 5), (("900", ""), 60), (("9" * 6000, "900"), 60), (("99999999", "1"), 60)],
)
def test_who_waits_for_less_takes_no_answers_of_others(
    tmp_path: Path, waits: tuple[str, ...], bound: float
) -> None:
    text = """
import signal


@batched
def run(bodies):
    return [signal.getitimer(signal.ITIMER_REAL)[0] for _ in bodies]
"""
    found = script(tmp_path, BATCHED + text, timeout_ms=60_000)
    name = "x-envoy-expected-rq-timeout-ms"
    requests = [AMLRequest("POST", headers=[(name, wait)] if wait else []) for wait in waits]
    for one in found.answer_together(requests):
        assert bound - 1 < json.loads(one.get_data()) <= bound


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("bodies[:1]", "run() returned 1 answers for 2 requests"),
        ("'ab'", "run() returned str for 2 requests: with @batched it returns a list of as many"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_batch_without_an_answer_for_each_fails_whole(
    tmp_path: Path, answer: str, words: str
) -> None:
    text = f"@batched(2)\ndef run(bodies):\n    return {answer}\n"
    for told in together(script(tmp_path, BATCHED + text), "a", "b"):
        assert words in told


def test_a_schema_is_of_one_request_and_no_batch(tmp_path: Path) -> None:
    text = """
from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType
from inference_schema.schema_decorators import input_schema


@batched
@input_schema("data", StandardPythonParameterType([1]))
def run(data):
    return data
"""
    with pytest.raises(Misuse, match=r"run\(\) has both @batched and @input_schema"):
        script(tmp_path, BATCHED + text)


def test_what_the_environment_has_is_taken_before_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the request and the response, whose server does not run here."""
    for package in ("inference_schema", "azureml"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "inference_schema" / "schema_util.py").write_text(
        "def is_schema_decorated(function): return True\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    taken = script(tmp_path, f"{_INIT}def run(x): return x + 1\n")
    assert asked(taken, {"x": 2}) == 3
    text = f"from azureml.contrib.services.aml_response import AMLResponse as A\n{_INIT}"
    found = script(tmp_path, f"{text}def run(x): return A(None, 200)\n")
    assert asked(found, {"x": 2}) == {}


def test_a_request_is_read_as_flask_reads_it() -> None:
    form = AMLRequest(
        headers=[("content-type", "application/x-www-form-urlencoded")], body=b"a=1&a=2&b=%C3%BC"
    )
    assert (form.form.getlist("a"), form.form["b"]) == (["1", "2"], "ü")
    assert form.headers["Content-Type"] == form.headers.get("CONTENT-TYPE") == form.content_type
    plain = AMLRequest(query="x=1", headers=[("Host", "h:1")], body=b"[1]")
    assert (plain.url, plain.full_path) == ("http://h:1/score?x=1", "/score?x=1")
    assert plain.get_json(silent=True) is None
    assert plain.get_json(force=True) == [1]
    with pytest.raises(Refused, match="expected application/json") as refused:
        _ = plain.json
    assert refused.value.status == 415


@pytest.mark.parametrize(
    ("kind", "body", "words"),
    [
        ("multipart/form-data", b"x", "no boundary"),
        ("multipart/form-data; boundary=b", b"--b\r\nA: b\r\n\r\nx", "--b-- is missing"),
        ("multipart/form-data; boundary=b", b"--b\r\nx\r\n--b--", "no headers"),
    ],
)
def test_a_torn_form_is_refused(kind: str, body: bytes, words: str) -> None:
    with pytest.raises(Refused, match=words):
        _ = AMLRequest(headers=[("Content-Type", kind)], body=body).files


def test_a_response_is_made_as_flask_makes_it() -> None:
    found = AMLResponse("a", 201, {"X-Two": "1, 2"})
    assert found.content_type == "text/html; charset=utf-8"
    assert found.headers.getlist("x-two") == ["1", "2"]
    assert AMLResponse({"a": 1}, 200, json_str=True).get_data(as_text=True) == '{"a": 1}'
    assert AMLResponse(b"\x00", 200, {"Content-Type": "image/png"}).mimetype == "image/png"
    found.mimetype = "text/plain"
    assert found.content_type == "text/plain; charset=utf-8"


_SWAGGER = """
import datetime
import numpy as np
from inference_schema.parameter_types.numpy_parameter_type import NumpyParameterType
from inference_schema.parameter_types.standard_py_parameter_type import StandardPythonParameterType
from inference_schema.schema_decorators import input_schema, output_schema

OPTIONS = {"a": 1, "b": [1.0], "c": "x", "d": True, "e": None,
           "n": NumpyParameterType(np.array([1])), "at": datetime.date(2020, 1, 1),
           "raw": b"ab", "mixed": [1, "a"], "none": []}


def init():
    pass


@input_schema("data", NumpyParameterType(np.array([[1, 2.5], [3, 4]])))
@input_schema("options", StandardPythonParameterType(OPTIONS))
@output_schema(StandardPythonParameterType({"out": [1, 2]}))
def run(data, options):
    return {}
"""
_DATA = {
    "type": "array", "format": "numpy.ndarray",
    "items": {"type": "array", "items": {"type": "number", "format": "double"}},
}  # fmt: skip
_INTEGER = {"type": "integer", "format": "int64"}


def swagger(found: Script, query: str = "") -> Any:
    answer = found.answer(AMLRequest("GET", "/swagger.json", query))
    assert answer.content_type == "application/json"
    return json.loads(answer.get_data())


def test_what_decorators_say_is_a_swagger_document(tmp_path: Path) -> None:
    """Schemas as inference_schema 1.8 itself makes them of these decorators."""
    found = swagger(script(tmp_path, _SWAGGER))
    given = found["definitions"]["ServiceInput"]
    assert found["swagger"] == "2.0" and list(given["properties"]) == ["data", "options"]
    assert given["properties"]["data"] == _DATA
    options = given["properties"]["options"]
    assert options["required"] == ["a", "b", "c", "d", "e", "n", "at", "raw", "mixed", "none"]
    assert options["properties"] == {
        "a": _INTEGER,
        "b": {"type": "array", "items": {"type": "number", "format": "double"}},
        "c": {"type": "string"},
        "d": {"type": "boolean"},
        "e": {"type": "object"},
        "n": {"type": "array", "items": _INTEGER, "format": "numpy.ndarray"},
        "at": {"type": "string", "format": "date"},
        "raw": {"type": "string", "format": "byte"},
        "mixed": {"type": "array", "items": {"type": "string"}},
        "none": {"type": "array", "items": {"type": "object"}},
    }
    example = given["example"]
    assert example["data"] == [[1.0, 2.5], [3.0, 4.0]]
    assert (example["options"]["n"], example["options"]["raw"]) == ([1], "YWI=")
    assert found["definitions"]["ServiceOutput"] == {
        "type": "object", "required": ["out"], "example": {"out": [1, 2]},
        "properties": {"out": {"type": "array", "items": _INTEGER}},
    }  # fmt: skip
    assert found["paths"]["/score"]["post"]["operationId"] == "RunMLService"


def test_versions_and_files_of_swagger(tmp_path: Path) -> None:
    found = script(tmp_path, _SWAGGER)
    third = swagger(found, "version=3")
    assert third["openapi"] == "3.0.3"
    assert third["components"]["schemas"]["ServiceInput"]["properties"]["data"] == _DATA
    assert swagger(found, "version=3.1")["openapi"] == "3.1.0"
    with pytest.raises(Refused, match=r"no version '4'.*expected one of 2, 2\.0, 3") as refused:
        swagger(found, "version=4")
    assert refused.value.status == 404
    (tmp_path / "swagger.json").write_text('{"mine": 2}')
    (tmp_path / "swagger3.json").write_text('{"mine": 3}')
    assert [swagger(found)["mine"], swagger(found, "version=3")["mine"]] == [2, 3]


def test_a_run_without_decorators_takes_anything(tmp_path: Path) -> None:
    found = swagger(script(tmp_path, _INIT + "def run(data):\n    return data\n"))
    assert found["definitions"]["ServiceInput"] == {"type": "object", "example": {}}
