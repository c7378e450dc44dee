"""Poll mode: what comes, changes and goes in the repositories, without any front end."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.unit.worker_runtime.core.lifecycle_models import IDENTITY, Make, put, settled, states
from worker_runtime.core.lifecycle.survey import Surveyor
from worker_runtime.core.loading import LoadingRules
from worker_runtime.errors import NotFound
from worker_runtime.types.instances import Machine


async def test_polling_follows_the_disk(root: Path, tmp_path: Path, make: Make) -> None:
    other = tmp_path / "other"
    other.mkdir()
    put(root, "a", IDENTITY + "version_policy { all {} }", (1, 2, 3))
    put(root, "typo", "no_such_field: 1")
    manager = make(other, explicit=False)
    assert not await manager.start(None)
    assert states(manager) == {"a/1": "READY", "a/2": "READY", "a/3": "READY", "typo": ""}
    kept = manager.resolve("a", "3")
    shutil.rmtree(root / "a" / "1")
    shutil.copytree(root / "a" / "2", root / "a" / "7")
    put(root, "b")
    put(root, "typo")
    await manager.poll()
    assert await settled(manager) == {
        "a/1": "UNAVAILABLE unloaded",
        "a/2": "READY",
        "a/3": "READY",
        "a/7": "READY",
        "b/1": "READY",
        "typo/1": "READY",
    }
    assert manager.resolve("a", "3") is kept
    put(other, "b", IDENTITY, (1, 3))
    shutil.rmtree(root / "a")
    await manager.poll()
    await settled(manager)
    assert {(model.name, model.version) for model in manager.versions} == {("typo", 1)}
    with pytest.raises(NotFound, match="'a' has no available versions"):
        manager.resolve("a")
    shutil.rmtree(root / "b")
    await manager.poll()
    assert manager.resolve("b").version == 3


async def test_polling_retries_what_failed(root: Path, make: Make) -> None:
    path = put(root, "m", 'backend: "onnxruntime"')
    manager = make(explicit=False)
    assert not await manager.start(None)
    assert not manager.all_ready
    (path / "config.pbtxt").write_text(IDENTITY)
    await manager.poll()
    assert manager.resolve("m").version == 1


async def test_what_is_being_written_waits_for_the_next_poll(root: Path, make: Make) -> None:
    put(root, "m")
    surveyor = Surveyor((root,), LoadingRules(Machine(cores=2)), settle_s=0.0)
    real = surveyor._leave_moving_ones

    def meanwhile(findings: Any, known: Any) -> None:
        (root / "m" / "1" / "more.bin").write_bytes(b"half")
        real(findings, known)

    surveyor._leave_moving_ones = meanwhile  # type: ignore[method-assign]
    assert not surveyor.everything({}, settled=True).changed
    surveyor._leave_moving_ones = real  # type: ignore[method-assign]
    assert set(surveyor.everything({}, settled=True).changed) == {"m"}
