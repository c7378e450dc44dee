"""A real agent process with a real runtime, against a control plane in memory."""

import dataclasses
import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from node_agent import logs
from shoal.local import ports
from tests.support import minisign_files, reaper
from tests.support.agent_node import DEADLINE_S, Node, until
from tests.support.doubled import double, doubling_model, replica
from tests.support.fake_control_plane import FakeControlPlane
from tests.support.otlp import receiver
from wire.messages import DesiredReplica
from wire.statement import files_digest


def test_a_traced_caller_is_followed_into_the_replica_s_sandbox(
    tmp_path: Path, control_plane: FakeControlPlane
) -> None:
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with receiver() as collector:
        more = {"SHOAL_NODE_TRACES_URL": collector.url}
        with Node(tmp_path, control_plane, **more) as node:
            control_plane.desire(replica(control_plane))
            node.start()
            seen = node.ready("r1")
            assert double(seen) == [3.0, 8.0]
            assert double(seen, traceparent=f"00-{trace}-{span}-00") == [3.0, 8.0]
            assert double(seen, traceparent=f"00-{trace}-{span}-01") == [3.0, 8.0]
            until(lambda: len(collector.spans) >= 3, "the spans of the third call")
    assert {one.name for one in collector.spans} == {"InferRequest", "double", "compute"}
    assert {one.trace_id.hex() for one in collector.spans} == {trace}
    assert span in {one.parent_span_id.hex() for one in collector.spans}
    assert len(collector.spans) == 3, "of those that nobody traces there are none"
    (told,) = {tuple(sorted(one.items())) for one in collector.resources}
    assert dict(told)["shoal.replica"] == "r1"


def test_a_replica_is_served_reported_sampled_and_logged(
    node: Node, control_plane: FakeControlPlane
) -> None:
    labels = control_plane.file("double/labels.bin", os.urandom(4 * 2**20))
    wanted = replica(control_plane)
    wanted = dataclasses.replace(wanted, files=(*wanted.files, labels))
    control_plane.broken_blobs = {labels.sha256}
    control_plane.desire(wanted)
    node.start()
    seen = node.ready("r1")
    assert double(seen) == [3.0, 8.0]
    assert control_plane.states("r1")[-1] == "ready"
    assert seen.downloaded_bytes == seen.total_bytes == len(doubling_model()) + 4 * 2**20
    assert any(item.startswith("bytes=") for item in control_plane.ranges), (
        "the broken download was not resumed"
    )
    until(
        lambda: any(m.request_success >= 2 for s in control_plane.samples for m in s.models),
        "the request never showed in a sample",
    )
    until(
        lambda: (
            {entry.stream for entry in control_plane.logs}
            == {"storage-initializer", "inference-server"}
        ),
        "a log stream is missing",
    )
    keys = [(entry.stream, entry.seq) for entry in control_plane.logs]
    assert len(keys) == len(set(keys)), "a log line came twice"
    assert seen.memory_bytes > 0
    credential = node.home / "node" / "credential.json"
    assert credential.stat().st_mode & 0o777 == 0o600
    assert (node.home / "node").stat().st_mode & 0o777 == 0o700  # secrets are in its journals

    control_plane.desire()
    until(lambda: control_plane.observed("r1") is None, "the stopped replica is reported for ever")
    assert control_plane.states("r1")[-2:] == ["draining", "stopped"]
    assert not node.folder("r1").path.exists()
    assert node.end(signal.SIGINT) == 0


def test_one_that_writes_without_end_does_not_silence_the_others(
    node: Node, control_plane: FakeControlPlane
) -> None:
    control_plane.desire(replica(control_plane, "loud"), replica(control_plane, "quiet"))
    node.start()
    node.ready("loud")
    node.ready("quiet")
    with (node.folder("loud").runtime_log).open("a") as log:
        log.writelines(f"{number:06} {'x' * 300}\n" for number in range(120_000))
    with (node.folder("quiet").runtime_log).open("a") as log:
        log.write("a quiet word\n")
    until(lambda: said(control_plane, "quiet", "a quiet word"), "the loud one silences the other")
    until(lambda: said(control_plane, "loud", f"119999 {'x' * 300}"), "its end does not come")
    assert any("left out" in entry.text for entry in control_plane.logs)
    until(
        lambda: node.folder("loud").runtime_log.stat().st_size < logs.FILE_LIMIT_BYTES,
        "the file is not put aside",
    )
    assert len([entry for entry in control_plane.logs if entry.replica_id == "loud"]) < 60_000
    node.end(signal.SIGINT)


