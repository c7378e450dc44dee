"""Tensors of the console: what is taken, what is refused and how, what is shown."""

import base64
import math
import struct
from typing import Any

import numpy as np
import pytest

from controlplane.console.tensors import (
    MAX_VALUES_SHOWN,
    NUMPY_TYPES,
    Tensor,
    TensorError,
    check_against,
    read_input,
    show_output,
)


def tensor(datatype: str, data: Any, shape: list[int] | None = None, name: str = "x") -> Tensor:
    axes = shape if shape is not None else [len(data)]
    return read_input({"name": name, "datatype": datatype, "shape": axes, "data": data})


@pytest.mark.parametrize(
    ("datatype", "data"),
    [
        ("BOOL", [True, False]),
        ("UINT8", [0, 255]),
        ("INT8", [-128, 127]),
        ("UINT16", [0, 65535]),
        ("INT16", [-32768, 32767]),
        ("UINT32", [0, 2**32 - 1]),
        ("INT32", [-(2**31), 2**31 - 1]),
        ("UINT64", [0, 2**53]),
        ("INT64", [-(2**53), 2**53]),
        ("FP16", [0.5, -2.0]),
        ("BF16", [0.5, -2.0]),
        ("FP32", [0.5, -2.0]),
        ("FP64", [0.1, 1e300]),
        ("FP32", ["NaN", "Infinity", "-Infinity"]),
        ("BYTES", ["", "grün", "a\nb"]),
        ("BYTES", []),
        ("FP32", []),
    ],
)
def test_every_datatype_comes_back_as_it_went(datatype: str, data: list[Any]) -> None:
    shown = show_output(tensor(datatype, data))
    assert shown["data"] == data
    assert not shown["truncated"]


def test_whole_numbers_beyond_two_to_the_53rd_travel_as_text() -> None:
    texts = ["9007199254740993", "-9223372036854775808", "9223372036854775807"]
    assert show_output(tensor("INT64", texts))["data"] == texts
    assert show_output(tensor("UINT64", ["18446744073709551615"]))["data"] == [
        "18446744073709551615"
    ]


@pytest.mark.parametrize("datatype", sorted(NUMPY_TYPES))
def test_base64_is_the_raw_little_endian_bytes(datatype: str) -> None:
    raw = np.array([0, 1], NUMPY_TYPES[datatype]).tobytes()
    read = tensor(datatype, {"b64": base64.b64encode(raw).decode()}, [2])
    assert read.raw == raw


def test_base64_strings_are_counted() -> None:
    raw = b"".join(struct.pack("<I", len(text)) + text for text in (b"a", b"bc"))
    packed = base64.b64encode(raw).decode()
    assert show_output(tensor("BYTES", {"b64": packed}, [2]))["data"] == ["a", "bc"]
    with pytest.raises(TensorError, match="x: 2 strings sent, the shape holds 3"):
        tensor("BYTES", {"b64": packed}, [3])
    with pytest.raises(TensorError, match="cut short"):
        tensor("BYTES", {"b64": base64.b64encode(raw[:-1]).decode()}, [2])


@pytest.mark.parametrize(
    ("datatype", "data", "words"),
    [
        ("UINT8", [1, 300], "x: value 2: 300 does not fit UINT8 (0 to 255)."),
        ("INT64", ["9223372036854775808"], "does not fit INT64"),
        ("INT32", [1.5], "x: value 1: expected a whole number, got 1.5"),
        ("INT32", ["٣"], "expected a whole number"),
        ("BOOL", ["yes"], "expected true or false, got 'yes'"),
        ("FP16", [70000.0], "x: value 1: 70000 is too large"),
        ("FP32", ["one"], "expected a number, got 'one'"),
        ("FP32", [True], "expected a number, got True"),
        ("FP32", [10**400], "too large"),
        ("BYTES", [1], "expected a text, got 1"),
        ("FP99", [1], "unknown datatype 'FP99'"),
    ],
)
def test_a_value_that_does_not_fit_is_named(datatype: str, data: list[Any], words: str) -> None:
    with pytest.raises(TensorError) as raised:
        tensor(datatype, data)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (5, '"name"'),
        ({"name": "x", "datatype": "FP32", "shape": [2], "data": [1]}, "1 values sent"),
        ({"name": "x", "datatype": "FP32", "shape": [-1], "data": []}, "shape must be"),
        ({"name": "x", "datatype": "FP32", "shape": [True], "data": [1]}, "shape must be"),
        ({"name": "x", "datatype": "FP32", "shape": [10**6, 10**6], "data": []}, "at most"),
        # why: the product of many axes is a number whose making stops the whole process
        ({"name": "x", "datatype": "FP32", "shape": [9] * 65, "data": []}, "at most 64 axes"),
        ({"name": "x", "datatype": "FP32", "shape": [10**4000, 10**4000], "data": []}, "axis 1"),
        ({"name": "x", "datatype": "FP32", "shape": [1], "data": "1"}, "flat list"),
        ({"name": "x", "datatype": "FP32", "shape": [1], "data": {"b64": "???"}}, "base64"),
        ({"name": "x", "datatype": "FP32", "shape": [1], "data": {"b64": "ä"}}, "base64"),
        ({"name": "x", "datatype": [], "shape": [1], "data": [1]}, "unknown datatype"),
        ({"name": "x", "datatype": "FP32", "shape": [1], "data": {"b64": "AAA="}}, "2 bytes sent"),
    ],
)
def test_a_malformed_input_is_explained(entry: Any, words: str) -> None:
    with pytest.raises(TensorError) as raised:
        read_input(entry)
    assert words in str(raised.value)


