"""Trace settings as clients change them: Triton's rules, values and texts."""

from pathlib import Path
from typing import Any

import pytest

from worker_runtime.errors import Internal, InvalidArgument, RuntimeFault, Unsupported
from worker_runtime.observability.dialect import Dialect
from worker_runtime.observability.tracing.config import Level, Mode, TraceConfig, read_trace_changes
from worker_runtime.observability.tracing.tracer import Tracer

START: dict[str, Any] = {
    "trace_level": ["TIMESTAMPS"],
    "trace_rate": "1",
    "trace_count": "-1",
    "log_frequency": "0",
    "trace_file": "global.log",
    "trace_mode": "triton",
}


@pytest.fixture
def tracer() -> Tracer:
    return Tracer(TraceConfig(levels=frozenset({Level.TIMESTAMPS}), rate=1, file="global.log"))


def change(tracer: Tracer, model: str, /, **changes: Any) -> dict[str, Any]:
    tracer.update(model, read_trace_changes(changes, Dialect.JSON))
    return tracer.settings(model)


def test_a_model_shows_the_setting_of_all(tracer: Tracer) -> None:
    assert tracer.settings() == START
    assert tracer.settings("simple") == START
    assert list(tracer.settings()) == list(START)


def test_changes_reach_models_where_they_set_nothing_themselves(tracer: Tracer) -> None:
    first = change(tracer, "simple", log_frequency="5")
    assert first == START | {"log_frequency": "5"}
    both = ["TIMESTAMPS", "TENSORS"]
    assert change(tracer, "", trace_level=["TENSORS", "TIMESTAMPS"]) == START | {
        "trace_level": both
    }
    assert tracer.settings("simple") == START | {"log_frequency": "5", "trace_level": both}


def test_clearing_falls_back_step_by_step(tracer: Tracer) -> None:
    change(tracer, "simple", trace_rate="12", log_frequency="34")
    change(tracer, "", trace_rate="56", trace_count="78", trace_level=["OFF"])
    off = START | {"trace_level": ["OFF"]}
    assert change(tracer, "", trace_rate=None, trace_count=None) == off
    assert tracer.settings("simple") == off | {"trace_rate": "12", "log_frequency": "34"}
    cleared = change(tracer, "simple", trace_rate=None, trace_level=None)
    assert cleared == off | {"log_frequency": "34"}
    assert change(tracer, "simple", log_frequency=None) == off


# what is asked for, and what differs from the start then
ACCEPTED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"trace_level": ["BAD"]}, {}),
    ({"trace_level": []}, {}),
    ({"trace_level": ["MIN"]}, {}),
    ({"trace_level": ["OFF"]}, {"trace_level": ["OFF"]}),
    ({"trace_level": ["TENSORS", "BAD"]}, {"trace_level": ["TENSORS"]}),
    ({"trace_rate": "-1"}, {"trace_rate": "4294967295"}),
    ({"trace_rate": "-2147483648"}, {"trace_rate": "2147483648"}),
    ({"trace_rate": " 12x"}, {"trace_rate": "12"}),
    ({"trace_rate": None, "trace_level": None}, {}),
    ({"trace_count": "5"}, {"trace_count": "5"}),
    ({"log_frequency": "-1"}, {"log_frequency": "4294967295"}),
    ({"foo": "5", "trace_mode": "opentelemetry"}, {}),
]


@pytest.mark.parametrize(("asked", "differs"), ACCEPTED)
def test_what_is_accepted(tracer: Tracer, asked: dict[str, Any], differs: dict[str, Any]) -> None:
    assert change(tracer, "", **asked) == START | differs


