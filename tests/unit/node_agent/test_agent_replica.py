"""A replica's life with a stand-in runtime: loading, crashing, being adopted, being stopped."""

import asyncio
import contextlib
import dataclasses
import errno
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from node_agent import crashes, gpus, process, staging, watch
from node_agent.bandwidth import Throttle
from node_agent.cache import BlobCache
from node_agent.client import BlobStream
from node_agent.host import Host
from node_agent.journal import ReplicaFolder
from node_agent.replica import ReplicaRunner
from node_agent.sandbox import NOTHING, Sandbox, SandboxSettings
from node_agent.signed import SignedOnly
from tests.support.minisign_files import text
from wire.messages import DesiredReplica, FileRef, GpuInfo, ObservedReplica, ProbeRule
from wire.minisign import public_keys
from wire.samples import ModelCounters

FAKE = Path(__file__).parents[2] / "support" / "fake_runtime.py"
CONTENT = b"weights"
DEADLINE_S = 20


class OneBlob:
    @contextlib.asynccontextmanager
    async def blob(self, sha256: str, offset: int) -> AsyncIterator[BlobStream]:
        async def chunks() -> AsyncIterator[bytes]:
            yield CONTENT[offset:]

        yield BlobStream(offset, chunks())


def desired(*, marker: str = "", reason: str = "", timeout_s: float = DEADLINE_S) -> DesiredReplica:
    return DesiredReplica(
        replica_id="r1",
        generation=1,
        endpoint="digits",
        deployment="blue",
        files=(FileRef("digits/1/model.onnx", 7, hashlib.sha256(CONTENT).hexdigest()),),
        inline_files={f"digits/{marker}": reason} if marker else {},
        models=("digits",),
        load_timeout_s=timeout_s,
    )


class Stage:
    """Makes runners on one folder and kills what they leave."""

    def __init__(self, root: Path) -> None:
        self.folder = ReplicaFolder(root / "replicas" / "r1")
        self.history: list[str] = []
        self.states: dict[str, str] = {}
        self.runners: list[ReplicaRunner] = []
        self.runtime: tuple[str, ...] = (sys.executable, str(FAKE))
        self.cache = BlobCache(root / "cache", OneBlob())
        self.signed_only: SignedOnly | None = None
        self.sandbox = Sandbox(inherited=dict(os.environ))

    def run(self, wanted: DesiredReplica, *, adopt: bool = False) -> ReplicaRunner:
        host = Host(
            cache=self.cache,
            address="127.0.0.1",
            bind="127.0.0.1",
            sandbox=self.sandbox,
            changed=self._changed,
            runtime=self.runtime,
            crash_delay_s=0.01,
            states=self.states,
            signed_only=self.signed_only,
        )
        entry = self.folder.read() if adopt else None
        runner = ReplicaRunner(wanted, self.folder, host, adopt=entry)
        self.runners.append(runner)
        return runner

    def _changed(self) -> None:
        for runner in self.runners[-1:]:
            if self.history[-1:] != [runner.observed.state]:
                self.history.append(runner.observed.state)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    for runner in stage.runners:
        await runner.stop(drain_s=0.5, discard=False)


async def until(
    runner: ReplicaRunner, condition: Callable[[ObservedReplica], bool]
) -> ObservedReplica:
    deadline = time.monotonic() + DEADLINE_S
    while not condition(runner.observed):
        assert time.monotonic() < deadline, f"still {runner.observed}"
        await asyncio.sleep(0.01)
    return runner.observed


def is_state(state: str) -> Callable[[ObservedReplica], bool]:
    return lambda seen: seen.state == state


async def test_a_replica_walks_to_ready_and_serves(stage: Stage) -> None:
    runner = stage.run(desired())
    seen = await until(runner, is_state("ready"))
    assert stage.history == ["downloading", "starting", "loading", "warming", "ready"]
    assert (seen.downloaded_bytes, seen.total_bytes, seen.cached_bytes) == (7, 7, 0)
    assert seen.http_port > 0 and seen.pid > 0
    assert (stage.folder.repository / "digits/1/model.onnx").read_bytes() == CONTENT


