"""MLflow's and Azure's words for rows and arrays: what a model gets, and what is told of it."""

import json
import tracemalloc
from typing import Any

import numpy as np
import pytest

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.invocations import Asked, asked, fitted, is_invocation
from worker_runtime.protocols.http.json_values import BadJson
from worker_runtime.protocols.http.nested_json import Pieces, is_long
from worker_runtime.protocols.http.predictions import written
from worker_runtime.protocols.slices import Steps, at_once
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

JSON = "application/json"
CSV = "text/csv; charset=utf-8"


def model(**inputs: tuple[Any, ...]) -> Signature:
    """``inputs``: name -> data type and dims."""
    specs = [TensorSpec(name, BY_NAME[kind], tuple(dims)) for name, (kind, *dims) in inputs.items()]
    return Signature("m", 0, tuple(specs), ())


ONE = model(x=("FP32", -1, 2))
TWO = model(age=("INT64", -1), city=("BYTES", -1))


def read(signature: Signature, document: Any, content_type: str = JSON) -> Asked:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return at_once(asked(signature, content_type, body))


@pytest.mark.parametrize(
    ("document", "table"),
    [
        ({"inputs": [[1, 2], [3, 4]]}, False),
        ({"instances": [[1, 2], [3, 4]]}, False),
        ({"inputs": {"x": [[1, 2], [3, 4]]}}, False),
        ({"instances": [{"x": [1, 2]}, {"x": [3, 4]}]}, False),
        ({"input_data": [[1, 2], [3, 4]]}, True),
        ({"input_data": {"columns": ["a", "b"], "index": [7, 8], "data": [[1, 2], [3, 4]]}}, True),
        ({"dataframe_split": {"data": [[1, 2], [3, 4]]}, "params": None}, True),
        ({"dataframe_records": [{"a": 1, "b": 2}, {"b": 4, "a": 3}]}, True),
        (b"a,b\r\n1,2\r\n3,4\r\n", True),
    ],
)
def test_rows_and_arrays_go_to_the_only_input(document: Any, table: bool) -> None:
    kind = CSV if isinstance(document, bytes) else JSON
    found = read(ONE, document, kind)
    assert found.table == table
    assert found.tensors["x"].dtype == np.float32
    assert found.tensors["x"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "document",
    [
        {"dataframe_split": {"columns": ["city", "age"], "data": [["Bern", 3], ["Köln", 4]]}},
        {"dataframe_records": [{"age": 3, "city": "Bern"}, {"age": 4, "city": "Köln"}]},
        {"inputs": {"city": ["Bern", "Köln"], "age": [3, 4]}},
        {"instances": [{"age": 3, "city": "Bern"}, {"age": 4, "city": "Köln"}]},
        "city,age\nBern,3\nKöln,4\n".encode(),
    ],
)
def test_columns_go_to_the_inputs_of_their_names(document: Any) -> None:
    kind = CSV if isinstance(document, bytes) else JSON
    found = read(TWO, document, kind).tensors
    assert list(found) == ["age", "city"], "in the model's order"
    assert (found["age"].dtype, found["age"].tolist()) == (np.int64, [3, 4])
    assert found["city"].tolist() == [b"Bern", "Köln".encode()]


