"""A sample of requests becomes JSON lines: copied at once, bounded everywhere, never waited for."""

import hashlib
import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.runtime_process import wait_until
from worker_runtime.errors import InvalidArgument
from worker_runtime.observability.capture import capture as capture_module
from worker_runtime.observability.capture import spool as spool_module
from worker_runtime.observability.capture.capture import Capture
from worker_runtime.observability.capture.settings import (
    CaptureConfig,
    CaptureSettings,
    read_config,
)
from worker_runtime.observability.capture.spool import FINISHED, Spool
from worker_runtime.observability.requests.watched import padded
from worker_runtime.types.device_memory import DeviceBuffer
from worker_runtime.types.request import InferRequest, Plan, PlannedInput, Response
from worker_runtime.types.tensor import BY_NAME

KEY = "k" * 32


class Taken:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def deliver(self, request: InferRequest, outputs: Any) -> None:
        self.told.append(outputs)

    def fail(self, request: InferRequest, error: Exception) -> None:
        self.told.append(error)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        self.told.append((response, final))


def request_of(*inputs: tuple[str, str, tuple[int, ...], Any], outputs: str = "OUT") -> Any:
    planned = tuple(
        PlannedInput(name, BY_NAME[kind], shape, shape, -1) for name, kind, shape, _ in inputs
    )
    out = SimpleNamespace(name=outputs, datatype=BY_NAME["FP32"])
    return InferRequest(
        Plan(planned, None, 1, (), (outputs,)),
        [data for *_, data in inputs],
        Taken(),
        id="r1",
        model=SimpleNamespace(name="m", version=3, signature=SimpleNamespace(outputs=[out])),
    )


def captured(folder: Path, *requests: Any, answer: Any = None, **settings: Any) -> list[Any]:
    """The records that are written of these requests, all of which are in the sample."""
    config = CaptureConfig(CaptureSettings(sampling_rate=1.0, **settings), folder, KEY.encode())
    capture = Capture(config)
    capture.start()
    for request in requests:
        assert capture.due()
        capture.watch(request)
        request.sink.deliver(request, [answer if answer is not None else np.ones((1, 2), "f4")])
    capture.close()
    return records(folder)


def records(folder: Path) -> list[Any]:
    files = sorted(file for file in folder.iterdir() if FINISHED.fullmatch(file.name))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_record_is_the_request_and_its_answer_in_the_words_of_kserve(tmp_path: Path) -> None:
    texts = np.array([b"yes", "j\u00e4".encode(), b"\xff"], dtype=object)
    request = request_of(
        ("X", "FP32", (1, 2), np.array([1.5, np.nan], "<f4").tobytes()),
        ("B", "BF16", (1,), b"\x80\x3f"),
        ("S", "BYTES", (3,), texts),
    )
    sink = request.sink
    (found,) = captured(tmp_path, request)
    assert request.sink is sink  # and was told
    assert len(sink.told) == 1
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT.*\+00:00", found.pop("time"))
    assert found == {
        "id": "r1",
        "model": "m",
        "version": 3,
        "inputs": [
            {"name": "X", "datatype": "FP32", "shape": [1, 2], "data": [1.5, None]},
            {"name": "B", "datatype": "BF16", "shape": [1], "data": [1.0]},
            {"name": "S", "datatype": "BYTES", "shape": [3], "data": ["yes", "jä", "\\xff"]},
        ],
        "outputs": [{"name": "OUT", "datatype": "FP32", "shape": [1, 2], "data": [1.0, 1.0]}],
    }


def test_the_id_of_the_header_is_as_it_came(tmp_path: Path) -> None:
    request = request_of(("X", "FP32", (1,), np.ones(1, "f4").tobytes()))
    request.x_request_id = padded(b"short")
    (found,) = captured(tmp_path, request)
    assert found["x_request_id"] == "short"