async def test_a_model_that_cannot_be_loaded_fails_with_reason_and_log(stage: Stage) -> None:
    runner = stage.run(desired(marker="BROKEN", reason="opset 99 is not supported"))
    seen = await until(runner, is_state("failed"))
    assert seen.error is not None
    assert seen.error.code == "ModelLoadFailed"
    assert "opset 99" in seen.error.message
    assert "fake runtime starting" in seen.error.detail
    assert runner.process is None
    assert "Trying again" not in stage.folder.agent_log.read_text(), "it fails the same way again"


BUSY = "failed to open the weights: Connection reset by peer"


async def test_a_load_that_fails_for_what_may_pass_is_tried_again(stage: Stage) -> None:
    runner = stage.run(desired(marker="BROKEN", reason=f"2 {BUSY}"))
    await until(runner, is_state("ready"))
    assert runner.observed.error is None
    assert runner.observed.restarts == 0, "no crash"
    assert stage.folder.agent_log.read_text().count("Trying again in") == 2


async def test_such_a_load_is_given_up_after_three_tries(stage: Stage) -> None:
    runner = stage.run(desired(marker="BROKEN", reason=BUSY))
    seen = await until(runner, is_state("failed"))
    assert seen.error is not None
    assert (seen.error.code, runner.process) == ("ModelLoadFailed", None)
    assert stage.folder.agent_log.read_text().count("Trying again in") == 2


GIB = 2**30
TORCH = "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79 GiB"


@pytest.mark.parametrize(
    ("reason", "free", "others", "needed"),
    [
        (TORCH, 0, {}, 20 * GIB),
        (TORCH, 30 * GIB, {}, 30 * GIB + 1),
        (TORCH, 30 * GIB, {"r2": "loading"}, 20 * GIB),  # whose memory it was cannot be told
        (TORCH, 30 * GIB, {"r2": "ready"}, 30 * GIB + 1),
        ("CUDA error: out of memory", 30 * GIB, {}, 30 * GIB + 1),
        ("CUDA error: out of memory", 0, {}, 0),
        ("opset 99 is not supported", 30 * GIB, {}, 0),
    ],
)
async def test_a_load_without_memory_tells_how_much_it_needs_at_least(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
    free: int,
    others: dict[str, str],
    needed: int,
) -> None:
    card = GpuInfo(0, "GPU-a", "T4", 80 * GIB, 80 * GIB - free)
    monkeypatch.setattr(gpus, "gpus", lambda visible: (card,))
    stage.states.update(others)
    seen = await until(stage.run(desired(marker="BROKEN", reason=reason)), is_state("failed"))
    assert seen.gpu_needed_bytes == needed


async def test_one_that_serves_and_has_no_memory_says_so_and_serves_on(stage: Stage) -> None:
    runner = stage.run(desired())
    pid = (await until(runner, is_state("ready"))).pid
    full = (ModelCounters("digits", "1", gpu_out_of_memory=3, exec_count=3),)
    runner.sampled(pid + 1, full)
    assert runner.observed.error is None, "the counters of another process"
    runner.sampled(pid, full)
    seen = runner.observed
    assert seen.error is not None
    assert (seen.state, seen.pid, seen.error.code) == ("ready", pid, "GpuOutOfMemory")
    runner.sampled(pid, (ModelCounters("digits", "1", gpu_out_of_memory=3, exec_count=99),))
    assert runner.observed.error is None
    assert "it has recovered" in stage.folder.agent_log.read_text()
    runner.sampled(pid, (ModelCounters("digits", "1", gpu_out_of_memory=99, exec_count=199),))
    os.kill(pid, signal.SIGKILL)
    fresh = await until(runner, lambda seen: seen.state == "ready" and seen.pid != pid)
    assert fresh.error is None


async def test_a_runtime_that_keeps_crashing_is_given_up(stage: Stage) -> None:
    seen = await until(stage.run(desired(marker="CRASH")), is_state("failed"))
    assert seen.error is not None
    assert seen.error.code == "CrashLoop"
    assert "exited with status 3" in seen.error.message
    assert seen.restarts == crashes.CRASH_LIMIT - 1


