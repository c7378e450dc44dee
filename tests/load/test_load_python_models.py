"""A hundred processes of Python models come and go."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.python_instances import Load, check_nothing_is_left, loader
from tests.support.python_models import ECHO


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    yield from loader(tmp_path)


def test_a_hundred_processes_leave_nothing_behind(load: Load) -> None:
    check_nothing_is_left(load, ECHO, rounds=19, instances=5)
