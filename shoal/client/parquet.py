"""Captured requests as Parquet, made of JSON lines here, so that no server needs pyarrow.

One schema for all files, so that they can be read together: tensors stay nested in their request,
and their values lie in the list that fits their datatype, without losing a digit.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from shoal.client.errors import ShoalError

ROWS: Final = 1000  # of a row group, at most
GROUP_BYTES: Final = 8 << 20  # of JSON in a row group, but for one line more
SIGNED: Final = ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32")
PLACES: Final[Mapping[str, str]] = {
    **dict.fromkeys(SIGNED, "integers"),
    "UINT64": "unsigned",
    "BOOL": "flags",
    "BYTES": "texts",
}  # all else is in "numbers"


IDENTIFYING: Final = ("id", "x_request_id", "model", "version", "error")


class ParquetMissing(ShoalError):
    code = "ParquetMissing"


class NoRecord(ShoalError):
    """A line that is no captured request."""

    code = "NoRecord"


def parquet_wanted() -> None:
    """Raises ParquetMissing, before anything is fetched."""
    try:
        import pyarrow.parquet  # noqa: F401, PLC0415 - a part of its own, which few need
    except ImportError as error:
        raise ParquetMissing(
            "Parquet needs the package pyarrow, which is not installed",
            str(error),
            ["pip install 'shoal[parquet]', or: pip install pyarrow"],
        ) from error


def schema() -> Any:
    """Of every file."""
    import pyarrow as pa  # noqa: PLC0415 - see above

    tensor = pa.struct(
        [
            ("name", pa.string()),
            ("datatype", pa.string()),
            ("shape", pa.list_(pa.int64())),
            ("numbers", pa.list_(pa.float64())),
            ("integers", pa.list_(pa.int64())),
            ("unsigned", pa.list_(pa.uint64())),
            ("flags", pa.list_(pa.bool_())),
            ("texts", pa.list_(pa.string())),
            ("omitted", pa.string()),
            ("hashed", pa.bool_()),
        ]
    )
    return pa.schema(
        [
            ("time", pa.timestamp("us", "UTC")),
            ("id", pa.string()),
            ("x_request_id", pa.string()),
            ("model", pa.string()),
            ("version", pa.int64()),
            ("inputs", pa.list_(tensor)),
            ("outputs", pa.list_(tensor)),
            ("error", pa.string()),
        ]
    )


def parquet_written(source: Path, target: Path) -> int:
    """``source``, JSON lines, as ``target``: one row group at a time, whole or not at all. Returns
    how many records. Raises ParquetMissing, NoRecord."""
    parquet_wanted()
    import pyarrow as pa  # noqa: PLC0415 - see above
    from pyarrow import parquet  # noqa: PLC0415

    records, columns = 0, schema()
    unfinished = target.with_name(f"{target.name}.part")
    try:
        with (
            source.open("rb") as lines,
            parquet.ParquetWriter(unfinished, columns, compression="zstd") as writer,
        ):
            for first, group in _groups(lines):
                rows = [
                    _row(line, f"{source.name}, line {first + at}") for at, line in enumerate(group)
                ]
                rows = [row for row in rows if row is not None]
                try:
                    table = pa.Table.from_pylist(rows, schema=columns)
                except (pa.ArrowException, OverflowError) as error:
                    last = first + len(group) - 1
                    raise NoRecord(
                        f"{source.name}, lines {first} to {last}, cannot be converted", str(error)
                    ) from error
                writer.write_table(table)
                records += len(rows)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return records


def _groups(lines: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """With the number of the first line."""
    group: list[bytes] = []
    size, first = 0, 1
    for number, line in enumerate(lines, 1):
        group.append(line)
        size += len(line)
        if len(group) == ROWS or size >= GROUP_BYTES:
            yield first, group
            group, size, first = [], 0, number + 1
    if group:
        yield first, group


def _row(line: bytes, where: str) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        record = json.loads(line)
        found = {name: record.get(name) for name in IDENTIFYING}
        at = record.get("time")
        found["time"] = None if at is None else datetime.fromisoformat(at)
        for name in ("inputs", "outputs"):
            found[name] = [_tensor(tensor) for tensor in record.get(name) or ()]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise NoRecord(f"{where}, is no captured request", str(error)) from error
    return found


def _tensor(tensor: Mapping[str, Any]) -> dict[str, Any]:
    names = ("name", "datatype", "shape", "omitted", "hashed")
    found = {name: tensor.get(name) for name in names}
    place = PLACES.get(str(tensor.get("datatype")), "numbers")
    return {**found, place: tensor.get("data")}
