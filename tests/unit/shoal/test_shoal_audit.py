"""`shoal audit`: a broken chain is an exit code; an export is bytes on stdout."""

import httpx
import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("broken", "code", "says"),
    [
        (None, 0, "holds"),
        (
            {"kind": "changed", "link": 2, "seq": 7, "reason": "Event 7 is not what was sealed."},
            1,
            "changed",
        ),
    ],
)
def test_the_exit_code_says_whether_the_chain_holds(
    installed: FakeServer,
    capsys: Capture,
    broken: dict[str, object] | None,
    code: int,
    says: str,
) -> None:
    body = {
        "ok": broken is None,
        "sealed": 9,
        "unsealed": 0,
        "head": "f" * 64,
        "anchors": 3,
        "restores": 0,
        "archives": 2,
        "archived": 7,
        "broken": broken,
    }
    installed.fail_next("GET /events/verify", lambda _: httpx.Response(200, json=body))
    assert main(["audit", "verify"]) == code
    assert says in capsys.readouterr().out


def test_archives_are_listed_page_by_page(installed: FakeServer, capsys: Capture) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        second = request.url.params.get("cursor") == "more"
        archive = {
            "id": 1 if second else 2,
            "first_seq": 1,
            "last_seq": 5000,
            "events": 5000,
            "first_at": "2026-09-01T08:00:00Z",
            "last_at": "2026-09-03T09:00:00Z",
            "size": 123456,
            "removed_at": "2026-10-05T00:10:00Z" if second else None,
        }
        body = {"items": [archive], "next_cursor": None if second else "more"}
        return httpx.Response(200, json=body)

    for _ in range(2):
        installed.fail_next("GET /events/archives", answer)
    assert main(["audit", "archives"]) == 0
    head, young, old = capsys.readouterr().out.splitlines()
    assert head.startswith("ARCHIVE")
    assert young.startswith("2 ")
    assert young.endswith("archive, database")
    assert old.startswith("1 ")
    assert "2026-09-01 to 2026-09-03" in old


def test_an_archive_is_written_as_it_comes(
    installed: FakeServer, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    installed.fail_next(
        "GET /events/archives/3/export", lambda _: httpx.Response(200, content=b"{}\n")
    )
    assert main(["audit", "export", "--archive", "3"]) == 0
    assert capfdbinary.readouterr().out == b"{}\n"


def test_an_export_is_written_as_it_comes(
    installed: FakeServer, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.params["file_format"] == "csv"
        return httpx.Response(200, content=b"seq,at\r\n1,now\r\n")

    installed.fail_next("GET /events/export", answer)
    assert main(["audit", "export", "--format", "csv"]) == 0
    assert capfdbinary.readouterr().out == b"seq,at\r\n1,now\r\n"
