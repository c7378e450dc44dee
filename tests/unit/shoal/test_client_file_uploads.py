"""Folders: only what the server misses is sent, several files at a time, each from its offset."""

import asyncio
import threading
from pathlib import Path

import httpx
import pytest

from shoal.aio.bridge import run
from shoal.aio.loop import Loop
from shoal.client import Client, Problem, UnusableSource
from shoal.client.concurrency import Threads
from shoal.client.errors import OperationFailed
from shoal.client.file_uploads import AT_ONCE
from shoal.client.packing import packaged
from tests.support.shoal_server import CHUNK, TOKEN, URL, FakeServer, cut, problem

SIZES = {"a/1/model.onnx": 5 * CHUNK, "b/1/model.onnx": CHUNK // 2, "b/labels.txt": 0}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, size in SIZES.items():
        path = tmp_path / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((name.encode() * size)[:size])
    return tmp_path / "repo"


def upload(client: Client, folder: Path, **options: object) -> str:
    return client.upload_package(packaged(folder), **options)["state"]  # type: ignore[arg-type]


def content(server: FakeServer) -> set[bytes]:
    return {bytes(blob) for blob in server.blobs.values() if blob}


def files(folder: Path) -> set[bytes]:
    return {path.read_bytes() for path in folder.rglob("*") if path.is_file()} - {b""}


def test_all_arrives_and_progress_is_one_number(
    client: Client, server: FakeServer, folder: Path
) -> None:
    seen: list[tuple[int, int]] = []
    state = upload(client, folder, on_bytes=lambda done, total: seen.append((done, total)))
    assert state == "ready"
    assert content(server) == files(folder)
    assert seen[-1] == (sum(SIZES.values()), sum(SIZES.values()))


def test_a_second_time_only_what_changed_is_sent(
    client: Client, server: FakeServer, folder: Path
) -> None:
    upload(client, folder)
    (folder / "b" / "labels.txt").write_text("cat")
    server.calls.clear()
    seen: list[tuple[int, int]] = []
    upload(client, folder, on_bytes=lambda done, total: seen.append((done, total)))
    assert sum(call.startswith("PATCH") for call in server.calls) == 1
    assert seen[-1] == (3, 3)


def test_a_lost_connection_costs_one_chunk_of_one_file(
    client: Client, server: FakeServer, folder: Path
) -> None:
    client.session()  # it has answered: from now on it may only be away for a while
    server.fail_next("PATCH .*", cut, times=3)
    upload(client, folder)
    assert content(server) == files(folder)


def test_a_server_that_lost_bytes_is_sent_them_again(
    client: Client, server: FakeServer, folder: Path
) -> None:
    def forget(_: httpx.Request) -> httpx.Response:
        server.blobs.pop(max(server.blobs, key=lambda sha256: len(server.blobs[sha256])))
        return problem(409, "UploadIncomplete", "Files are missing")

    server.fail_next("POST /uploads/u1/complete", forget)
    assert upload(client, folder) == "ready"
    assert content(server) == files(folder)


def test_a_refusal_ends_it_and_says_why(client: Client, server: FakeServer, folder: Path) -> None:
    server.fail_next("PATCH .*", lambda _: problem(507, "DiskFull", "No room"), times=9)
    with pytest.raises(Problem) as refused:
        upload(client, folder)
    assert (refused.value.code, refused.value.hints) == ("DiskFull", ("Look again.",))


def test_a_file_that_changes_meanwhile_is_named(
    client: Client, server: FakeServer, folder: Path
) -> None:
    changed = folder / "b" / "1" / "model.onnx"
    with pytest.raises(UnusableSource, match=r"model\.onnx"):
        upload(client, folder, on_hashed=lambda *_: changed.write_bytes(b"other"))


def test_the_inspection_s_reason_is_the_client_s(
    client: Client, server: FakeServer, folder: Path
) -> None:
    server.inspection_error = {"code": "NoModelFound", "message": "none", "hints": ["Look."]}
    with pytest.raises(OperationFailed) as failed:
        upload(client, folder)
    assert failed.value.code == "NoModelFound"


def many(root: Path, count: int) -> Path:
    for number in range(count):
        path = root / f"m{number}" / "1" / "model.onnx"
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes([number]) * 100)
    return root


class Meeting:
    """Lets requests for bytes pass only once ``AT_ONCE`` of them are there."""

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.barrier = threading.Barrier(AT_ONCE, timeout=20)
        self.lock = threading.Lock()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PATCH":
            self.barrier.wait()
        with self.lock:
            return self.server(request)


def test_files_are_sent_at_the_same_time(server: FakeServer, tmp_path: Path) -> None:
    folder = many(tmp_path / "repo", 2 * AT_ONCE)
    network = httpx.MockTransport(Meeting(server))
    with Client(URL, TOKEN, http_transport=network) as client:
        assert upload(client, folder) == "ready"
    assert content(server) == files(folder)


async def test_in_an_event_loop_too(server: FakeServer, tmp_path: Path) -> None:
    folder = many(tmp_path / "repo", 9)
    together, most = 0, 0

    async def network(request: httpx.Request) -> httpx.Response:
        nonlocal together, most
        together += request.method == "PATCH"
        most = max(most, together)
        await _turns(20)
        together -= request.method == "PATCH"
        return server(request)

    client = Client(URL, TOKEN, concurrency=Loop(httpx.MockTransport(network)))
    assert await run(upload, client, folder) == "ready"
    await run(client.close)
    assert most == AT_ONCE
    assert content(server) == files(folder)


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_the_first_error_of_several_is_raised_and_the_rest_not_begun() -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        raise KeyError(number)

    with pytest.raises(KeyError):
        Threads().together(work, range(100), at_once=2)
    assert len(begun) < 100
