"""Ensembles in the lifecycle: they come with their parts, follow them, and go with them."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.unit.worker_runtime.core.lifecycle_models import (
    ENSEMBLE,
    IDENTITY,
    WRONG,
    Make,
    put,
    settled,
    states,
)
from worker_runtime.backends.attempt import Attempt
from worker_runtime.core.lifecycle import serving
from worker_runtime.core.loading import LoadingRules, ModelPlan
from worker_runtime.core.manager import Manager
from worker_runtime.core.model import Blueprint
from worker_runtime.errors import LoadFailed, RuntimeFault
from worker_runtime.repository.ensembles import part_of
from worker_runtime.types.repository import key_of


async def test_ensembles_come_with_their_parts_and_go_with_them(root: Path, make: Make) -> None:
    put(root, "part")
    put(root, "whole", ENSEMBLE % "part")
    manager = make()
    await manager.start(())
    await manager.load("whole")
    assert states(manager) == {"part/1": "READY", "whole/1": "READY"}
    await manager.unload("part")
    unloaded = "UNAVAILABLE unloaded"
    assert await settled(manager) == {"part/1": unloaded, "whole/1": unloaded}
    await manager.load("part")
    assert states(manager) == {"part/1": "READY", "whole/1": "READY"}, "it was not unloaded itself"
    await manager.unload("whole")
    await manager.unload("part")
    await manager.load("part")
    assert await settled(manager) == {"part/1": "READY", "whole/1": unloaded}
    await manager.unload("part")
    await manager.load("whole")
    await manager.unload("whole")
    assert await settled(manager) == {"part/1": "READY", "whole/1": unloaded}
    await manager.unload("part")
    await manager.load("whole")
    await manager.unload("whole", unload_dependents=True)
    assert await settled(manager) == {"part/1": unloaded, "whole/1": unloaded}
    await manager.load("part")
    await manager.load("whole")
    await manager.unload("whole", unload_dependents=True)
    assert await settled(manager) == {"part/1": "READY", "whole/1": unloaded}, "asked for by name"


async def test_an_ensemble_follows_what_it_is_made_of(root: Path, make: Make) -> None:
    put(root, "part")
    put(root, "whole", ENSEMBLE % "part")
    put(root, "orphan", ENSEMBLE % "nobody")
    put(root, "wrong", WRONG)
    put(root, "unlucky", ENSEMBLE % "wrong")
    manager = make()
    assert not await manager.start(None)
    assert states(manager)["whole/1"] == "READY"
    assert (states(manager)["orphan"], states(manager)["unlucky"]) == ("", "")
    texts = {
        "orphan": "load failed for model 'orphan': ensemble orphan contains models that are not "
        "available or ambiguous: nobody\n",
        "unlucky": "load failed for model 'unlucky': ensemble 'unlucky' depends on 'wrong' which "
        "has no loaded version. Model 'wrong' loading failed with error: version 1 is at "
        "UNAVAILABLE state: Invalid argument: expected output name to follow OUTPUT<index> "
        "pattern, got 'OUT';\n",
    }
    for name, text in texts.items():
        with pytest.raises(LoadFailed) as caught:
            await manager.load(name)
        assert str(caught.value) == text
    before = manager.resolve("whole")
    put(root, "part", IDENTITY.replace("[ 4 ]", "[ 5 ]"))
    await manager.load("part")
    assert (await settled(manager))["whole/1"] == "UNAVAILABLE unloaded", "it does not fit now"
    put(root, "part")
    await manager.load("part")
    assert manager.resolve("whole") is not before
    put(root, "wrong")
    await manager.load("wrong")
    assert states(manager)["unlucky/1"] == "READY"


# --- whoever is called serves until nobody calls it any more --------------------------------------


class Onlooker:
    """Looks, in the event loop, at every moment at which models are being loaded or unloaded."""

    def __init__(self, manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
        self.manager = manager
        self.seen: list[str] = []
        self.broken: list[str] = []
        self._loop = asyncio.get_running_loop()
        self._load, self._unload = serving.load_version, manager._serving.unload
        monkeypatch.setattr(serving, "load_version", self._loads)
        monkeypatch.setattr(manager._serving, "unload", self._unloads)

    def _loads(
        self, plan: ModelPlan, version: int, rules: LoadingRules, attempt: Attempt
    ) -> Blueprint:
        key = key_of(plan.directory.name, plan.namespace)
        asyncio.run_coroutine_threadsafe(self._look(f"loading {key}"), self._loop).result(10)
        return self._load(plan, version, rules, attempt)

    def _unloads(self, name: str) -> None:
        self._unload(name)
        self._note(f"unloaded {name}")

    async def _look(self, moment: str) -> None:
        self._note(moment)

    def _note(self, moment: str) -> None:
        self.seen.append(moment)
        for model in self.manager.versions:
            for step in model.config.ensemble_scheduling.step:
                version = str(step.model_version) if step.model_version >= 0 else ""
                try:
                    self.manager.resolve(part_of(step), version)
                except RuntimeFault as error:
                    self.broken.append(f"{moment}: {model.name} calls nobody: {error}")


def called(manager: Manager, ensemble: str) -> str:
    """The repository that an ensemble's only step calls into."""
    step = manager.resolve(ensemble).config.ensemble_scheduling.step[0]
    return Path(step.model_namespace).name


