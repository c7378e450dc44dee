"""The cache takes nothing on trust: checksums, resumed downloads, full disks, changed files."""

import asyncio
import contextlib
import errno
import hashlib
import os
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import pytest

from node_agent import cache as cache_module
from node_agent.bandwidth import Throttle
from node_agent.cache import RESERVE_BYTES, BlobCache, Checked
from node_agent.client import BlobStream, ControlError, Refused
from node_agent.failure import ReplicaFailed
from wire.messages import FileRef

CHUNK = 1000
MIB = 1 << 20


class FakeSource:
    """Serves blobs from memory. `faults` are taken one per request: what to do wrong."""

    def __init__(self, *contents: bytes) -> None:
        self.contents = {hashlib.sha256(content).hexdigest(): content for content in contents}
        self.requests: list[tuple[str, int]] = []
        self.faults: list[str] = []

    @contextlib.asynccontextmanager
    async def blob(self, sha256: str, offset: int) -> AsyncIterator[BlobStream]:
        self.requests.append((sha256, offset))
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "refuse":
            raise Refused(404, "no such blob")
        content = self.contents[sha256]
        if fault == "flip":
            content = bytes([content[0] ^ 1]) + content[1:]
        if fault == "no-range":
            offset = 0
        yield BlobStream(offset, self._chunks(content[offset:], fault))

    async def _chunks(self, content: bytes, fault: str) -> AsyncIterator[bytes]:
        for number, start in enumerate(range(0, len(content), CHUNK)):
            if fault == "break" and number == 1:
                raise ControlError("connection reset")
            yield content[start : start + CHUNK]


def ref(content: bytes, path: str = "m/1/model.onnx") -> FileRef:
    return FileRef(path=path, size=len(content), sha256=hashlib.sha256(content).hexdigest())


class Progress:
    def __init__(self) -> None:
        self.cached = 0
        self.fetched = 0

    def __call__(self, cached: int, fetched: int) -> None:
        self.cached += cached
        self.fetched += fetched


def make(root: Path, source: FakeSource, **options: object) -> BlobCache:
    return BlobCache(root, source, first_delay_s=0.001, **options)  # type: ignore[arg-type]


DATA = os.urandom(5500)