async def test_one_that_writes_more_than_it_may_is_ended_and_what_it_wrote_removed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SCRATCH_INTERVAL_S", 0.05)
    stage.sandbox = Sandbox(SandboxSettings(disk_bytes=1 << 20), inherited=dict(os.environ))
    runner = stage.run(desired())
    first = (await until(runner, is_state("ready"))).pid
    large = stage.folder.scratch / "home" / "deep" / "large"
    large.parent.mkdir(parents=True)
    large.write_bytes(os.urandom(2 << 20))
    await until(runner, lambda seen: seen.state == "ready" and seen.pid not in {0, first})
    assert not large.exists()
    assert "had written 2.0 MiB into its own folders" in stage.folder.agent_log.read_text()


async def test_a_load_without_a_network_says_whose_rule_that_is(stage: Stage) -> None:
    closed = SandboxSettings(mode="auto", network="none", users=range(0))
    stage.sandbox = dataclasses.replace(
        Sandbox(closed, inherited=dict(os.environ)), offered={**NOTHING, "seccomp": 1}
    )
    reason = "Failed to establish a new connection: [Errno 1] Operation not permitted"
    seen = await until(stage.run(desired(marker="BROKEN", reason=reason)), is_state("failed"))
    assert seen.error is not None
    assert "SHOAL_SANDBOX_NETWORK=none" in seen.error.hints[0]


async def test_a_killed_runtime_comes_back(stage: Stage) -> None:
    runner = stage.run(desired())
    first = (await until(runner, is_state("ready"))).pid
    os.kill(first, signal.SIGKILL)
    await until(runner, lambda seen: seen.ended == "was killed by SIGKILL")
    second = await until(runner, lambda seen: seen.state == "ready" and seen.pid != first)
    assert (second.restarts, second.ended) == (1, "")


async def test_a_runtime_that_is_not_there_says_what_to_do(stage: Stage) -> None:
    stage.runtime = ("/nowhere/bin/python", "-m", "worker_runtime")
    seen = await until(stage.run(desired()), is_state("failed"))
    assert seen.error is not None
    assert seen.error.code == "RuntimeMissing"
    assert "/nowhere/bin/python" in seen.error.message
    assert "Install Shoal there again" in seen.error.hints[0]


async def test_a_full_disk_stops_neither_what_serves_nor_its_end(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = stage.run(desired())
    seen = await until(runner, is_state("ready"))
    real = Path.open

    def full(path: Path, *words: Any, **more: Any) -> Any:
        ours = path.is_relative_to(stage.folder.path) and path != stage.folder.runtime_log
        if ours and words[:1] in {("w",), ("a",)}:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *words, **more)

    with monkeypatch.context() as disk:
        disk.setattr(Path, "open", full)
        os.kill(seen.pid, signal.SIGKILL)
        again = await until(runner, lambda now: now.state == "ready" and now.pid != seen.pid)
        assert again.restarts == 1
        await runner.stop(drain_s=0.5, discard=False)
    assert runner.observed.state == "stopped"


async def test_a_replica_that_a_full_disk_does_not_take_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(staging, "stage", full)
    monkeypatch.setattr(ReplicaFolder, "write", full)
    seen = await until(stage.run(desired()), is_state("failed"))
    assert seen.error is not None
    assert seen.error.code == "DiskFull"
    assert any("Free disk space" in hint for hint in seen.error.hints)


async def test_a_load_that_takes_too_long_is_ended(stage: Stage) -> None:
    stage_runtime = desired(marker="BROKEN", reason="unloaded", timeout_s=1.5)
    seen = await until(stage.run(stage_runtime), is_state("failed"))
    assert seen.error is not None
    assert seen.error.code == "LoadTimeout"


async def test_the_next_agent_adopts_the_running_process(stage: Stage) -> None:
    first = stage.run(desired())
    pid = (await until(first, is_state("ready"))).pid
    await first.leave()
    stage.runners.clear()
    stage.history.clear()

    second = stage.run(desired(), adopt=True)
    assert second.observed.state == "ready"
    assert second.observed.pid == pid
    await until(second, lambda _: stage.folder.agent_log.read_text().count(" ready\n") == 2)
    assert set(stage.history) <= {"ready"}
    os.kill(pid, signal.SIGKILL)
    await until(second, lambda seen: seen.state == "ready" and seen.pid not in {0, pid})


