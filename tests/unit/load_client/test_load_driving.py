"""Driving a real socket: what is counted, timed, given up, and stopped."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from load_client.sweep import NothingAnswered, Stopped, run
from load_client.targets import Target, Unreachable
from wire import codec
from wire.load import CONCURRENCY, RATE, LoadInput, LoadPlan, LoadPoint

ONE = LoadInput("x", "FP32", (1, 2))


class Server(ThreadingHTTPServer):
    """``answers``: what it does with each request, by its number; the last one holds for all."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *answers: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers or ("ok",)
        self.asked = 0
        self.under_way = self.most = 0
        self.lock = threading.Lock()
        self.heard, self.over = threading.Event(), threading.Event()

    @property
    def target(self) -> Target:
        return Target("127.0.0.1", self.server_address[1])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self._say(404, b"{}")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        with server.lock:
            number, server.asked = server.asked, server.asked + 1
            server.under_way += 1
            server.heard.set()
            server.most = max(server.most, server.under_way)
        what = server.answers[min(number, len(server.answers) - 1)]
        try:
            if what == "ok":
                self._say(200, b"x" * 10)
            elif what == "chunks":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"3\r\nabc\r\n0\r\n\r\n")
            elif what == "cut":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
                self.close_connection = True
            elif what == "silence":
                server.over.wait()  # longer than the client waits
                self.close_connection = True
            elif what == "rubbish":
                self.wfile.write(b"SSH-2.0-x\r\n\r\n")
            else:
                self._say(int(what), b'{"error": "no such input"}')
        finally:
            with server.lock:
                server.under_way -= 1

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Any]:
    servers: list[Server] = []

    def started(*answers: str) -> Server:
        server = Server(*answers)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    yield started
    for server in servers:
        server.over.set()
        server.shutdown()
        server.server_close()


def plan(**changes: Any) -> LoadPlan:
    values: dict[str, Any] = {
        "model": "m", "mode": CONCURRENCY, "levels": (2.0,), "seconds": 0.2, "inputs": (ONE,),
        "timeout_s": 10.0,  # a busy machine may answer late, which no test but one is about
    }  # fmt: skip
    return LoadPlan(**(values | changes))


def measured(server: Server, **changes: Any) -> list[LoadPoint]:
    points: list[LoadPoint] = []
    assert run(plan(**changes), server.target, tell=points.append) == ""
    return points


def test_so_many_are_under_way_and_all_are_counted(serve: Any) -> None:
    server = serve()
    points = measured(server, levels=(1.0, 3.0))
    assert [point.level for point in points] == [1.0, 3.0]
    assert sum(point.good for point in points) == server.asked - 1  # one looked whether it answers
    assert 1 < server.most <= 3
    for point in points:
        assert point.errors == {} and point.seconds >= 0.2
        assert point.throughput == pytest.approx(point.good / point.seconds)
        assert 0 < point.p50_us <= point.p90_us <= point.p95_us <= point.p99_us
        assert point.batch is None  # this server keeps no statistics


def test_a_rate_is_kept(serve: Any) -> None:
    server = serve()
    (point,) = measured(server, mode=RATE, levels=(100.0,))
    assert (point.good, server.asked) == (20, 21)
    assert point.throughput <= 101


def test_a_warm_up_does_not_count(serve: Any) -> None:
    server = serve()
    (point,) = measured(server, mode=RATE, levels=(50.0,), warm_up_s=0.4)
    assert (point.good, server.asked) == (10, 31)


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (("ok", "503", "ok"), "HTTP 503"),
        (("ok", "cut", "ok"), "connection closed before the answer"),
        (("ok", "rubbish", "ok"), "no answer of HTTP/1.1"),
    ],
)
def test_one_that_fails_is_counted_by_its_kind_and_the_rest_goes_on(
    serve: Any, answers: tuple[str, ...], kind: str
) -> None:
    (point,) = measured(serve(*answers), levels=(1.0,), seconds=0.5)
    assert point.errors == {kind: 1}
    assert point.good > 1


def test_one_without_an_answer_is_given_up_and_the_rest_goes_on(serve: Any) -> None:
    (point,) = measured(serve("ok", "silence", "ok"), levels=(1.0,), seconds=1.5, timeout_s=1.0)
    assert point.errors == {"no answer within 1 s": 1}
    assert point.good > 1


def test_answers_in_chunks(serve: Any) -> None:
    (point,) = measured(serve("chunks"))
    assert point.errors == {} and point.good > 1


def test_the_first_refusal_ends_it_with_the_servers_words(serve: Any) -> None:
    server = serve("400")
    with pytest.raises(NothingAnswered, match=r"HTTP 400 \(1\)") as raised:
        run(plan(), server.target, tell=pytest.fail)
    assert raised.value.said == '{"error": "no such input"}'
    assert server.asked == 1


def test_one_that_stops_answering_ends_it_with_what_was_measured(serve: Any) -> None:
    points: list[LoadPoint] = []
    with pytest.raises(NothingAnswered):
        run(plan(levels=(1.0, 2.0)), serve("ok", "503").target, tell=points.append)
    (point,) = points
    assert point.good == 0 and point.errors["HTTP 503"] > 1


def test_nothing_listens(serve: Any) -> None:
    server = serve()
    gone = Target("127.0.0.1", 1)
    with pytest.raises(NothingAnswered, match="cannot connect"):
        run(plan(timeout_s=0.1), gone, tell=pytest.fail)
    with pytest.raises(Unreachable, match="404"):  # it has to ask what the model takes
        run(plan(inputs=()), server.target, tell=pytest.fail)


def test_an_objective_ends_it(serve: Any) -> None:
    points: list[LoadPoint] = []
    wanted = plan(levels=(1.0, 2.0, 4.0), slo_percentile=95, slo_us=0.001)
    assert run(wanted, serve().target, tell=points.append).startswith("p95 at 1 was ")
    assert len(points) == 1


def test_it_stops_when_asked(serve: Any) -> None:
    until = time.monotonic() + 0.2
    with pytest.raises(Stopped):
        run(plan(seconds=60.0), serve().target, tell=pytest.fail,
            stop=lambda: time.monotonic() > until)  # fmt: skip
    assert time.monotonic() < until + 5


def started(server: Server, wanted: LoadPlan, longest_s: int = 60) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "load_client"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin
    host, port = server.target.host, server.target.port
    job = {"plan": codec.as_data(wanted), "host": host, "port": port, "longest_s": longest_s}
    process.stdin.write(json.dumps(job) + "\n")
    process.stdin.flush()
    return process


def test_the_process_tells_each_point_and_ends_with_who_started_it(serve: Any) -> None:
    endless = started(serve(), plan(levels=(1.0, 2.0), seconds=0.1))
    assert endless.stdout
    lines = [json.loads(line) for line in endless.stdout]
    assert [line.get("point", {}).get("level") for line in lines] == [1.0, 2.0, None]
    assert lines[-1] == {"stopped_by": ""} and endless.wait(10) == 0
    server = serve()
    left = started(server, plan(seconds=60.0))
    assert left.stdin
    assert server.heard.wait(30)
    left.stdin.close()
    assert left.wait(10) == 1


def test_the_kernel_ends_a_process_that_takes_too_long(serve: Any) -> None:
    server = serve()
    slow = started(server, plan(seconds=60.0), longest_s=1)
    assert slow.wait(20) < 0  # by the clock's signal, or the processor's