@pytest.mark.parametrize(
    ("signature", "document", "words"),
    [
        (ONE, {}, "expected one of input_data, dataframe_split, dataframe_records, instances, "
                  "inputs, got none"),
        (ONE, {"inputs": [[1, 2]], "instances": []}, "got instances, inputs"),
        (ONE, {"inputs": [[1, 2]], "params": {"t": 1}}, "params: model 'm' takes none"),
        (ONE, {"inputs": [[1, 2], [3]]}, "'x': the rows have not all the same shape"),
        (ONE, {"inputs": [["1", "2"]]}, "'x': not all values are FP32"),
        (ONE, {"inputs": {"y": [1]}}, "inputs: x is missing; y is no input of the model; "
                                      "expected x"),
        (TWO, {"inputs": [1, 2]}, "inputs: expected arrays by name, for the model takes age, city"),
        (TWO, {"dataframe_split": {"data": [[1, "a"]]}}, "dataframe_split: expected columns, for "
                                                          "the model has 2 inputs"),
        (TWO, {"dataframe_split": {"columns": ["age", "city"], "data": [[1]]}},
         "dataframe_split: row 0 has 1 values, expected 2"),
        (TWO, {"dataframe_split": {"columns": ["age", "city", "age"], "data": [[1, "a", 2]]}},
         "dataframe_split: columns of the same name: age"),
        (ONE, {"dataframe_split": {"columns": ["a", "b"], "data": [[1, 2, 3]]}},
         "dataframe_split: row 0 has 3 values, expected 2"),
        (ONE, {"dataframe_split": {"columns": ["a"]}}, "dataframe_split: data is missing"),
        (ONE, {"dataframe_records": []}, "dataframe_records: expected one row at least"),
        (TWO, {"dataframe_split": {"columns": ["age", "city"], "data": [[1.5, "a"]]}},
         "'age': not all values are INT64"),
        (TWO, {"dataframe_split": {"columns": ["age", "city"], "data": [[None, "a"]]}},
         "'age': not all values are INT64"),
        (TWO, {"dataframe_split": {"columns": ["age", "city"], "data": [[1, 2]]}},
         "'city': not all values are BYTES"),
        (TWO, {"dataframe_records": [{"age": 1, "city": "a"}, {"age": 2}]},
         "dataframe_records: row 1 and row 0 differ in city"),
        (TWO, {"dataframe_split": [1]}, "dataframe_split: Expected `object`, got `array`"),
        (ONE, b'{"inputs": [[1, 2], [3,}', "failed to parse the request JSON buffer"),
        (ONE, b'{"inputs": %b}' % (b"[" * 20_000), "JSON nesting depth exceeds"),
        (ONE, b'{"inputs": %b1%b}' % (b"[" * 100, b"]" * 100), "not all the same shape"),
        (ONE, b'{"inputs": %b%b%b}' % (b"[" * 20, b"1," * 40_000 + b"1", b"]" * 20),
         "'x': more than 16 axes"),
        (ONE, b'{"inputs": [[1, NaN]]}', "not finite numbers are null in JSON"),
        (ONE, b'{"inputs": [[1, -Infinity]]}', "not finite numbers are null in JSON"),
        (ONE, b'{"inputs": [["\xff", 1]]}', "the JSON is no UTF-8"),
        (ONE, b'{"inputs": [[1e999, 1]]}', "Number out of range"),
        (ONE, b'{"inputs": [[%b, 1]]}' % (b"9" * 5000), "Integer value out of range"),
        (ONE, {"inputs": [["a" * 16_000, *[1] * 8000]]}, "'x': not all values are FP32"),
        (ONE, {"inputs": [[1], *[2] * 90_000]}, "the rows have not all the same shape"),
        (ONE, {"inputs": [[1], [2] * 90_000]}, "the rows have not all the same shape"),
        (model(x=("BF16", -1)), {"inputs": [1]}, "receiving BF16 data via JSON is not supported"),
        (model(x=("UINT8", -1)), {"inputs": [256]}, "'x': not all values are UINT8"),
        (model(x=("UINT8", -1)), {"inputs": [1, True]}, "'x': not all values are UINT8"),
        (model(x=("BOOL", -1)), {"inputs": [1]}, "'x': not all values are BOOL"),
    ],
)  # fmt: skip
def test_what_says_nothing_to_the_model_is_told_by_name(
    signature: Signature, document: Any, words: str
) -> None:
    with pytest.raises((InvalidArgument, BadJson)) as caught:
        read(signature, document)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "CSV: expected a first line"),
        (b"a,a\n1,2\n", "CSV: columns of the same name: a"),
        (b"a,b\n\n1,2\n1\n", "CSV: line 4 has 1 values, expected 2"),
        (b"a,b\n1,x\n", "'x': not all values are FP32"),
        (b"a,b\n1,1_000\n", "'x': not all values are FP32"),
        (b"a,b\n1," + b"1" * 200_000 + b"\n", "CSV: field larger than field limit"),
        (b"a,b\n" + b'"\n",' * 400_000, "CSV: a line has more than 1048576 characters"),
        (b"a," * 600_000, "CSV: a line has more than 1048576 characters"),
        (b"a," * 20_000, "CSV: more than 16384 values"),
        (b'a,b\n1,"x\n', "CSV: unexpected end of data"),
        (b"a,b\n1,\xff\n", "CSV is no UTF-8"),
    ],
)
def test_a_wrong_table_of_text_is_told_by_its_line(body: bytes, words: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read(ONE, body, CSV)
    assert words in str(caught.value)


@pytest.mark.parametrize("columns", [["a", "b"], [0, 1], None])
def test_columns_of_the_only_input_may_be_numbers_as_of_pandas(columns: Any) -> None:
    found = read(ONE, {"input_data": {"columns": columns, "index": [0], "data": [[1, 2]]}})
    assert found.tensors["x"].tolist() == [[1, 2]]


def test_empty_lines_are_no_rows() -> None:
    assert read(ONE, b"a,b\n\n1,2\n\n3,4\n\n", CSV).tensors["x"].tolist() == [[1, 2], [3, 4]]


def test_rows_with_long_values_are_read_in_pieces() -> None:
    """Of a table whose cells are arrays, in each of the ways to say it."""
    image = np.arange(20_000).reshape(2, -1).tolist()
    one, two = model(x=("INT64", -1, 2, 10_000)), model(x=("INT64", -1, 2, 10_000), n=("BYTES", -1))
    rows = [{"x": image, "n": 'a,]}\\"'}, {"x": image, "n": "b" * 40_000}]
    split = {"columns": ["n", "x"], "data": [[row["n"], row["x"]] for row in rows]}
    for document in ({"dataframe_records": rows}, {"dataframe_split": split}):
        found = read(two, document).tensors
        assert found["x"].tolist() == [image, image]
        assert found["n"].tolist() == [row["n"].encode() for row in rows]  # type: ignore[attr-defined]
    found = read(one, {"dataframe_records": [{"x": image}, {"x": image}]}).tensors
    assert found["x"].tolist() == [image, image]


def test_rows_of_many_columns_are_a_matrix() -> None:
    row = {f"column {number}": number for number in range(9000)}
    found = read(model(x=("FP32", -1, 9000)), {"dataframe_records": [row, row]}).tensors["x"]
    assert found.tolist() == [[*range(9000)]] * 2


@pytest.mark.parametrize(
    "document",
    [
        {"dataframe_split": {"columns": ["k" * 99 + str(i) for i in range(9000)], "data": []}},
        {"dataframe_records": [{"a": 1}, {"k" * 99 + str(i): i for i in range(9000)}]},
        {"inputs": {"k" * 99 + str(i): i for i in range(9000)}},
        {"inputs": {str(i): i for i in range(20_000)}},
        {"dataframe_records": [{str(i): i for i in range(20_000)}]},
        {"dataframe_split": {"columns": ["age", "city"], "data": [[1] * 20_000]}},
    ],
)
def test_an_error_is_short_however_much_was_sent(document: Any) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read(TWO, document)
    assert len(str(caught.value)) < 2000


LONG = "1," * 40_000 + "1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'{{"inputs": [{LONG}],}}', "a value is missing at a comma"),
        (f'{{"inputs": [{LONG},]}}', "failed to parse the request JSON buffer"),
        (f'{{"inputs": [,{LONG}]}}', "failed to parse the request JSON buffer"),
        (f'{{"inputs": [{LONG}}}', "its brackets or quotes do not fit together"),
        (f'{{"inputs": [{LONG}]', "it ends too early"),
        (f'{{"inputs": [{LONG}]]}}', "its brackets or quotes do not fit together"),
        (f'{{"inputs": [[{LONG}], [1]}}', "its brackets or quotes do not fit together"),
        (f'{{"inputs": [[{LONG}] [1]]}}', "its brackets or quotes do not fit together"),
        (f'{{"inputs": ["{LONG}]}}', "its brackets or quotes do not fit together"),
        (f'{{"inputs": [{LONG} 1]}}', "failed to parse the request JSON buffer"),
        (f'{{"inputs": [{LONG}], "more": [{LONG} 1]}}', "failed to parse the request JSON buffer"),
        (f'{{"inputs": [1], "more": {"[" * 40}[{LONG}]{"]" * 40}}}', "more than 16 long values"),
        (f'{{"dataframe_split": {{"data": [[1]], "index": [{LONG},]}}}}', "failed to parse"),
        (f'{{"inputs": [[{{"a": [{LONG}]}}]]}}', "'x': not all values are FP32"),
        (f'{{"inputs": [["{LONG}"]]}}', "'x': not all values are FP32"),
        (f'{{"inputs": [{LONG}, "\\ud800"]}}', "failed to parse the request JSON buffer"),
        (f'{{"{LONG}": [{LONG}]}}', "expected a name of less than 4096 bytes"),
        (f'{{inputs: [{LONG}]}}', "failed to parse the request JSON buffer"),
        (f'\x0b{{"inputs": [{LONG}]}}', "the JSON: failed to parse the request JSON buffer"),
    ],
)  # fmt: skip
def test_a_long_body_that_is_no_json_is_refused_wherever_it_is_wrong(text: str, words: str) -> None:
    """Its parts are looked at apart, and nobody has looked at it as a whole."""
    with pytest.raises(InvalidArgument) as caught:
        read(ONE, text.encode())
    assert words in str(caught.value)
    assert "(byte" not in str(caught.value), "that would be in a part"