@pytest.mark.parametrize(("kept", "shown"), [({"runtime_version": "0.0.9"}, "0.0.9"), ({}, "")])
async def test_an_adopted_runtime_is_told_by_the_version_that_it_was_started_with(
    stage: Stage, kept: dict[str, str], shown: str
) -> None:
    """{}: by an agent that kept none. What is started now is of now."""
    first = stage.run(desired())
    seen = await until(first, is_state("ready"))
    assert seen.runtime_version == version("shoal")
    await first.leave()
    stage.runners.clear()
    journal = stage.folder.path / "state.json"
    written = json.loads(journal.read_text())
    assert written.pop("runtime_version") == version("shoal")
    journal.write_text(json.dumps(written | kept))

    second = stage.run(desired(), adopt=True)
    assert second.observed.runtime_version == shown
    os.kill(seen.pid, signal.SIGKILL)
    seen = await until(second, lambda now: now.state == "ready" and now.pid not in {0, seen.pid})
    assert seen.runtime_version == version("shoal")


ADA_ONLY = SignedOnly(public_keys(text("plain.pub")))  # she signed what desired() names


async def test_a_node_with_keys_fetches_and_starts_nothing_unsigned(stage: Stage) -> None:
    stage.signed_only = ADA_ONLY
    seen = await until(stage.run(desired()), is_state("failed"))
    assert seen.error is not None
    assert (seen.error.code, seen.pid, seen.downloaded_bytes) == ("SignatureInvalid", 0, 0)
    assert not stage.folder.repository.exists()
    assert stage.cache.contents() == ()
    signed = dataclasses.replace(desired(), signatures=(text("digits.statement.minisig"),))
    await until(stage.run(signed), is_state("ready"))


async def test_what_ran_before_the_node_had_keys_is_not_started_anew(stage: Stage) -> None:
    first = stage.run(desired())
    pid = (await until(first, is_state("ready"))).pid
    await first.leave()
    stage.runners.clear()
    stage.signed_only = ADA_ONLY
    second = stage.run(desired(), adopt=True)
    assert (second.observed.state, second.observed.pid) == ("ready", pid)
    os.kill(pid, signal.SIGKILL)
    seen = await until(second, is_state("failed"))
    assert seen.error is not None and seen.error.code == "SignatureInvalid"


async def test_files_staged_by_an_agent_without_keys_are_staged_anew(stage: Stage) -> None:
    signed = dataclasses.replace(desired(), signatures=(text("digits.statement.minisig"),))
    first = stage.run(signed)
    pid = (await until(first, is_state("ready"))).pid
    await first.leave()
    stage.runners.clear()
    planted = stage.folder.repository / "digits/1/model.py"
    planted.write_text("import os")
    stage.signed_only = ADA_ONLY
    second = stage.run(signed, adopt=True)
    os.kill(pid, signal.SIGKILL)
    await until(second, lambda seen: seen.state == "ready" and seen.pid not in {0, pid})
    assert not planted.exists()


async def test_a_file_that_rotted_under_a_replica_that_serves_is_right_again(stage: Stage) -> None:
    runner = stage.run(desired())
    await until(runner, is_state("ready"))
    file = stage.folder.repository / "digits/1/model.onnx"
    blob = stage.cache.path(hashlib.sha256(CONTENT).hexdigest())
    file.chmod(0o644)
    file.write_bytes(b"rotten!")
    assert blob.read_bytes() == b"rotten!", "one file, two names"
    with file.open("rb") as held:  # as a runtime has it mapped
        await stage.cache.recheck_all(Throttle(0))
        assert not blob.exists()
        await runner.mend(Throttle(0))
        assert held.read() == b"rotten!", "what is open stays as it is"
    assert file.read_bytes() == CONTENT
    assert file.samefile(blob)
    assert runner.observed.state == "ready"
    assert runner.observed.restarts == 0
    assert "digits/1/model.onnx had changed" in stage.folder.agent_log.read_text()


async def test_a_good_copy_is_left_alone(stage: Stage) -> None:
    """Where links cannot be, or where somebody emptied the cache."""
    runner = stage.run(desired())
    await until(runner, is_state("ready"))
    shutil.rmtree(stage.cache.path("0" * 64).parents[1])
    file = stage.folder.repository / "digits/1/model.onnx"
    before = file.stat().st_ino
    await runner.mend(Throttle(0))
    assert file.stat().st_ino == before