@pytest.fixture
def two(root: Path, tmp_path: Path) -> Path:
    """A second repository with the only `part`, which `far` of the first one calls."""
    put(tmp_path / "two", "part")
    put(root, "far", ENSEMBLE % "part")
    put(root, "farther", ENSEMBLE.replace("INPUT0", "A").replace("OUTPUT0", "B") % "far")
    return tmp_path / "two"


async def test_ensembles_call_another_one_before_the_nearer_one_goes(
    root: Path, two: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, "part")
    manager = make(two, explicit=False, namespacing=True)
    assert await manager.start(None)
    assert called(manager, "far") == "models"
    onlooker = Onlooker(manager, monkeypatch)
    shutil.rmtree(root / "part")
    await manager.poll()
    assert called(manager, "far") == "two"
    rebound = onlooker.seen.index(f"loading {root}/far")
    assert rebound < onlooker.seen.index(f"unloaded {root}/part")
    assert onlooker.broken == []
    shutil.rmtree(two / "part")
    await manager.poll()
    assert onlooker.broken == [], "the ensembles go first"
    assert manager.versions == []


async def test_a_nearer_one_is_called_once_it_serves(
    root: Path, two: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = make(two, explicit=False, namespacing=True)
    assert await manager.start(None)
    onlooker = Onlooker(manager, monkeypatch)
    put(root, "part")
    await manager.poll()
    assert called(manager, "far") == "models"
    assert onlooker.seen[:2] == [f"loading {root}/part", f"loading {root}/far"]
    assert onlooker.broken == []


@pytest.mark.parametrize("explicit", [True, False])
async def test_a_nearer_one_that_fails_takes_no_ensemble_down(
    root: Path, two: Path, make: Make, monkeypatch: pytest.MonkeyPatch, explicit: bool
) -> None:
    manager = make(two, explicit=explicit, namespacing=True)
    assert await manager.start(None)
    onlooker = Onlooker(manager, monkeypatch)
    put(root, "part", WRONG)
    for _ in range(2):
        if explicit:
            with pytest.raises(LoadFailed, match="expected output name to follow"):
                await manager.load("part")
        else:
            await manager.poll()
        assert called(manager, "far") == "two"
        assert called(manager, "farther") == "models"
    assert onlooker.broken == []
    put(root, "part")
    await (manager.load("part") if explicit else manager.poll())
    assert called(manager, "far") == "models"
    assert onlooker.broken == []


@pytest.mark.parametrize("explicit", [True, False])
async def test_a_failed_reload_of_a_part_leaves_the_ensemble_as_it_is(
    root: Path, make: Make, monkeypatch: pytest.MonkeyPatch, explicit: bool
) -> None:
    put(root, "part")
    put(root, "whole", ENSEMBLE % "part")
    manager = make(explicit=explicit)
    assert await manager.start(None)
    part = manager.resolve("part")
    onlooker = Onlooker(manager, monkeypatch)
    put(root, "part", WRONG, (1, 2))
    if explicit:
        with pytest.raises(LoadFailed, match="version 2 is at UNAVAILABLE state"):
            await manager.load("part")
    else:
        await manager.poll()
    assert manager.resolve("part") is part
    assert states(manager)["whole/1"] == "READY"
    assert onlooker.broken == []


@pytest.mark.parametrize("explicit", [True, False])
async def test_a_failed_reload_of_an_ensemble_leaves_it_as_it_is(
    root: Path, make: Make, explicit: bool
) -> None:
    put(root, "part")
    put(root, "whole", ENSEMBLE % "part")
    manager = make(explicit=explicit)
    assert await manager.start(None)
    whole = manager.resolve("whole")
    put(root, "whole", ENSEMBLE % "nobody")
    if explicit:
        with pytest.raises(LoadFailed, match="not available or ambiguous: nobody"):
            await manager.load("whole")
    else:
        await manager.poll()
    assert manager.resolve("whole") is whole
    put(root, "part", IDENTITY.replace("[ 4 ]", "[ 5 ]"))
    await (manager.load("part") if explicit else manager.poll())
    assert (await settled(manager))["whole/1"] == "UNAVAILABLE unloaded", "it does not fit now"


@pytest.mark.parametrize("explicit", [True, False])
async def test_what_goes_waits_for_its_callers_alone(
    root: Path, two: Path, make: Make, monkeypatch: pytest.MonkeyPatch, explicit: bool
) -> None:
    """Memory is given back before slow loads that have nothing to do with it."""
    put(root, "part")
    put(root, "lonely")
    manager = make(two, explicit=explicit, namespacing=True)
    assert await manager.start(None)
    onlooker = Onlooker(manager, monkeypatch)
    if explicit:
        await manager.unload("part")
        assert onlooker.broken == []
        assert {model.name for model in manager.versions} == {"lonely"}
        return
    for name in ("part", "lonely"):
        shutil.rmtree(root / name)
    put(root, "slow")
    await manager.poll()
    seen = onlooker.seen
    assert seen.index(f"unloaded {root}/lonely") < seen.index(f"loading {root}/slow")
    assert seen.index(f"loading {root}/far") < seen.index(f"unloaded {root}/part")
    assert onlooker.broken == []