IMAGE = [{"name": "data", "datatype": "FP32", "shape": [3, 224, 224]}]


def sent(shape: tuple[int, ...], name: str = "data", datatype: str = "FP32") -> list[Tensor]:
    return [Tensor(name, datatype, shape, b"")]


def test_a_shape_that_fits_passes() -> None:
    check_against(sent((3, 224, 224)), IMAGE, max_batch_size=0)
    check_against(sent((8, 3, 224, 224)), IMAGE, max_batch_size=8)
    free = [{"name": "data", "datatype": "FP32", "shape": ["height", -1]}]
    check_against(sent((5, 7)), free, max_batch_size=0)


@pytest.mark.parametrize(
    ("tensors", "max_batch_size", "words"),
    [
        (sent((3, 224, 223)), 0, "data: 3 × 224 × 223 sent, 3 × 224 × 224 expected (axis 3)"),
        (
            sent((3, 224, 224)),
            8,
            "data: 3 × 224 × 224 sent, any × 3 × 224 × 224 expected (3 axes instead of 4)",
        ),
        (sent((9, 3, 224, 224)), 8, "data: a batch of 9 sent, 1 to 8 expected (axis 1)"),
        (sent((0, 3, 224, 224)), 8, "data: a batch of 0 sent"),
        (sent((3, 224, 224), datatype="FP16"), 0, "data: FP16 sent, FP32 expected."),
        (sent((1,), name="dta"), 0, "dta: the model has no such input. It has: data."),
        ([], 0, "data: missing."),
    ],
)
def test_a_shape_that_does_not_fit_names_tensor_and_axis(
    tensors: list[Tensor], max_batch_size: int, words: str
) -> None:
    with pytest.raises(TensorError) as raised:
        check_against(tensors, IMAGE, max_batch_size)
    assert str(raised.value).startswith(words)


def test_batches_must_agree_and_optional_inputs_may_be_absent() -> None:
    two = [
        {"name": "a", "datatype": "FP32", "shape": [1]},
        {"name": "b", "datatype": "FP32", "shape": [1], "optional": True},
    ]
    check_against(sent((2, 1), "a"), two, max_batch_size=4)
    with pytest.raises(TensorError, match="b: a batch of 3 sent, but a has 2"):
        check_against([*sent((2, 1), "a"), *sent((3, 1), "b")], two, max_batch_size=4)


def test_long_outputs_are_cut_but_counted_whole_in_the_statistics() -> None:
    values = np.arange(MAX_VALUES_SHOWN + 5, dtype=np.float32)
    shown = show_output(Tensor("y", "FP32", values.shape, values.tobytes()))
    assert len(shown["data"]) == MAX_VALUES_SHOWN
    assert shown["truncated"]
    assert base64.b64decode(shown["raw"]) == values.tobytes()
    assert shown["stats"]["max"] == MAX_VALUES_SHOWN + 4


def test_raw_bytes_come_only_where_values_cannot_say_it() -> None:
    assert show_output(tensor("FP32", [1.0]))["raw"] is None
    assert show_output(tensor("BYTES", ["text"]))["raw"] is None
    picture = b"\x89PNG\xff"
    raw = len(picture).to_bytes(4, "little") + picture
    shown = show_output(Tensor("y", "BYTES", (1,), raw))
    assert base64.b64decode(shown["raw"]) == raw


def test_statistics_leave_out_what_is_not_finite() -> None:
    shown = show_output(tensor("FP32", [1.0, 3.0, "NaN", "Infinity"]))
    assert shown["stats"] == {"min": 1.0, "max": 3.0, "mean": 2.0, "nan": 1, "infinite": 1}
    nothing = show_output(tensor("FP32", ["NaN"]))["stats"]
    assert nothing == {"min": None, "max": None, "mean": None, "nan": 1, "infinite": 0}
    assert show_output(tensor("BYTES", ["a"]))["stats"] is None
    assert math.isclose(show_output(tensor("FP64", [0.1, 0.3]))["stats"]["mean"], 0.2)


def test_an_output_whose_bytes_do_not_fit_its_shape_is_refused() -> None:
    with pytest.raises(TensorError, match="1 values, the shape holds 2"):
        show_output(Tensor("y", "FP32", (2,), b"\0" * 4))
    with pytest.raises(TensorError, match="cannot be read"):
        show_output(Tensor("y", "FP32", (1,), b"\0" * 3))
