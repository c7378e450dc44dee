"""A control plane in memory, and an agent process that has joined it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.agent_node import Node
from tests.support.fake_control_plane import FakeControlPlane


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """What keeps ports ours until somebody listens on them."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def control_plane() -> Iterator[FakeControlPlane]:
    control_plane = FakeControlPlane()
    with control_plane.serve():
        yield control_plane


@pytest.fixture
def node(tmp_path: Path, control_plane: FakeControlPlane) -> Iterator[Node]:
    with Node(tmp_path, control_plane) as node:
        yield node
