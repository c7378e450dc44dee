"""Captured data on its way: what replicas write is a stranger's, and nothing grows for ever."""

import asyncio
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from node_agent import capture_shipping
from node_agent.capture_shipping import CaptureShipping
from node_agent.client import ControlError, Refused
from node_agent.journal import ReplicaFolder
from node_agent.launch import command, environment
from node_agent.outbox import FILE_BYTES, Outbox
from wire.messages import CaptureRule, DesiredReplica

NAME = "1000-2000-3-0.jsonl"


def replica(name: str = "r1", *, capture: CaptureRule | None = None) -> DesiredReplica:
    return DesiredReplica(
        name, 1, "digits", "blue", (), capture=capture or CaptureRule({"sampling_rate": 0.5})
    )


@pytest.fixture
def folder(tmp_path: Path) -> ReplicaFolder:
    found = ReplicaFolder(tmp_path / "replicas" / "r1")
    found.captured.mkdir(parents=True)
    return found


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path / "captured")


def test_finished_files_move_and_say_whose_they_are(outbox: Outbox, folder: ReplicaFolder) -> None:
    (folder.captured / NAME).write_text("{}\n")
    (folder.captured / "open.jsonl").write_text("{")
    assert outbox.take(replica(), folder) == 1
    assert [path.name for path in folder.captured.iterdir()] == ["open.jsonl"]
    (found,) = outbox.waiting()
    assert (found.replica_id, found.endpoint, found.deployment) == ("r1", "digits", "blue")
    assert found.path.read_text() == "{}\n"
    assert found.path.stat().st_mode & 0o077 == 0
    outbox.sent(found)
    assert list(outbox.waiting()) == []
    assert not found.path.parent.exists()


def test_what_is_no_plain_file_of_their_size_is_removed_unread(
    outbox: Outbox, folder: ReplicaFolder, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret of the node")
    (folder.captured / "1-1-1-0.jsonl").symlink_to(secret)
    os.mkfifo(folder.captured / "2-2-1-0.jsonl")
    (folder.captured / "3-3-1-0.jsonl").write_bytes(bytes(FILE_BYTES + 1))
    (folder.captured / "4-4-1-0.jsonl").mkdir()
    (folder.captured / NAME).write_text("{}\n")
    assert outbox.take(replica(), folder) == 1
    assert [file.path.name for file in outbox.waiting()] == [NAME]
    assert [path.name for path in folder.captured.iterdir()] == ["4-4-1-0.jsonl"]
    assert secret.exists()


def test_a_spool_that_was_replaced_by_a_link_leads_nowhere(
    outbox: Outbox, folder: ReplicaFolder, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / NAME).write_text("not theirs")
    folder.captured.rmdir()
    folder.captured.symlink_to(other)
    assert outbox.take(replica(), folder) == 0
    assert (other / NAME).exists()


def test_while_the_outbox_is_full_files_stay_where_they_are(
    tmp_path: Path, folder: ReplicaFolder
) -> None:
    outbox = Outbox(tmp_path / "captured", most_bytes=1_000)
    for at in range(5):
        (folder.captured / f"{at}-{at}-1-0.jsonl").write_bytes(b"x" * 300)
    for _ in range(3):
        outbox.take(replica(), folder)
    assert len(list(outbox.waiting())) == 3
    assert len(list(folder.captured.iterdir())) == 2
    outbox.sent(next(outbox.waiting()))
    assert outbox.take(replica(), folder) == 1


def test_of_a_replica_without_capture_nothing_is_taken(
    outbox: Outbox, folder: ReplicaFolder
) -> None:
    (folder.captured / NAME).write_text("{}\n")
    assert outbox.take(DesiredReplica("r1", 1, "digits", "blue", ()), folder) == 0


class Control:
    """A control plane that answers what it is told to."""

    def __init__(self, *answers: Exception | None) -> None:
        self._answers = list(answers)
        self.got: list[tuple[str, str, str, bytes]] = []

    async def captured(self, replica_id: str, name: str, **said: Any) -> None:
        answer = self._answers.pop(0) if self._answers else None
        if answer is not None:
            raise answer
        self.got.append((replica_id, name, said["deployment"], said["content"]))


def shipping(
    outbox: Outbox, folder: ReplicaFolder, control: Control, monkeypatch: pytest.MonkeyPatch
) -> CaptureShipping:
    monkeypatch.setattr(capture_shipping, "REST_S", 0.0)
    monkeypatch.setattr(capture_shipping, "PACE_S", 0.0)
    fleet: Any = SimpleNamespace(capturing=lambda: [(replica(), folder)])
    client: Any = control
    return CaptureShipping(outbox, fleet, client)


def test_a_file_is_kept_until_the_control_plane_has_it(
    outbox: Outbox, folder: ReplicaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.captured / NAME).write_text("{}\n")
    control = Control(ControlError("away"), ControlError("away"))
    loop = shipping(outbox, folder, control, monkeypatch)
    for _ in range(2):
        with pytest.raises(ControlError):
            asyncio.run(loop.run_once())
        assert len(list(outbox.waiting())) == 1
    asyncio.run(loop.run_once())
    assert control.got == [("r1", NAME, "blue", b"{}\n")]
    assert list(outbox.waiting()) == []


def test_what_an_agent_that_was_killed_left_goes_with_the_next_one(
    outbox: Outbox, folder: ReplicaFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file had come as far as the outbox, the runtime has finished another one meanwhile."""
    (folder.captured / NAME).write_text("{}\n")
    with pytest.raises(ControlError):
        away = Control(ControlError("away"))
        asyncio.run(shipping(outbox, folder, away, monkeypatch).run_once())
    later = "3000-4000-1-0.jsonl"
    (folder.captured / later).write_text("{}\n")
    control, again = Control(), Outbox(tmp_path / "captured")
    asyncio.run(shipping(again, folder, control, monkeypatch).run_once())
    assert sorted(name for _, name, *_ in control.got) == [NAME, later]
    assert list(again.waiting()) == []


def test_a_file_that_is_refused_does_not_stand_before_the_others(
    outbox: Outbox, folder: ReplicaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.captured / "1-1-1-0.jsonl").write_text("bad\n")
    (folder.captured / "2-2-1-0.jsonl").write_text("{}\n")
    control = Control(Refused(400, "not a record"))
    asyncio.run(shipping(outbox, folder, control, monkeypatch).run_once())
    assert [name for _, name, *_ in control.got] == ["2-2-1-0.jsonl"]
    assert list(outbox.waiting()) == []


def test_the_runtime_is_told_what_to_capture_and_where(folder: ReplicaFolder) -> None:
    rule = CaptureRule({"sampling_rate": 0.5, "hash": ["who"]}, hash_key="k" * 64)
    sockets: Any = {name: SimpleNamespace(fileno=lambda: 3) for name in ("http", "grpc", "metrics")}
    said = command(("runtime",), replica(capture=rule), folder, sockets)
    (config,) = [arg for arg in said if arg.startswith("--capture-config=")]
    assert json.loads(config.partition("=")[2]) == rule.settings
    assert f"--capture-directory={folder.captured}" in said
    assert not any("k" * 64 in arg for arg in said)  # everybody on the machine reads these
    assert environment({}, replica(capture=rule))["SHOAL_CAPTURE_HASH_KEY"] == "k" * 64
    assert "SHOAL_CAPTURE_HASH_KEY" not in environment({}, replica())