async def test_a_deleted_folder_is_staged_again(stage: Stage) -> None:
    runner = stage.run(desired(marker="note", reason="kept"))
    await until(runner, is_state("ready"))
    shutil.rmtree(stage.folder.path)
    await runner.mend(Throttle(0))
    assert (stage.folder.repository / "digits/1/model.onnx").read_bytes() == CONTENT
    assert (stage.folder.repository / "digits/note").read_text() == "kept"
    entry = stage.folder.read()
    assert entry is not None
    assert entry.process == runner.process
    assert runner.observed.state == "ready"


async def test_stopping_ends_the_process_and_discards_the_folder(stage: Stage) -> None:
    runner = stage.run(desired())
    await until(runner, is_state("ready"))
    identity = runner.process
    assert identity is not None
    await runner.stop(drain_s=5, discard=True)
    assert stage.history[-2:] == ["draining", "stopped"]
    assert not process.alive(identity)
    assert not stage.folder.path.exists()


async def test_a_replica_answers_a_moment_longer_than_it_is_wanted(stage: Stage) -> None:
    runner = stage.run(desired())
    await until(runner, is_state("ready"))
    identity = runner.process
    assert identity is not None
    stopping = asyncio.create_task(runner.stop(drain_s=5, discard=False, settle_s=DEADLINE_S))
    await until(runner, is_state("draining"))
    assert process.alive(identity)
    stopping.cancel()
    await asyncio.gather(stopping, return_exceptions=True)


async def test_stopping_during_the_start_leaves_no_process(stage: Stage) -> None:
    runner = stage.run(desired())
    await until(runner, lambda seen: seen.pid > 0)
    identity = runner.process
    assert identity is not None
    await runner.stop(drain_s=5, discard=True)
    assert not process.alive(identity)


async def test_a_trial_tells_its_configuration_and_its_last_lines(stage: Stage) -> None:
    runner = stage.run(dataclasses.replace(desired(), trial=True))
    seen = await until(runner, is_state("ready"))
    assert list(seen.configs) == ["digits"]
    assert "fake runtime starting" in seen.log


async def test_a_trial_that_crashes_is_not_started_again(stage: Stage) -> None:
    runner = stage.run(dataclasses.replace(desired(marker="CRASH"), trial=True))
    seen = await until(runner, is_state("failed"))
    assert seen.error is not None
    assert (seen.error.code, seen.restarts) == ("RuntimeCrashed", 0)
    assert "exited with status 3" in seen.error.message
    assert "fake runtime starting" in seen.error.detail


async def test_a_runtime_that_fails_its_liveness_probe_is_started_again(stage: Stage) -> None:
    rule = ProbeRule(initial_delay_s=0, period_s=0.05, timeout_s=0.2, failure_threshold=2)
    runner = stage.run(dataclasses.replace(desired(), liveness=rule))
    first = (await until(runner, is_state("ready"))).pid
    os.kill(first, signal.SIGSTOP)
    second = await until(runner, lambda seen: seen.state == "ready" and seen.pid != first)
    assert second.restarts == 1
    assert "failed its liveness probe 2 times" in stage.folder.agent_log.read_text()


async def test_a_runtime_that_says_it_does_not_live_is_started_again_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose GPU is lost: it answers, so that it would never have been taken for frozen."""
    monkeypatch.setattr(watch, "LIVE_INTERVAL_S", 0.01)
    runner = stage.run(desired())
    first = (await until(runner, is_state("ready"))).pid
    (stage.folder.repository / "digits/NOT_LIVE").write_text("1 lost its GPU")
    second = await until(runner, lambda seen: seen.state == "ready" and seen.pid != first)
    assert second.restarts == 1
    assert "says that it must be started again" in stage.folder.agent_log.read_text()


async def test_a_readiness_probe_delays_the_first_question(stage: Stage) -> None:
    rule = ProbeRule(initial_delay_s=0.6, period_s=0.05, success_threshold=3)
    began = time.monotonic()
    runner = stage.run(dataclasses.replace(desired(), readiness=rule))
    await until(runner, is_state("ready"))
    assert time.monotonic() - began >= 0.6 + 2 * 0.05