def test_inputs_are_copied_before_their_memory_is_used_again(tmp_path: Path) -> None:
    memory = bytearray(np.array([1, 2], "<i4").tobytes())
    request = request_of(("X", "INT32", (2,), memoryview(memory)))
    capture = Capture(CaptureConfig(CaptureSettings(sampling_rate=1.0), tmp_path))
    capture.watch(request)
    memory[:] = bytes(8)
    request.sink.fail(request, InvalidArgument("no"))
    capture.start()
    capture.close()
    (found,) = records(tmp_path)
    assert found["inputs"][0]["data"] == [1, 2]
    assert (found["error"], found["outputs"]) == ("InvalidArgument", [])


@pytest.mark.parametrize(
    ("settings", "inputs", "outputs"),
    [
        ({}, ["A", "B"], ["OUT"]),
        ({"model_inputs": False}, [], ["OUT"]),
        ({"model_outputs": False}, ["A", "B"], []),
        ({"fields": ("B", "OUT")}, ["B"], ["OUT"]),
        ({"drop": ("A", "OUT")}, ["B"], []),
        ({"fields": ("A",), "drop": ("A",)}, [], []),
    ],
)
def test_only_what_is_asked_for_is_written(
    tmp_path: Path, settings: dict[str, Any], inputs: list[str], outputs: list[str]
) -> None:
    request = request_of(("A", "UINT8", (1,), b"a"), ("B", "UINT8", (1,), b"b"))
    (found,) = captured(tmp_path, request, **settings)
    assert [tensor["name"] for tensor in found["inputs"]] == inputs
    assert [tensor["name"] for tensor in found["outputs"]] == outputs


def test_hashed_fields_tell_alike_from_different_and_nothing_else(tmp_path: Path) -> None:
    names = np.array([b"ann", b"bob", b"ann"], dtype=object)
    request = request_of(("WHO", "BYTES", (3,), names), ("AGE", "INT32", (1,), b"\x07\0\0\0"))
    (found,) = captured(tmp_path, request, hash=("WHO", "AGE"))
    who, age = found["inputs"]
    assert who["hashed"] and age["datatype"] == "BYTES"
    first, second, third = who["data"]
    assert first == third != second
    everything = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"ann" not in everything and b"bob" not in everything
    assert hashlib.sha256(b"ann").hexdigest()[:32] != first  # a list of names does not give it away


def test_what_is_too_large_or_on_a_device_is_left_out_and_said(tmp_path: Path) -> None:
    region: Any = SimpleNamespace(hold=lambda: None)
    on_device = DeviceBuffer(region, 0, 4)
    many = np.array([b"x"] * 101, dtype=object)
    request = request_of(
        ("BIG", "UINT8", (101,), bytes(101)),
        ("FITS", "UINT8", (4,), bytes(4)),
        ("GPU", "UINT8", (4,), on_device),
        ("TEXTS", "BYTES", (101,), many),
    )
    (found,) = captured(tmp_path, request, max_request_bytes=100)
    told = {tensor["name"]: tensor.get("omitted", "") for tensor in found["inputs"]}
    assert told == {
        "BIG": "larger than max_request_bytes",
        "FITS": "",
        "GPU": "on a device",
        "TEXTS": "larger than max_request_bytes",
    }


def test_all_responses_of_a_decoupled_model_are_in_one_record(tmp_path: Path) -> None:
    request = request_of()
    capture = Capture(CaptureConfig(CaptureSettings(sampling_rate=1.0), tmp_path))
    capture.start()
    sink = request.sink
    capture.watch(request)
    for value in (1, 2):
        answer = Response(("OUT",), [np.array([value], "f4")])
        request.sink.respond(request, answer, final=False)
    request.sink.respond(request, None, final=True)
    capture.close()
    (found,) = records(tmp_path)
    assert [tensor["data"] for tensor in found["outputs"]] == [[1.0], [2.0]]
    assert [final for _, final in sink.told] == [False, False, True]
    assert request.sink is sink


@pytest.mark.parametrize("rate", [0.01, 0.3, 1.0])
def test_the_sample_is_as_large_as_was_said(tmp_path: Path, rate: float) -> None:
    capture = Capture(CaptureConfig(CaptureSettings(sampling_rate=rate), tmp_path))
    drawn = 50_000
    taken = sum(capture.due() for _ in range(drawn))
    spread = (drawn * rate * (1 - rate)) ** 0.5
    assert abs(taken - drawn * rate) <= 6 * spread


