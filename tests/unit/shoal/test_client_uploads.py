"""An upload survives what networks and restarts do to it, and says why when it cannot."""

from pathlib import Path

import httpx
import pytest

from shoal.client import Client, ConnectionFailed, OperationFailed, Problem, UnusableSource
from shoal.client.concurrency import Threads
from tests.support.shoal_server import CHUNK, TOKEN, URL, FakeServer, cut, problem, refuse

CONTENT = bytes(range(256)) * 20  # 5120 bytes: six chunks


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(CONTENT)
    return path


def test_it_arrives_whole_in_chunks_and_progress_reaches_the_end(
    client: Client, server: FakeServer, file: Path
) -> None:
    seen: list[tuple[int, int]] = []
    upload = client.upload(file, on_bytes=lambda done, total: seen.append((done, total)))
    assert upload["state"] == "ready"
    assert bytes(server.received["u1"]) == CONTENT
    assert server.calls.count("PATCH /uploads/u1") == -(-len(CONTENT) // CHUNK)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert seen == sorted(seen)


def test_a_restart_of_the_studio_resumes_at_the_servers_offset(
    client: Client, server: FakeServer, file: Path
) -> None:
    server.fail_next("PATCH .*", lambda _: None)
    server.fail_next("PATCH .*", lambda _: None)
    server.fail_next("PATCH .*", cut)
    server.fail_next("HEAD .*", refuse, times=4)
    client.upload(file)
    assert bytes(server.received["u1"]) == CONTENT
    assert server.calls.count("HEAD /uploads/u1") == 5


def test_a_chunk_that_arrived_although_its_answer_was_lost_is_not_sent_twice(
    client: Client, server: FakeServer, file: Path
) -> None:
    def deliver_then_cut(request: httpx.Request) -> httpx.Response:
        server._append(request, "u1")
        return cut(request)

    server.fail_next("PATCH .*", deliver_then_cut)
    client.upload(file)
    assert bytes(server.received["u1"]) == CONTENT
    assert server.calls.count("PATCH /uploads/u1") == 6


def test_a_lost_answer_to_complete_is_not_an_error(
    client: Client, server: FakeServer, file: Path
) -> None:
    def complete_then_cut(request: httpx.Request) -> httpx.Response:
        server._complete(request, "u1")
        return cut(request)

    server.fail_next("POST .*/complete", complete_then_cut)
    assert client.upload(file)["state"] == "ready"


def test_an_offset_that_the_server_disputes_is_taken_over(
    client: Client, server: FakeServer, file: Path
) -> None:
    def forget(_: httpx.Request) -> httpx.Response:
        server.uploads["u1"]["offset"] = 0
        server.received["u1"].clear()
        return problem(409, "UploadOffsetConflict", "Wrong offset", offset=0)

    server.fail_next("PATCH .*", lambda _: None)
    server.fail_next("PATCH .*", forget)
    client.upload(file)
    assert bytes(server.received["u1"]) == CONTENT


def test_bytes_missing_at_the_end_are_sent_again(
    client: Client, server: FakeServer, file: Path
) -> None:
    def lose_tail(_: httpx.Request) -> httpx.Response | None:
        del server.received["u1"][2000:]
        server.uploads["u1"]["offset"] = 2000
        return None

    server.fail_next("POST .*/complete", lose_tail)
    client.upload(file)
    assert bytes(server.received["u1"]) == CONTENT


def test_a_damaged_chunk_is_repeated_but_not_for_ever(
    client: Client, server: FakeServer, file: Path
) -> None:
    def damaged(_: httpx.Request) -> httpx.Response:
        return problem(400, "ChecksumMismatch", "Damaged")

    server.fail_next("PATCH .*", damaged, times=2)
    assert client.upload(file)["state"] == "ready"
    server.fail_next("PATCH .*", damaged, times=100)
    with pytest.raises(Problem, match="Damaged"):
        client.upload(file)


def test_a_gateway_error_in_the_middle_is_waited_out(
    client: Client, server: FakeServer, file: Path
) -> None:
    server.fail_next("PATCH .*", lambda _: httpx.Response(503, text="restarting"), times=2)
    client.upload(file)
    assert bytes(server.received["u1"]) == CONTENT


def test_retries_end(server: FakeServer, file: Path) -> None:
    now = 0.0

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds

    client = Client(
        URL, TOKEN, http_transport=httpx.MockTransport(server), concurrency=Threads(pause)
    )
    client._transport.clock = lambda: now
    server.fail_next("PATCH .*", cut, times=1000)
    server.fail_next("HEAD .*", refuse, times=1000)
    with client, pytest.raises(ConnectionFailed, match="Shoal does not answer"):
        client.upload(file)
    assert now > client._transport.retry_for_s


def test_a_refused_file_carries_the_servers_reason(
    client: Client, server: FakeServer, file: Path
) -> None:
    server.inspection_error = {
        "code": "NotAnOnnxFile",
        "message": "This is not an ONNX file",
        "detail": "it starts with 00 01 02",
        "hints": ["Export it again."],
    }
    with pytest.raises(OperationFailed) as caught:
        client.upload(file)
    assert caught.value.code == "NotAnOnnxFile"
    assert caught.value.detail == "it starts with 00 01 02"
    assert caught.value.hints == ("Export it again.",)


def test_an_empty_file_is_refused_before_anything_is_sent(
    client: Client, server: FakeServer, tmp_path: Path
) -> None:
    empty = tmp_path / "empty.onnx"
    empty.touch()
    with pytest.raises(UnusableSource, match="empty"):
        client.upload(empty)
    assert server.calls == []