def said(control_plane: FakeControlPlane, replica_id: str, text: str) -> bool:
    return any(
        entry.replica_id == replica_id and entry.text == text for entry in control_plane.logs
    )


def test_a_killed_runtime_answers_again(node: Node, control_plane: FakeControlPlane) -> None:
    control_plane.desire(replica(control_plane))
    node.start()
    first = node.ready("r1")
    os.kill(first.pid, signal.SIGKILL)
    again = node.wait_for(
        "r1", lambda seen: seen.state == "ready" and seen.pid != first.pid, deadline_s=30
    )
    assert double(again) == [3.0, 8.0]
    assert again.restarts == 1
    node.end(signal.SIGINT)


def test_a_killed_agent_leaves_its_replica_to_the_next(
    node: Node, control_plane: FakeControlPlane
) -> None:
    control_plane.desire(replica(control_plane))
    node.start()
    first = node.ready("r1")
    node.end(signal.SIGKILL)
    assert double(first) == [3.0, 8.0]
    node.start()
    until(lambda: len(control_plane.reports) > 2, "the next agent does not report")
    mine = [r for report in control_plane.reports for r in report.replicas]
    assert {(r.state, r.pid) for r in mine} == {("ready", first.pid)}

    assert node.end(signal.SIGTERM) == 0
    assert double(first) == [3.0, 8.0]
    node.start()
    node.wait_for("r1", lambda seen: seen.pid == first.pid and seen.state == "ready")
    assert node.end(signal.SIGINT) == 0
    entry = node.folder("r1").read()
    assert entry is not None and entry.process is None
    with pytest.raises(httpx.ConnectError):
        double(first)


def test_serving_goes_on_without_a_control_plane(tmp_path: Path, held: ExitStack) -> None:
    control_plane = FakeControlPlane()
    port = ports.reserve(0, held)
    with control_plane.serve(port):
        node = Node(tmp_path, control_plane)
        control_plane.desire(replica(control_plane))
        node.start()
        try:
            first = node.ready("r1")
        except BaseException:
            node.end(signal.SIGINT)
            raise
    try:
        assert double(first) == [3.0, 8.0]
        os.kill(first.pid, signal.SIGKILL)
        journal = node.folder("r1")

        def restarted() -> bool:
            entry = journal.read()
            return bool(entry and entry.process and entry.process.pid != first.pid and entry.warm)

        until(restarted, "the runtime did not come back without a control plane")
        with control_plane.serve(port):
            again = node.wait_for("r1", lambda seen: seen.pid not in {0, first.pid})
            assert double(again) == [3.0, 8.0]
    finally:
        node.end(signal.SIGINT)


def test_a_model_that_cannot_be_loaded_says_why(
    node: Node, control_plane: FakeControlPlane
) -> None:
    broken = DesiredReplica(
        replica_id="r1",
        generation=1,
        endpoint="double",
        deployment="blue",
        files=(control_plane.file("double/1/model.onnx", b"this is no model"),),
        inline_files={"double/config.pbtxt": 'name: "double"\nbackend: "onnxruntime"\n'},
        models=("double",),
    )
    control_plane.desire(broken)
    node.start()
    seen = node.wait_for("r1", lambda seen: seen.state == "failed")
    assert seen.error is not None
    assert seen.error.code == "ModelLoadFailed"
    assert "double" in seen.error.message
    assert seen.error.detail
    node.end(signal.SIGINT)


