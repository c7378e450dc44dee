"""In which order `make test-integration` hands files out."""

import pytest

# Folders of few tests that take their time, most of it waiting for programs to start and to end:
# begun last, all would wait for them.
LONGEST = ("shoal_local", "node_agent")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.parent.name not in LONGEST)