FILE = "trace file location can not be updated through network protocol"
ONLY_OFF = "Expect only one trace level 'OFF' is specified"
NO_TEXT = "attempt to access JSON non-string as string"
REFUSED: list[tuple[dict[str, Any], Dialect, type[RuntimeFault], str]] = [
    ({"trace_file": "x"}, Dialect.JSON, Unsupported, FILE),
    ({"trace_file": None}, Dialect.JSON, Unsupported, FILE),
    ({"trace_file": []}, Dialect.LISTS, Unsupported, FILE),
    ({"trace_level": "OFF"}, Dialect.JSON, Internal, "attempt to access JSON non-array as array"),
    ({"trace_level": [1]}, Dialect.JSON, Internal, NO_TEXT),
    ({"trace_level": ["OFF", "TIMESTAMPS"]}, Dialect.JSON, InvalidArgument, ONLY_OFF),
    ({"trace_level": ["TIMESTAMPS", "OFF"]}, Dialect.LISTS, InvalidArgument, ONLY_OFF),
    ({"trace_rate": 1}, Dialect.JSON, Internal, NO_TEXT),
    ({"trace_rate": ["1"]}, Dialect.JSON, Internal, NO_TEXT),
    (
        {"trace_rate": ["1", "2"]},
        Dialect.LISTS,
        InvalidArgument,
        "expect only 1 value for 'trace_rate'",
    ),
    ({"trace_rate": "x"}, Dialect.JSON, InvalidArgument, "Unable to parse 'trace_rate', got: x"),
    ({"trace_rate": ""}, Dialect.JSON, InvalidArgument, "Unable to parse 'trace_rate', got: "),
    (
        {"trace_rate": ["2147483648"]},
        Dialect.LISTS,
        InvalidArgument,
        "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 2147483648",
    ),
    (
        {"trace_rate": "0"},
        Dialect.JSON,
        InvalidArgument,
        "Attempting to set invalid trace setting :sample rate must be non-zero",
    ),
    (
        {"trace_count": "-2"},
        Dialect.JSON,
        InvalidArgument,
        "Unable to parse 'trace_count'. Expecting value >= -1, got:-2",
    ),
    (
        {"trace_count": ["-2"]},
        Dialect.LISTS,
        InvalidArgument,
        "Unable to parse 'trace_count'. Expecting value >= -1, got: -2",
    ),
    (
        {"trace_count": "99999999999"},
        Dialect.JSON,
        InvalidArgument,
        "Unable to parse 'trace_count', value is out of range [ -1, 2147483647 ], got: 99999999999",
    ),
    (
        {"trace_count": "0"},
        Dialect.JSON,
        InvalidArgument,
        "Attempting to set invalid trace setting :",
    ),
    ({"log_frequency": 5}, Dialect.JSON, Internal, NO_TEXT),
    (
        {"log_frequency": ["x"]},
        Dialect.LISTS,
        InvalidArgument,
        "Unable to parse 'log_frequency', got: x",
    ),
]


@pytest.mark.parametrize(("asked", "dialect", "kind", "text"), REFUSED)
def test_what_is_refused(
    tracer: Tracer, asked: dict[str, Any], dialect: Dialect, kind: type[RuntimeFault], text: str
) -> None:
    with pytest.raises(RuntimeFault) as caught:
        tracer.update("", read_trace_changes(asked, dialect))
    assert (type(caught.value), str(caught.value)) == (kind, text)
    assert tracer.settings() == START


def test_lists_clear_when_they_are_empty(tracer: Tracer) -> None:
    tracer.update("", read_trace_changes({"trace_rate": ["7"]}, Dialect.LISTS))
    assert tracer.settings()["trace_rate"] == "7"
    tracer.update("", read_trace_changes({"trace_rate": []}, Dialect.LISTS))
    assert tracer.settings() == START


def test_nothing_is_active_until_something_can_be_sampled(tmp_path: Path) -> None:
    tracer = Tracer(TraceConfig(rate=1, file=str(tmp_path / "trace.json")))
    assert not tracer.active
    change(tracer, "simple", trace_level=["TIMESTAMPS"])
    assert tracer.active
    change(tracer, "simple", trace_level=None)
    assert not tracer.active


def test_a_setting_without_a_file_cannot_be_turned_on() -> None:
    with pytest.raises(InvalidArgument, match="setting :trace file name is not given"):
        change(Tracer(), "", trace_level=["TIMESTAMPS"])


def test_opentelemetry_shows_its_options() -> None:
    options = (("url", "localhost:1/v1/traces"), ("resource", "a=b"), ("bsp_schedule_delay", "9"))
    tracer = Tracer(TraceConfig(mode=Mode.OPENTELEMETRY, options=options))
    assert tracer.settings() == {
        "trace_level": ["OFF"],
        "trace_rate": "1000",
        "trace_count": "-1",
        "trace_mode": "opentelemetry",
        "url": "localhost:1/v1/traces",
        "resource": "a=b",
        "bsp_schedule_delay": "9",
        "bsp_max_export_batch_size": "512",
        "bsp_max_queue_size": "2048",
    }
    tracer.close()