async def test_a_blob_is_fetched_once(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    cache = make(tmp_path, source)
    first, second = Progress(), Progress()
    await cache.ensure([ref(DATA)], first)
    await cache.ensure([ref(DATA)], second)
    assert cache.path(ref(DATA).sha256).read_bytes() == DATA
    assert len(source.requests) == 1
    assert (first.fetched, first.cached) == (5500, 0)
    assert (second.fetched, second.cached) == (0, 5500)


async def test_all_downloads_together_keep_the_limit(tmp_path: Path) -> None:
    """120 kB at 64 KiB/s, four at a time: the first second's bytes at once, then 0.8 s."""
    contents = [os.urandom(40_000) for _ in range(3)]
    cache = make(tmp_path, FakeSource(*contents), download_rate=64 * 1024)
    began = time.monotonic()
    await cache.ensure([ref(content, str(n)) for n, content in enumerate(contents)], Progress())
    took = time.monotonic() - began
    assert took > (120_000 - 64 * 1024) / (64 * 1024) * 0.9
    assert [cache.path(ref(content).sha256).read_bytes() for content in contents] == contents


async def test_bytes_that_rot_unseen_are_found_by_hashing_again(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    cache = make(tmp_path, source)
    await cache.ensure([ref(DATA)], Progress())
    blob = cache.path(ref(DATA).sha256)
    status = blob.stat()
    assert await cache.recheck([ref(DATA)]) == []
    blob.chmod(0o644)
    blob.write_bytes(bytes(len(DATA)))
    os.utime(blob, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert await cache.recheck([ref(DATA), ref(DATA, "again")]) == [ref(DATA)]
    assert await cache.recheck_all(Throttle(0)) == Checked(files=0, size=0, spoiled=0)
    (told,) = cache.take_spoiled()
    assert (told.sha256, told.size) == (ref(DATA).sha256, len(DATA))
    assert cache.take_spoiled() == ()
    cache.give_back((told,))
    assert cache.take_spoiled() == (told,)
    await cache.ensure([ref(DATA)], Progress())
    assert blob.read_bytes() == DATA


async def test_all_that_is_cached_is_hashed_at_a_pace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = os.urandom(3 * MIB + 7), os.urandom(MIB)
    cache = make(tmp_path, FakeSource(good, bad))
    await cache.ensure([ref(good, "good"), ref(bad, "bad")], Progress())
    rot(cache.path(ref(bad).sha256))
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def slept(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", slept)
    found = await cache.recheck_all(Throttle(MIB, clock=lambda: 5.0))
    assert found == Checked(files=2, size=4 * MIB + 7, spoiled=1)
    assert max(pauses) == pytest.approx(3, abs=0.01)  # four to read, one at once
    assert not cache.path(ref(bad).sha256).exists()
    assert [spoiled.sha256 for spoiled in cache.take_spoiled()] == [ref(bad).sha256]


async def test_a_disk_that_cannot_read_has_spoiled_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = make(tmp_path, FakeSource(DATA))
    await cache.ensure([ref(DATA)], Progress())

    def broken(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", broken)
        assert await cache.recheck([ref(DATA)]) == [ref(DATA)]
    assert not cache.path(ref(DATA).sha256).exists()


async def test_hashing_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    """A node's agent stops at once, however much it has yet to read."""
    cache = make(tmp_path, FakeSource(content := os.urandom(4 * MIB)))
    await cache.ensure([ref(content)], Progress())
    hashing = asyncio.create_task(cache.recheck_all(Throttle(64 * 1024)))
    await asyncio.sleep(0.05)
    began = time.monotonic()
    hashing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hashing
    assert time.monotonic() - began < 1


def rot(blob: Path) -> None:
    """Other bytes, size and time as before."""
    status = blob.stat()
    blob.chmod(0o644)
    blob.write_bytes(bytes(status.st_size))
    os.utime(blob, ns=(status.st_atime_ns, status.st_mtime_ns))
    blob.chmod(status.st_mode)


async def test_a_cache_that_somebody_emptied_fills_again(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    cache = make(tmp_path / "cache", source)
    await cache.ensure([ref(DATA)], Progress())
    shutil.rmtree(tmp_path / "cache")
    await cache.ensure([ref(DATA)], Progress())
    assert cache.path(ref(DATA).sha256).read_bytes() == DATA


async def test_one_blob_under_two_names_is_fetched_once(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    await make(tmp_path, source).ensure([ref(DATA, "a"), ref(DATA, "b")], Progress())
    assert len(source.requests) == 1


async def test_its_contents_say_what_may_go(tmp_path: Path) -> None:
    used, idle = b"used", b"idle bytes"
    cache = make(tmp_path / "cache", FakeSource(used, idle))
    await cache.ensure([ref(used), ref(idle)], Progress())
    (tmp_path / "model.onnx").hardlink_to(cache.path(ref(used).sha256))
    (tmp_path / "cache" / "parts" / ref(DATA).sha256).write_bytes(b"unfinished")
    found = {blob.sha256: blob for blob in cache.contents()}
    assert {sha: (blob.size, blob.in_use) for sha, blob in found.items()} == {
        ref(used).sha256: (4, True),
        ref(idle).sha256: (10, False),
    }
    before = found[ref(idle).sha256].used_at
    os.utime(cache.path(ref(idle).sha256), ns=(0, 1_000_000_000))
    await cache.ensure([ref(idle)], Progress())
    after = next(blob for blob in cache.contents() if blob.sha256 == ref(idle).sha256)
    assert after.used_at >= before


async def test_an_empty_file_is_a_blob(tmp_path: Path) -> None:
    cache = make(tmp_path, FakeSource(b""))
    await cache.ensure([ref(b"")], Progress())
    assert cache.path(ref(b"").sha256).read_bytes() == b""


async def test_a_broken_connection_is_resumed_where_it_broke(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    source.faults = ["break"]
    progress = Progress()
    await make(tmp_path, source).ensure([ref(DATA)], progress)
    assert [offset for _, offset in source.requests] == [0, CHUNK]
    assert progress.fetched == 5500


async def test_a_server_without_ranges_starts_again(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    source.faults = ["break", "no-range"]
    progress = Progress()
    cache = make(tmp_path, source)
    await cache.ensure([ref(DATA)], progress)
    assert cache.path(ref(DATA).sha256).read_bytes() == DATA
    assert progress.fetched == 5500


async def test_a_wrong_byte_is_put_aside_and_fetched_again(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    source.faults = ["flip"]
    cache = make(tmp_path, source)
    await cache.ensure([ref(DATA)], Progress())
    assert cache.path(ref(DATA).sha256).read_bytes() == DATA
    assert len(list((tmp_path / "quarantine").iterdir())) == 1


async def test_wrong_twice_is_an_error_and_is_never_served(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    source.faults = ["flip", "flip"]
    cache = make(tmp_path, source)
    with pytest.raises(ReplicaFailed) as caught:
        await cache.ensure([ref(DATA)], Progress())
    assert caught.value.problem.code == "ChecksumMismatch"
    assert ref(DATA).sha256 in caught.value.problem.detail
    assert not cache.path(ref(DATA).sha256).exists()


async def test_a_refusal_ends_at_once(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    source.faults = ["refuse"]
    with pytest.raises(ReplicaFailed) as caught:
        await make(tmp_path, source).ensure([ref(DATA)], Progress())
    assert caught.value.problem.code == "DownloadFailed"
    assert len(source.requests) == 1


async def test_a_blob_changed_on_disk_is_fetched_again(tmp_path: Path) -> None:
    source = FakeSource(DATA)
    cache = make(tmp_path, source)
    await cache.ensure([ref(DATA)], Progress())
    blob = cache.path(ref(DATA).sha256)
    blob.chmod(0o644)
    blob.write_bytes(bytes(5500))
    await cache.ensure([ref(DATA)], Progress())
    assert blob.read_bytes() == DATA


async def test_too_little_disk_is_told_in_numbers_before_anything_is_fetched(
    tmp_path: Path,
) -> None:
    source = FakeSource(DATA)
    cache = make(tmp_path, source, free_bytes=lambda _: RESERVE_BYTES + 1024)
    with pytest.raises(ReplicaFailed) as caught:
        await cache.ensure([ref(DATA)], Progress())
    assert caught.value.problem.code == "DiskFull"
    assert "5.4 KiB more are needed" in caught.value.problem.message
    assert "1.0 KiB are free" in caught.value.problem.message
    assert source.requests == []


async def test_a_disk_that_fills_up_midway_leaves_no_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = os.urandom(4000)
    source = FakeSource(DATA, other)
    written = 0

    def write(output: BinaryIO, digest: "hashlib._Hash", chunk: bytes) -> None:
        nonlocal written
        written += len(chunk)
        if written > 3000:
            raise OSError(errno.ENOSPC, "No space left on device")
        output.write(chunk)
        digest.update(chunk)

    monkeypatch.setattr(cache_module, "_write", write)
    with pytest.raises(ReplicaFailed) as caught:
        await make(tmp_path, source).ensure([ref(DATA), ref(other, "b")], Progress())
    assert caught.value.problem.code == "DiskFull"
    assert list((tmp_path / "parts").iterdir()) == []
    assert list(tmp_path.glob("??/*")) == []


async def test_the_quota_evicts_what_was_unwanted_longest_but_never_what_is_linked(
    tmp_path: Path,
) -> None:
    linked, old, recent = (os.urandom(1000) for _ in range(3))
    cache = make(tmp_path / "cache", FakeSource(linked, old, recent, DATA[:2000]), quota_bytes=4000)
    for content in (linked, old, recent):
        await cache.ensure([ref(content)], Progress())
    os.link(cache.path(ref(linked).sha256), tmp_path / "in-use")

    await cache.ensure([ref(DATA[:2000])], Progress())

    there = [cache.path(ref(content).sha256).exists() for content in (linked, old, recent)]
    assert there == [True, False, True]
    assert cache.used_bytes() == 4000


async def test_a_model_larger_than_the_quota_is_refused(tmp_path: Path) -> None:
    cache = make(tmp_path, FakeSource(DATA), quota_bytes=5000)
    with pytest.raises(ReplicaFailed, match="cache quota"):
        await cache.ensure([ref(DATA)], Progress())
