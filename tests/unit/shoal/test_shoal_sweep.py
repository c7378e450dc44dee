"""Load sweeps and bench on a terminal: what is sent, what is printed, exit codes."""

import json
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import httpx
import pytest

from shoal.cli.load_options import levels_of, shapes_asked, slo_asked
from shoal.cli.main import main
from tests.support.quiet_handler import QuietHandler
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page

Capture = pytest.CaptureFixture[str]
PATH = "/endpoints/net/deployments/blue/sweeps"


def point(level: float, **changes: Any) -> dict[str, Any]:
    return {
        "level": level, "seconds": 5.0, "good": 500, "throughput": 100.0 * level, "mean_us": 1e4,
        "p50_us": 9e3, "p90_us": 1e4, "p95_us": 12e3, "p99_us": 2e4, "errors": {}, "failed": 0,
        "error_share": 0.0, "within_slo": None, "batch": 1.5, "queue_us": 40.0,
        "compute_us": 900.0, "others": 0, "client_busy": 0.2, **changes,
    }  # fmt: skip


SWEEP: dict[str, Any] = {
    "id": "s1", "state": "Running", "endpoint": "net", "deployment": "blue", "revision": 3,
    "replica": "r1", "node": "gpu-1", "model": "net", "model_version": "", "case": "", "batch": 1,
    "shapes": {}, "mode": "concurrency", "levels": [1.0, 2.0], "seconds": 5.0, "warm_up_s": 1.0,
    "slo_percentile": None, "slo_ms": None, "expected_s": 12.0, "traffic": 0, "stopped_by": "",
    "error": None, "created_by": "dora", "created_at": "2026-11-27T06:00:00Z", "finished_at": None,
    "points": [], "knee": None, "knee_throughput": None, "slo_level": None, "slo_throughput": None,
    "perf_analyzer": "perf_analyzer -m net",
}  # fmt: skip
DONE = SWEEP | {
    "state": "Succeeded", "slo_percentile": 99, "slo_ms": 20.0, "knee": 2.0,
    "knee_throughput": 200.0, "slo_level": 2.0, "slo_throughput": 200.0,
    "points": [point(1), point(2, within_slo=True, client_busy=0.95),
               point(4, errors={"HTTP 503": 3}, failed=3, within_slo=False, others=7)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("4", [4]),
        ("4,1,2,2", [1, 2, 4]),
        ("1..32", [1, 2, 4, 8, 16, 32]),
        ("1..10", [1, 2, 4, 8, 10]),
        ("3..3", [3]),
        ("8:24:8", [8, 16, 24]),
        ("0.5..2,10:20:5", [0.5, 1, 2, 10, 15, 20]),
    ],
)
def test_levels(text: str, levels: list[float]) -> None:
    assert levels_of(text, "--rate") == levels


@pytest.mark.parametrize(
    "text",
    ["", "many", "1,,2", "1:2", "1..", "a..b", "1:2:x", "8:64:0", "64:8:8", "8:64:-8", "4,64:8:8",
     "8..4"],
)  # fmt: skip
def test_what_is_no_level(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"expected 4, 1\.\.32 or 8:64:8"):
        levels_of(text, "--rate")


def test_a_long_row_of_levels_is_cut_before_it_is_made() -> None:
    assert len(levels_of("1:1e15:1", "--rate")) == 1000


def test_objectives_and_shapes() -> None:
    assert slo_asked(None) == (None, None)
    assert slo_asked("p95=20") == (95, 20.0)
    assert slo_asked("p99=0.5ms") == (99, 0.5)
    assert shapes_asked(["image:3,224,224", "a:b:1"]) == {"image": [3, 224, 224], "a:b": [1]}
    for wrong in ("p50=1", "p99", "p99=-1"):
        with pytest.raises(click.BadParameter, match="expected p95=20"):
            slo_asked(wrong)
    for wrong in ("image", "image:", "image:3,-1", ":3"):
        with pytest.raises(click.BadParameter, match="expected image:3"):
            shapes_asked([wrong])


