"""An empty model repository, and managers of it that end with the test."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.worker_runtime.core.lifecycle_models import Make
from worker_runtime.core.loading import LoadingRules
from worker_runtime.core.manager import Manager
from worker_runtime.types.instances import Machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture
async def make(root: Path) -> AsyncIterator[Make]:
    made: list[Manager] = []

    def build(*more: Path, explicit: bool = True, **options: Any) -> Manager:
        manager = Manager(
            (root, *more), LoadingRules(Machine(cores=2)), explicit=explicit, **options
        )
        made.append(manager)
        return manager

    yield build
    for manager in made:
        await manager.close(5)
