"""Ensembles in the lifecycle: they come with their parts, follow them, and go with them."""

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
from worker_runtime.errors import LoadFailed


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