def test_one_long_text_makes_no_number_long() -> None:
    """NumPy makes every value of a list as long as the longest text in it."""
    body = json.dumps({"inputs": [["a" * 16_000, *[1] * 8000]]}).encode()
    tracemalloc.start()
    try:
        with pytest.raises(InvalidArgument, match="not all values are FP32"):
            read(ONE, body)
        assert tracemalloc.get_traced_memory()[1] < 50 * len(body)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "elements",
    [
        ["1"] * 50_000,
        ["[1]", *["2"] * 50_000],
        ["1", f"[{'2,' * 50_000}2]", *["3"] * 50_000],
        [f'"{"a,]" * 30_000}"', '"\\\\"', '"\\",["', *['{"a": "[,"}'] * 9000],
        ['"' + "\\\\" * 40_000 + '"', '"' + '\\"' * 40_000 + '"', "null"],
        [],
    ],
)  # fmt: skip
def test_each_piece_is_of_whole_elements_and_short_or_one(elements: list[str]) -> None:
    raw = f"[{','.join(elements)}]".encode()
    pieces, found = Pieces(raw, "x"), list[Any]()
    while piece := at_once(pieces.next()):
        part = json.loads(b"[%b]" % piece)
        assert len(part) == 1 or not is_long(piece)
        found += part
    assert found == json.loads(raw)


