"""A control plane in memory, and an agent process that has joined it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.agent_node import Node
from tests.support.fake_control_plane import ControlDoor


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """What keeps ports ours until somebody listens on them."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def door() -> Iterator[ControlDoor]:
    door = ControlDoor()
    with door.serve():
        yield door


@pytest.fixture
def node(tmp_path: Path, door: ControlDoor) -> Iterator[Node]:
    with Node(tmp_path, door) as node:
        yield node