def test_it_is_started_and_followed(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /test-cases", page({"id": "c1", "name": "seven"}))
    sent = Sent(installed, f"POST {PATH}", SWEEP | {"state": "Queued"}, status=202)
    Sent(installed, "GET /sweeps/s1", SWEEP | {"points": DONE["points"][:1]}, DONE)
    words = ["--concurrency", "1..4", "--slo", "p99=20", "--case", "seven", "--shape", "x:2"]
    assert main(["sweep", "start", "net", "blue", *words, "--while-serving", "--watch"]) == 0
    assert sent.bodies == [
        {"levels": [1, 2, 4], "mode": "concurrency", "model": "", "batch": 1, "seconds": 5.0,
         "warm_up_s": 1.0, "case": "c1", "slo_percentile": 99, "slo_ms": 20.0,
         "while_serving": True, "shapes": {"x": [2]}}
    ]  # fmt: skip
    shown = capsys.readouterr()
    assert shown.err.count("… 1: 100/s, p95 12.0 ms") == 1
    assert "… 4: 400/s, p95 12.0 ms, 3 failed" in shown.err
    for text in ("net/blue, revision 3", "2 at a time, 200/s", "p99 ≤ 20 ms: 200/s, at 2",
                 "HTTP 503: 3", "over the objective", "load client used all", "Others sent",
                 "perf_analyzer -m net"):  # fmt: skip
        assert text in shown.out


def test_one_that_fails_exits_1_and_says_why(installed: FakeServer, capsys: Capture) -> None:
    error = {"code": "NothingAnswered", "message": "HTTP 400 (1).", "detail": "no such input"}
    Sent(installed, f"POST {PATH}", SWEEP | {"state": "Failed", "error": error}, status=202)
    assert main(["sweep", "start", "net", "blue", "--rate", "5", "--watch"]) == 1
    out = capsys.readouterr().out
    assert "HTTP 400 (1)." in out and "no such input" in out


def test_ctrl_c_ends_it(installed: FakeServer) -> None:
    def interrupted(_: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    Sent(installed, f"POST {PATH}", SWEEP, status=202)
    installed.fail_next("GET /sweeps/s1", interrupted)
    Sent(installed, "POST /sweeps/s1/cancel", SWEEP | {"state": "Canceled"})
    assert main(["sweep", "start", "net", "blue", "--watch"]) == 130
    assert installed.calls[-1] == "POST /sweeps/s1/cancel"


def test_ctrl_c_as_it_ends_is_no_failure(installed: FakeServer, capsys: Capture) -> None:
    def interrupted(_: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    def ended(_: httpx.Request) -> httpx.Response:
        problem = {"code": "OperationFinished", "detail": "It has ended already: Succeeded."}
        return httpx.Response(409, json=problem)

    Sent(installed, f"POST {PATH}", SWEEP, status=202)
    installed.fail_next("GET /sweeps/s1", interrupted)
    installed.fail_next("POST /sweeps/s1/cancel", ended)
    assert main(["sweep", "start", "net", "blue", "--watch"]) == 130
    assert "ended already" not in capsys.readouterr().err


def test_they_are_listed_shown_and_cancelled(
    installed: FakeServer, capsys: Capture, tmp_path: Path
) -> None:
    Sent(installed, f"GET {PATH}", page({**SWEEP, "measured": 1}))
    assert main(["sweep", "list", "net", "blue"]) == 0
    assert "1 of 2" in capsys.readouterr().out
    Sent(installed, "GET /sweeps/s1", DONE)
    installed.fail_next("GET /sweeps/s1/csv", lambda _: httpx.Response(200, text="level\n1\n"))
    file = tmp_path / "points.csv"
    assert main(["sweep", "show", "s1", "--csv", str(file), "--query", "knee", "-o", "json"]) == 0
    assert (file.read_text(), capsys.readouterr().out.strip()) == ("level\n1\n", "2.0")
    Sent(installed, "POST /sweeps/s1/cancel", SWEEP | {"state": "Canceled"})
    assert main(["sweep", "cancel", "s1"]) == 0
    assert "Nothing is measured yet" in capsys.readouterr().err
    Sent(installed, "GET /sweeps/s1", DONE)
    assert main(["sweep", "watch", "s1"]) == 0


def test_two_ways_are_one_too_many(installed: FakeServer, capsys: Capture) -> None:
    assert main(["sweep", "start", "net", "blue", "--rate", "1", "--concurrency", "1"]) == 2
    assert "give one" in capsys.readouterr().err
    Sent(installed, "GET /test-cases", page())
    assert main(["sweep", "start", "net", "blue", "--case", "eight"]) == 2
    assert "no saved case" in capsys.readouterr().err
    assert installed.calls == ["GET /test-cases"]


class Kserve(QuietHandler):
    """A server of the plain protocol: it has neither configurations nor statistics."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path != "/v2/models/net":
            self.answer(404, b'{"error": "not found"}')
            return
        inputs = [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]
        self.answer(200, json.dumps({"name": "net", "inputs": inputs}).encode())

    def do_POST(self) -> None:
        size = int(self.headers["Inference-Header-Content-Length"])
        head = json.loads(self.rfile.read(int(self.headers["Content-Length"]))[:size])
        allowed = self.headers.get("X-Key") == "secret"
        assert head["inputs"][0]["shape"] == [2, 2]
        self.answer(200 if allowed else 403, b"{}" if allowed else b"who are you?")


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Kserve)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


BENCH = ("--model", "net", "--concurrency", "1,2", "--seconds", "0.2", "--warm-up", "0",
         "--batch", "2")  # fmt: skip


def test_bench_needs_no_installation(address: str, capsys: Capture) -> None:
    words = ["bench", address, *BENCH, "-H", "X-Key: secret", "-o", "json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["level"] for one in found["points"]] == [1.0, 2.0]
    assert all(one["good"] and not one["errors"] for one in found["points"])
    assert found["points"][0]["batch"] is None
    assert f"-u {address} -b 2 " in found["perf_analyzer"]
    assert main(words[:-2]) == 0
    assert "CONCURRENCY" in capsys.readouterr().out


def test_bench_of_an_endpoint_names_a_proxy_for_perf_analyzer(
    installed: FakeServer, address: str, tmp_path: Path, capsys: Capture
) -> None:
    """Of TLS, the path and the key of an endpoint perf_analyzer knows nothing."""
    (tmp_path / "net.onnx").write_bytes(b"graph")
    assert main(["deploy", "net.onnx"]) == 0
    installed.endpoints["net"] |= {
        "scoring_uri": f"http://{address}/", "ca_path": "", "auth_mode": "key",
    }  # fmt: skip
    capsys.readouterr()
    words = ["bench", "net", *BENCH, "-d", "blue", "-H", "X-Key: secret"]
    assert main([*words, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["proxy"] == "shoal proxy net --deployment blue"
    assert "-i http -u 127.0.0.1:8000 -b 2 " in found["perf_analyzer"]
    assert address not in found["perf_analyzer"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.index(found["proxy"]) < out.index(found["perf_analyzer"])
    assert main(["bench", address, *BENCH, "-H", "X-Key: secret", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["proxy"] is None


def test_bench_says_what_the_server_refuses(address: str, capsys: Capture) -> None:
    assert main(["bench", address, *BENCH]) == 1
    assert "HTTP 403 (1). who are you?" in capsys.readouterr().err
    assert main(["bench", f"http://{address}", "-m", "other"]) == 1
    assert "404" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["localhost:8000"], "needs --model"),
        (["localhost:8000", "-m", "x", "-d", "blue"], "of an endpoint"),
        (["ftp://x:1", "-m", "x"], "expected http"),
        (["localhost:1", "-m", "x", "-H", "Key"], "expected NAME:VALUE"),
        (["localhost:1", "-m", "x", "--concurrency", "1.5"], "expected whole numbers"),
        (["localhost:1", "-m", "x", "--seconds", "0"], "expected 0.1 to 120"),
    ],
)
def test_bench_is_asked_for_what_makes_no_sense(
    words: list[str], text: str, capsys: Capture
) -> None:
    assert main(["bench", *words]) == 2
    assert text in capsys.readouterr().err