def test_a_node_with_keys_of_its_own_runs_what_they_signed(
    tmp_path: Path, control_plane: FakeControlPlane, node: Node
) -> None:
    keys = tmp_path / "trusted.pub"
    keys.write_text(minisign_files.text("plain.pub"))
    node.environment["SHOAL_NODE_TRUSTED_KEYS"] = str(keys)
    unsigned = replica(control_plane)
    files = ((file.path, file.size, file.sha256) for file in unsigned.files)
    signature = minisign_files.signed(files_digest(files))
    code = control_plane.file("double/1/model.py", b"import os")
    control_plane.desire(
        unsigned,
        dataclasses.replace(unsigned, replica_id="r2", signatures=(signature,)),
        dataclasses.replace(
            unsigned, replica_id="r3", signatures=(signature,), files=(*unsigned.files, code)
        ),
    )
    node.start()
    assert double(node.ready("r2")) == [3.0, 8.0]
    for replica_id, told in (("r1", "nobody has signed them"), ("r3", "signed other files")):
        seen = node.wait_for(replica_id, lambda seen: seen.state == "failed")
        assert seen.error is not None
        assert (seen.error.code, told in seen.error.message) == ("SignatureInvalid", True)
        assert not node.folder(replica_id).repository.exists()
    node.end(signal.SIGINT)


def test_a_new_generation_restarts_the_replica(node: Node, control_plane: FakeControlPlane) -> None:
    control_plane.desire(replica(control_plane))
    node.start()
    first = node.ready("r1")
    control_plane.desire(replica(control_plane, generation=2))
    second = node.wait_for("r1", lambda seen: seen.state == "ready" and seen.generation == 2)
    assert second.pid != first.pid
    assert double(second) == [3.0, 8.0]
    node.end(signal.SIGINT)


BLOCKED = """
import time


class TritonPythonModel:
    def initialize(self, args):
        print("blocked", flush=True)
        time.sleep(3600)
"""


def test_a_replica_that_still_loads_is_stopped_at_once(
    node: Node, control_plane: FakeControlPlane
) -> None:
    """Its runtime ends by itself, the process of its model with it, and the journal says so."""
    config = """
    name: "double" backend: "python"
    input { name: "x" data_type: TYPE_FP32 dims: [2] }
    output { name: "y" data_type: TYPE_FP32 dims: [2] }
    """
    stuck = dataclasses.replace(
        replica(control_plane),
        files=(control_plane.file("double/1/model.py", BLOCKED.encode()),),
        inline_files={"double/config.pbtxt": config},
    )
    control_plane.desire(stuck)
    node.start()
    folder = node.folder("r1")
    seen = node.wait_for("r1", lambda seen: seen.state == "loading")
    until(lambda: "blocked" in folder.runtime_log.read_text(), "the model to block")
    tasks = Path(f"/proc/{seen.pid}/task").glob("*/children")
    stubs = [int(pid) for path in tasks for pid in path.read_text().split()]
    assert stubs
    control_plane.desire(replica(control_plane, generation=2))
    node.wait_for("r1", lambda seen: seen.state == "ready" and seen.generation == 2)
    assert "stopped" in folder.runtime_log.read_text(), "it was not killed"
    notes = [line.partition(" ")[2] for line in folder.agent_log.read_text().splitlines()]
    assert "stopped" in notes
    assert not [note for note in notes if "killed" in note]
    assert not [pid for pid in stubs if Path(f"/proc/{pid}").exists()]
    node.end(signal.SIGINT)


LOADED = """
class TritonPythonModel:
    def initialize(self, args):
        print("loaded", flush=True)
"""


