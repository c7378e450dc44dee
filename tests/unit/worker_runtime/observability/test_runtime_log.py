"""The runtime's log: Triton's lines, JSON lines, settings that change while it runs."""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from worker_runtime.errors import (
    Internal,
    InvalidArgument,
    RuntimeFault,
    Unavailable,
    Unsupported,
)
from worker_runtime.observability.dialect import Dialect
from worker_runtime.observability.logging import (
    LogControl,
    LogOptions,
    read_changes,
    settings_shown,
)

DEFAULT = re.compile(r"([EWI])(\d{4}) (\d\d:\d\d:\d\d\.\d{6}) (\d+) ([\w.]+):(\d+)\] (.*)")
ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) ([EWI]) (\d+) ([\w.]+):(\d+)\] (.*)")
logger = logging.getLogger("worker_runtime.test")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogControl]:
    root = logging.getLogger("worker_runtime")
    before = root.handlers[:], root.level, root.propagate
    control = LogControl(LogOptions(file=str(tmp_path / "log")))
    control.open()
    yield control
    for handler in root.handlers:
        handler.close()
    root.handlers[:], root.level, root.propagate = before


def lines(log: LogControl) -> list[str]:
    return Path(log.options.file).read_text().splitlines()


def test_lines_have_tritons_form(log: LogControl) -> None:
    logger.info('say "%s"\n', "what")
    logger.warning("w")
    logger.error("e")
    found = [DEFAULT.fullmatch(line) for line in lines(log)]
    assert [match and match[1] for match in found] == ["I", "W", "E"]
    assert found[0] is not None
    assert found[0][5] == "test_runtime_log.py"
    assert json.loads(found[0][7]) == 'say "what"\n'


def test_what_clients_send_cannot_fake_a_line(log: LogControl) -> None:
    logger.error("bad input '%s'", "x\nI0101 00:00:00.000000 1 a.cc:1] injected\r\x1b[31m")
    assert len(lines(log)) == 1
    try:
        raise ValueError("x\nE0101 00:00:00.000000 1 a.cc:1] injected")
    except ValueError:
        logger.exception("no")
    assert sum(DEFAULT.fullmatch(line) is not None for line in lines(log)) == 2


def test_escaping_can_be_turned_off(log: LogControl) -> None:
    log.change(escaped=False)
    logger.info("plain")
    assert lines(log)[0].endswith("] plain")


def test_a_table_stands_below_its_line(log: LogControl) -> None:
    logger.info("", extra={"table": "+---+\n| a |\n+---+"})
    assert DEFAULT.fullmatch(lines(log)[0])
    assert lines(log)[1:] == ["+---+", "| a |", "+---+", ""]


def test_formats_change_at_once(log: LogControl) -> None:
    log.change(format="ISO8601")
    logger.info("a")
    log.change(format="json")
    logger.info("b", extra={"request_id": "r1"})
    log.change(format="default")
    logger.info("c")
    iso, as_json, default = lines(log)
    assert ISO.fullmatch(iso)
    assert (
        json.loads(as_json).items()
        >= {
            "level": "INFO",
            "message": "b",
            "request_id": "r1",
        }.items()
    )
    assert DEFAULT.fullmatch(default)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "iwe"),
        ({"info": False}, "we"),
        ({"warning": False}, "ie"),
        ({"error": False}, "iw"),
        ({"info": False, "warning": False, "error": False}, ""),
        ({"info": False, "verbose": 1}, "vwe"),
        ({"verbose": 2}, "Vviwe"),
    ],
)
def test_levels_are_switched_one_by_one(
    log: LogControl, options: dict[str, Any], expected: str
) -> None:
    log.change(**options)
    logger.log(logging.DEBUG - 1, "V")
    logger.debug("v")
    logger.info("i")
    logger.warning("w")
    logger.error("e")
    assert "".join(line[-2] for line in lines(log)) == expected


def test_settings_are_shown_in_tritons_order() -> None:
    assert list(settings_shown(LogOptions()).items()) == [
        ("log_file", ""),
        ("log_info", True),
        ("log_warning", True),
        ("log_error", True),
        ("log_verbose_level", 0),
        ("log_format", "default"),
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {}),
        ({"foo": 1}, {}),
        ({"log_info": False, "foo": 1}, {"info": False}),
        ({"log_info": None}, {}),
        ({"log_verbose_level": 5000000000}, {"verbose": 705032704}),
        ({"log_format": "ISO8601", "log_error": True}, {"error": True, "format": "ISO8601"}),
    ],
)
def test_changes_that_are_accepted(changes: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read_changes(changes, Dialect.JSON) == expected


NO_BOOLEAN = "attempt to access JSON non-boolean as boolean"
NO_NUMBER = "attempt to access JSON non-unsigned-integer as unsigned-integer"
NO_FILE = "log file location can not be updated through network protocol"


@pytest.mark.parametrize(
    ("changes", "dialect", "kind", "text"),
    [
        ({"log_file": ""}, Dialect.JSON, Unsupported, NO_FILE),
        ({"log_file": True}, Dialect.LISTS, Unsupported, NO_FILE),
        ({"log_info": "x"}, Dialect.JSON, Internal, NO_BOOLEAN),
        ({"log_warning": 1}, Dialect.JSON, Internal, NO_BOOLEAN),
        ({"log_info": 1}, Dialect.LISTS, InvalidArgument, "expect boolean for 'log_info'"),
        ({"log_error": None}, Dialect.LISTS, InvalidArgument, "expect boolean for 'log_error'"),
        ({"log_verbose_level": "1"}, Dialect.JSON, Internal, NO_NUMBER),
        ({"log_verbose_level": -1}, Dialect.JSON, Internal, NO_NUMBER),
        ({"log_verbose_level": 1.5}, Dialect.JSON, Internal, NO_NUMBER),
        ({"log_verbose_level": True}, Dialect.JSON, Internal, NO_NUMBER),
        ({"log_verbose_level": 2**64}, Dialect.JSON, Internal, NO_NUMBER),
        (
            {"log_verbose_level": True},
            Dialect.LISTS,
            InvalidArgument,
            "expect int32 for 'log_verbose_level'",
        ),
        (
            {"log_format": "bad"},
            Dialect.JSON,
            Unavailable,
            "invalid argument for --log_format, got: bad",
        ),
        (
            {"log_format": "bad"},
            Dialect.LISTS,
            InvalidArgument,
            "invalid argument for log_format, got: bad",
        ),
        (
            {"log_format": 1},
            Dialect.JSON,
            Internal,
            "attempt to access JSON non-string as string",
        ),
        ({"log_format": True}, Dialect.LISTS, InvalidArgument, "expect string for 'log_format'"),
    ],
)
def test_changes_that_are_refused(
    changes: dict[str, Any], dialect: Dialect, kind: type[RuntimeFault], text: str
) -> None:
    with pytest.raises(RuntimeFault) as caught:
        read_changes(changes, dialect)
    assert (type(caught.value), str(caught.value)) == (kind, text)
