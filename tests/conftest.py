"""Marks every test by the folder it lives in, so that `-m` and the Makefile agree."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if folder in {"integration", "conformance"}:
            item.add_marker(pytest.mark.integration)
        elif folder == "e2e":
            item.add_marker(pytest.mark.e2e)