def test_what_is_missing_among_numbers_is_no_number() -> None:
    found = read(ONE, b"a,b\n1,\n", CSV).tensors["x"]
    assert np.isnan(found[0, 1])
    assert np.isnan(read(ONE, {"inputs": [[None, 1]]}).tensors["x"][0, 0])


@pytest.mark.parametrize("rows", [(3000, 7), (1, 3000, 7), (2, 5, 4000), (60_000,)])
def test_large_arrays_are_read_in_slices(rows: tuple[int, ...]) -> None:
    """Each slice holds the loop up for a moment only, however the axes are."""
    expected = np.arange(np.prod(rows), dtype=np.int64).reshape(rows)
    body = json.dumps({"inputs": expected.tolist()}).encode()
    steps: Steps[Asked] = asked(model(x=("INT64", *[-1] * len(rows))), JSON, body)
    count = 0
    try:
        while True:
            next(steps)
            count += 1
    except StopIteration as end:
        found: Asked = end.value
    assert count > len(body) / 128 / 1024
    np.testing.assert_array_equal(found.tensors["x"], expected)


def test_large_uneven_rows_are_refused_as_small_ones() -> None:
    rows = [[1] * 7] * 9000 + [[1] * 8]
    with pytest.raises(InvalidArgument, match="the rows have not all the same shape"):
        read(ONE, {"inputs": rows})


