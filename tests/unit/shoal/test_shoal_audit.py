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
        "broken": broken,
    }
    installed.fail_next("GET /events/verify", lambda _: httpx.Response(200, json=body))
    assert main(["audit", "verify"]) == code
    assert says in capsys.readouterr().out


def test_an_export_is_written_as_it_comes(
    installed: FakeServer, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.url.params["file_format"] == "csv"
        return httpx.Response(200, content=b"seq,at\r\n1,now\r\n")

    installed.fail_next("GET /events/export", answer)
    assert main(["audit", "export", "--format", "csv"]) == 0
    assert capfdbinary.readouterr().out == b"seq,at\r\n1,now\r\n"
