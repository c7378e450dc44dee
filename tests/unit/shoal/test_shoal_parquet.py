"""Captured requests as Parquet: nothing lost, a row group at a time, and what cannot be made."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from shoal import MLClient
from shoal.cli.main import main
from shoal.client import Client
from shoal.client import parquet as made
from shoal.client.parquet import NoRecord, parquet_written
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page
from tests.unit.shoal.test_shoal_capture import BASE, FILE

Capture = pytest.CaptureFixture[str]
LARGEST = 2**64 - 1
TENSORS: list[dict[str, Any]] = [
    {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1.5, 2, None]},
    {"name": "at", "datatype": "INT64", "shape": [1], "data": [2**63 - 1]},
    {"name": "key", "datatype": "UINT64", "shape": [1], "data": [LARGEST]},
    {"name": "on", "datatype": "BOOL", "shape": [2], "data": [True, False]},
    {"name": "who", "datatype": "BYTES", "shape": [1], "data": ["\u00e9\\xff"]},
    {"name": "id", "datatype": "BYTES", "shape": [1], "hashed": True, "data": ["ab" * 16]},
    {"name": "image", "datatype": "FP32", "shape": [9, 9], "omitted": "larger"},
]
RECORD: dict[str, Any] = {
    "time": "2026-11-27T03:57:17.430812+00:00", "id": "7", "model": "net", "version": 2,
    "inputs": TENSORS, "outputs": [],
}  # fmt: skip
PLACES = ["numbers", "integers", "unsigned", "flags", "texts", "texts", "numbers"]


def lines(path: Path, *records: Any) -> Path:
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in records))
    return path


def test_tensors_stay_in_their_request_and_lose_no_digit(tmp_path: Path) -> None:
    source = lines(tmp_path / "a.jsonl", RECORD, {**RECORD, "error": "InvalidArgument"})
    assert parquet_written(source, tmp_path / "a.parquet") == 2
    one, failed = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert one["time"] == datetime(2026, 11, 27, 3, 57, 17, 430812, UTC)
    assert [one[name] for name in ("id", "model", "version", "error")] == ["7", "net", 2, None]
    assert failed["error"] == "InvalidArgument"
    for tensor, found, place in zip(TENSORS, one["inputs"], PLACES, strict=True):
        values = {name: found[name] for name in set(PLACES) if found[name] is not None}
        assert values == ({place: tensor["data"]} if "data" in tensor else {})
        for name in ("name", "datatype", "shape", "omitted", "hashed"):
            assert found[name] == tensor.get(name)
    assert one["outputs"] == []


def test_it_is_written_a_group_of_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made, "ROWS", 4)
    source = lines(tmp_path / "a.jsonl", *[RECORD] * 10)
    with source.open("ab") as file:
        file.write(b"\n")
    assert parquet_written(source, tmp_path / "a.parquet") == 10
    found = parquet.ParquetFile(tmp_path / "a.parquet").metadata
    assert [found.row_group(at).num_rows for at in range(found.num_row_groups)] == [4, 4, 2]
    monkeypatch.setattr(made, "GROUP_BYTES", 1)
    parquet_written(source, tmp_path / "b.parquet")
    assert parquet.ParquetFile(tmp_path / "b.parquet").metadata.num_row_groups >= 10


def test_an_empty_file_has_the_same_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    assert parquet_written(tmp_path / "a.jsonl", tmp_path / "a.parquet") == 0
    assert parquet.read_schema(tmp_path / "a.parquet").names == made.schema().names


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "a.jsonl, line 2, is no captured request"),
        (b"[]", "a.jsonl, line 2, is no captured request"),
        (b'{"inputs": [1]}', "a.jsonl, line 2, is no captured request"),
        (b'{"time": "soon"}', "a.jsonl, line 2, is no captured request"),
        (b'{"version": "two"}', "a.jsonl, lines 1 to 2, cannot be converted"),
        (b'{"inputs": [{"datatype": "INT8", "data": ["x"]}]}', "lines 1 to 2, cannot"),
        (b'{"inputs": [{"datatype": "INT8", "data": [%d]}]}' % 2**70, "lines 1 to 2, cannot"),
    ],
)
def test_what_is_no_record_is_named_and_leaves_no_file(
    tmp_path: Path, line: bytes, told: str
) -> None:
    source = lines(tmp_path / "a.jsonl", RECORD)
    with source.open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(NoRecord, match=told):
        parquet_written(source, tmp_path / "a.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_files_are_fetched_and_made_once(
    installed: FakeServer, capsys: Capture, tmp_path: Path
) -> None:
    content = json.dumps(RECORD) + "\n"
    file = FILE | {"size": len(content), "records": 1}
    Sent(installed, f"GET {BASE}/captured", page(file), page(file))
    Sent(installed, f"GET {BASE}/captured/{FILE['id']}", RECORD)
    command = ["capture", "download", "net", "blue", "--format", "parquet", "--to", "got"]
    assert main(command) == 0
    (path,) = Path("got").iterdir()
    assert path.name == f"20260105T100000-{'a' * 32}.parquet"
    assert parquet.read_table(path).num_rows == 1
    assert main(command) == 0
    assert installed.calls.count(f"GET {BASE}/captured/{FILE['id']}") == 1
    assert "1 file(s) with 1 requests are in got" in capsys.readouterr().err


def test_without_pyarrow_it_says_what_to_install_and_fetches_nothing(
    installed: FakeServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["capture", "download", "net", "blue", "--format", "parquet"]) == 1
    assert "pip install 'shoal[parquet]'" in capsys.readouterr().err
    assert installed.calls == []


def test_the_sdk_names_both_forms(client: Client, server: FakeServer, tmp_path: Path) -> None:
    capture = MLClient(client=client, show_progress=False).capture
    Sent(server, f"GET {BASE}/captured", page(FILE))
    Sent(server, f"GET {BASE}/captured/{FILE['id']}", RECORD)
    (path,) = capture.download("net", "blue", download_path=tmp_path, file_format="parquet")
    assert path.suffix == ".parquet"
    form: Any = "csv"
    with pytest.raises(ValueError, match="'csv', expected jsonl or parquet"):
        capture.download("net", "blue", file_format=form)