@pytest.mark.parametrize(
    ("document", "mine"),
    [
        ({"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}, False),
        ({"inputs": []}, False),
        ({"id": "1", "inputs": [ {"name": "x"} ]}, False),
        ({"inputs": [[1]]}, True),
        ({"inputs": {"x": [1]}}, True),
        ({"params": {}, "instances": [1]}, True),
        ({"inputs": [{"name": 'a "instances": b', "data": []}]}, False),
        ({"parameters": {"instances": 1, "b": '"{'}, "inputs": [{"name": "x"}]}, False),
        ({"params": {"instances": 1, "b": '\\"{'}, "instances": [1]}, True),
    ],
)  # fmt: skip
def test_whose_words_they_are(document: Any, mine: bool) -> None:
    assert is_invocation(JSON, json.dumps(document).encode()) == mine
    assert is_invocation(JSON, json.dumps(document, indent=2).encode()) == mine


@pytest.mark.parametrize(
    ("dims", "most", "given", "expected"),
    [
        ((1,), 4, (3,), (3, 1)),
        ((), 4, (3,), (3,)),
        ((2, 2), 4, (3, 4), (3, 2, 2)),
        ((-1,), 4, (3,), (3,)),
        ((2, 2), 4, (3, 5), (3, 5)),
        ((-1, 2), 0, (3, 2), (3, 2)),
    ],
)
def test_axes_of_a_row_are_made_those_of_the_model(
    dims: tuple[int, ...], most: int, given: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    spec = TensorSpec("x", BY_NAME["FP32"], dims)
    assert fitted(np.zeros(given, np.float32), spec, most).shape == expected


@pytest.mark.parametrize(
    ("word", "table", "outputs", "expected"),
    [
        ("inputs", False, {"y": [[1, 2], [3, 4]]}, {"predictions": {"y": [[1, 2], [3, 4]]}}),
        ("dataframe_split", True, {"y": [[1.5], [2.5]], "z": [b"a", b"b"]},
         {"predictions": [{"y": 1.5, "z": "a"}, {"y": 2.5, "z": "b"}]}),
        ("input_data", True, {"y": [[1, 2], [3, 4]]}, [{"y": [1, 2]}, {"y": [3, 4]}]),
        ("input_data", True, {"y": [1, 2], "z": [1, 2, 3]}, [{"y": [1, 2], "z": [1, 2, 3]}]),
        ("input_data", True, {"y": []}, []),
        ("inputs", False, {"y": [float("nan"), 1.0]}, {"predictions": {"y": [None, 1.0]}}),
        ("inputs", False, {"y": 7}, {"predictions": {"y": 7}}),
    ],
)  # fmt: skip
def test_outputs_are_told_as_they_were_asked_for(
    word: str, table: bool, outputs: dict[str, Any], expected: Any
) -> None:
    arrays = {
        name: np.array(value, object if value and b"a" in np.atleast_1d(value).tolist() else None)
        for name, value in outputs.items()
    }
    text = at_once(written(Asked(word, table, {}), arrays))
    assert json.loads(text) == expected


@pytest.mark.parametrize("table", [True, False])
def test_large_outputs_are_written_in_slices(table: bool) -> None:
    array = np.arange(100_000).reshape(1000, 2, 50)
    steps = written(Asked("input_data", table, {}), {"y": array})
    count = sum(1 for _ in steps)
    assert count >= 20
    found = json.loads(at_once(written(Asked("input_data", table, {}), {"y": array})))
    told = [row["y"] for row in found] if table else found["y"]
    assert told == array.tolist()