def test_replicas_and_their_models_get_only_listed_variables(
    tmp_path: Path, control_plane: FakeControlPlane
) -> None:
    secrets = {
        "CANARY": "in-the-mine",
        "AWS_ACCESS_KEY_ID": "AKIACANARY",
        "AWS_SECRET_ACCESS_KEY": "canary",
        "AWS_SESSION_TOKEN": "canary",
        "NVIDIA_API_KEY": "canary",
        "HF_TOKEN": "canary",
        "SSH_AUTH_SOCK": "/canary",
        "CREDENTIALS_DIRECTORY": "/canary",
        "PYTHON_KEYRING_BACKEND": "canary",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=canary",
        "PIP_INDEX_URL": "https://name:canary@packages.example/simple",
        "https_proxy": "http://name:canary@proxy.example:3128",
    }
    passed = {"LC_TIME": "C.UTF-8", "OMP_NUM_THREADS": "1", "FOR_MODELS": "1"}
    more = {**secrets, **passed, "SHOAL_NODE_PASS_VARIABLES": f"FOR_MODELS, {reaper.MARK}"}
    node = Node(tmp_path, control_plane, **more)
    config = """
    name: "double" backend: "python"
    input { name: "x" data_type: TYPE_FP32 dims: [2] }
    output { name: "y" data_type: TYPE_FP32 dims: [2] }
    """
    control_plane.desire(
        dataclasses.replace(
            replica(control_plane),
            files=(control_plane.file("double/1/model.py", LOADED.encode()),),
            inline_files={"double/config.pbtxt": config},
            environment={"OF_THE_DEPLOYMENT": "1"},
        )
    )
    node.start()
    seen = node.ready("r1")
    tasks = Path(f"/proc/{seen.pid}/task").glob("*/children")
    stubs = [int(pid) for path in tasks for pid in path.read_text().split()]
    assert stubs
    for pid in (seen.pid, *stubs):
        found = dict(
            item.partition("=")[::2]
            for item in Path(f"/proc/{pid}/environ").read_text().split("\0")
        )
        assert not found.keys() & secrets.keys()
        assert "canary" not in str(found)
        assert not [name for name in found if name.startswith(("SHOAL_", "DJANGO_"))]
        assert {name: found.get(name) for name in passed} == passed
        assert found["OF_THE_DEPLOYMENT"] == "1"
        assert found["PATH"]
    log = (tmp_path / "agent.log").read_text()
    assert "PIP_INDEX_URL seems to hold a password" in log
    assert "canary" not in log
    node.end(signal.SIGINT)


def test_wake_ups_arrive_again_after_the_stream_was_lost(
    node: Node, control_plane: FakeControlPlane
) -> None:
    control_plane.poll_interval_s = 300.0  # so that only a wake-up can be why

    def heard() -> None:
        until(lambda: control_plane.listeners == 1, "nobody listens")
        before = control_plane.desired_requests
        control_plane.wake()
        until(lambda: control_plane.desired_requests > before, "not heard", deadline_s=2)

    node.start()
    until(lambda: control_plane.desired_requests > 0, "the agent never asked for its desired state")
    heard()
    control_plane.refusing = True
    until(lambda: control_plane.listeners == 0, "it listens to what has ended")
    reports = len(control_plane.reports)
    until(
        lambda: len(control_plane.reports) > reports + 2, "without wake-ups the heartbeat stopped"
    )
    control_plane.refusing = False
    heard()
    assert node.end(signal.SIGINT) == 0
    log = (node.home / "agent.log").read_text()
    assert log.count("No wake-ups, desired state is polled meanwhile") == 1


def test_a_used_token_ends_the_agent_with_a_reason(
    node: Node, control_plane: FakeControlPlane
) -> None:
    control_plane.tokens.clear()
    node.start()
    assert node.process is not None
    assert node.process.wait(DEADLINE_S) == 1
    log = (node.home / "agent.log").read_text()
    assert "this token was used" in log
    assert json.dumps("Traceback")[1:-1] not in log


def test_a_name_is_asked_for_again_until_it_is_free(
    node: Node, control_plane: FakeControlPlane
) -> None:
    control_plane.refused_names = 2
    node.start()
    until(lambda: control_plane.reports, "it does not join once the name is free")
    assert (node.home / "agent.log").read_text().count("The name n1 is taken") == 2
    assert node.end(signal.SIGINT) == 0


def test_a_trial_tells_what_the_real_runtime_made_of_the_model(
    node: Node, control_plane: FakeControlPlane
) -> None:
    control_plane.desire(dataclasses.replace(replica(control_plane, "t1"), trial=True))
    node.start()
    seen = node.ready("t1")
    config = seen.configs["double"]
    assert (config["backend"], config["input"][0]["data_type"]) == ("onnxruntime", "TYPE_FP32")
    assert seen.log
    control_plane.desire()
    until(lambda: control_plane.observed("t1") is None, "the trial is reported for ever")
    assert not node.folder("t1").path.exists()
    assert control_plane.samples == []
    node.end(signal.SIGINT)
