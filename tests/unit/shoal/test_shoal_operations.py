"""`shoal operation list`: its filters are the server's, and its times what people write."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import httpx
import pytest

from controlplane.operations.types import OperationKind, OperationState
from shoal.cli.main import main
from shoal.cli.operation import KINDS, STATES
from shoal.cli.times import instant
from tests.support.shoal_server import FakeServer, page

Capture = pytest.CaptureFixture[str]
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", NOW - timedelta(minutes=30)),
        ("24h", NOW - timedelta(days=1)),
        ("2w", NOW - timedelta(days=14)),
        ("0s", NOW),
        ("2026-11-20", datetime(2026, 11, 19, 23, 0, tzinfo=UTC)),  # midnight where the reader is
        ("2026-11-20T14:30", datetime(2026, 11, 20, 13, 30, tzinfo=UTC)),
        ("2026-11-20T14:30:00Z", datetime(2026, 11, 20, 14, 30, tzinfo=UTC)),
    ],
)
def test_moments(text: str, expected: datetime) -> None:
    assert instant(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "h", "-1h", "1.5h", "3y", "²h", "yesterday", "99999999999d"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ValueError):
        instant(text, NOW)


def test_the_choices_are_the_server_s() -> None:
    assert list(KINDS) == OperationKind.values
    assert list(STATES) == OperationState.values


def test_filters_reach_the_server(installed: FakeServer, capsys: Capture) -> None:
    seen: dict[str, str] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        seen.update(request.url.params)
        row = {
            "id": "op1", "kind": "scale", "endpoint": "net", "deployment": "blue",
            "state": "Failed", "created_by": "ada", "created_at": "2026-11-20T10:00:00Z",
        }  # fmt: skip
        return page(request, [row])

    installed.fail_next("GET /operations", answer)
    arguments = ["--kind", "scale", "--state", "Failed", "--who", "ada", "--endpoint", "net"]
    times = ["--since", "2026-11-20T09:00:00+00:00", "--until", "2026-11-21T09:00:00+00:00"]
    assert main(["operation", "list", *arguments, *times]) == 0
    assert "ada" in capsys.readouterr().out
    del seen["limit"]
    assert seen == {
        "kind": "scale",
        "state": "Failed",
        "actor": "ada",
        "endpoint": "net",
        "since": "2026-11-20T09:00:00+00:00",
        "until": "2026-11-21T09:00:00+00:00",
    }


def test_nothing_found_is_not_nothing_yet(installed: FakeServer, capsys: Capture) -> None:
    for _ in range(2):
        installed.fail_next("GET /operations", lambda request: page(request, []))
    assert main(["operation", "list"]) == 0
    assert "No operations yet" in capsys.readouterr().err
    assert main(["operation", "list", "--who", "ada"]) == 0
    assert "No such operations" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--since", "soon"], ["--kind", "reboot"]])
def test_wrong_filters_are_wrong_usage(
    installed: FakeServer, capsys: Capture, wrong: list[str]
) -> None:
    assert main(["operation", "list", *wrong]) == 2
    assert wrong[1] in capsys.readouterr().err


def interrupt(_: httpx.Request) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "command",
    [
        ("deploy", "net.onnx", "--name", "other"),
        ("online-deployment", "stop", "-n", "blue", "-e", "net", "--force"),
        ("online-endpoint", "delete", "-n", "net", "--yes"),
        ("operation", "retry", "o1"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_ctrl_c_says_what_goes_on_and_how_to_stop_it(
    installed: FakeServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
) -> None:
    (tmp_path / "net.onnx").write_bytes(b"graph")
    assert main(["deploy", "net.onnx"]) == 0
    installed.fail_next(r"GET /operations/\w+", interrupt)
    assert main(list(command)) == 130
    last = f"o{len(installed.operations)}"
    err = capsys.readouterr().err
    assert installed.operations[last]["state"] == "Running"
    assert "Interrupted; the change goes on" in err
    assert f"shoal operation show {last}" in err
    assert f"shoal operation cancel {last}" in err


def test_ctrl_c_without_a_change_is_just_that(
    installed: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    installed.fail_next("GET /endpoints", interrupt)
    assert main(["online-endpoint", "list"]) == 130
    assert capsys.readouterr().err.strip() == "Interrupted."