def test_what_does_not_fit_the_queue_is_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_module, "QUEUE_BYTES", 2_500)
    capture = Capture(CaptureConfig(CaptureSettings(sampling_rate=1.0), tmp_path))
    for _ in range(5):  # nobody writes yet: 512 bytes and 500 of each
        request = request_of(("A", "UINT8", (500,), bytes(500)))
        capture.watch(request)
        request.sink.deliver(request, [np.zeros(0, "f4")])
        assert isinstance(request.sink, Taken)  # and everybody was answered
    capture.start()
    capture.close()
    assert (capture.written, capture.dropped) == (2, 3)
    (file,) = tmp_path.iterdir()
    found = FINISHED.fullmatch(file.name)
    assert found is not None
    assert found.groups()[2:] == ("2", "3")  # the file's name tells of both
    text = "".join(f"{sample}" for family in capture.collect() for sample in family.samples)
    assert 'outcome="dropped"}\', 3' in text


def test_a_spool_that_nobody_empties_stays_within_its_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "FILE_BYTES", 1_000)
    monkeypatch.setattr(spool_module, "FOLDER_BYTES", 5_000)
    spool = Spool(tmp_path, 3600)
    line = b"x" * 99 + b"\n"
    taken = sum(spool.write(line, 1_000_000 * at) for at in range(200))
    spool.roll()
    files = list(tmp_path.iterdir())
    assert taken == 50
    assert sum(file.stat().st_size for file in files) == 5_000
    for file in files:
        file.unlink()  # the agent is back
    assert spool.write(line, 0)
    spool.roll()
    (file,) = tmp_path.iterdir()
    assert file.name == "0-0-1-150.jsonl"


def test_a_spool_has_a_bound_of_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "FOLDER_FILES", 3)
    spool = Spool(tmp_path, 0.0)
    for at in range(5):
        spool.write(b"{}\n", 1_000_000 * at)
        spool.roll()
    assert len(list(tmp_path.iterdir())) == 3


def test_files_are_finished_by_time_without_further_requests(tmp_path: Path) -> None:
    settings = CaptureSettings(sampling_rate=1.0, roll_seconds=1)
    capture = Capture(CaptureConfig(settings, tmp_path))
    capture.start()
    request = request_of(("A", "UINT8", (1,), b"a"))
    capture.watch(request)
    request.sink.deliver(request, [np.zeros(1, "f4")])
    began = time.monotonic()
    wait_until(lambda: bool(records(tmp_path)), "a finished file")
    assert time.monotonic() - began < 30
    capture.close()
    assert len(records(tmp_path)) == 1


def test_a_disk_that_takes_nothing_costs_records_and_no_answers(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", 60)
    (tmp_path / "spool").rmdir()
    assert not spool.write(b"{}\n", 0)
    (tmp_path / "spool").mkdir()
    assert spool.write(b"{}\n", 0)
    spool.roll()
    assert [file.name for file in (tmp_path / "spool").iterdir()] == ["0-0-1-1.jsonl"]


def test_a_folder_that_cannot_be_made_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match=r"--capture-directory=.*file/spool"):
        Spool(tmp_path / "file" / "spool", 60)


@pytest.mark.parametrize(
    ("text", "directory", "key", "told"),
    [
        ("nothing", "d", "", "--capture-config='nothing'"),
        ('{"sampling_rate": 0}', "d", "", r"Expected `float` > 0.*sampling_rate"),
        ('{"sampling_rate": 2}', "d", "", r"Expected `float` <= 1.*sampling_rate"),
        ('{"sample": 1}', "d", "", "unknown field `sample`"),
        ('{"fields": "x"}', "d", "", "fields"),
        ("{}", "", "", "--capture-directory"),
        ('{"hash": ["x"]}', "d", "short", "SHOAL_CAPTURE_HASH_KEY has 5 bytes, expected 16"),
    ],
)
def test_wrong_settings_are_refused_by_name(text: str, directory: str, key: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_config(text, directory, key)
