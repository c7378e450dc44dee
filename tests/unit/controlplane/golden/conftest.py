"""What the tests of golden cases share."""

import pytest


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the jobs that operations send; nobody does them."""
    found: list[str] = []
    monkeypatch.setattr(
        "controlplane.operations.services.advance.enqueue_on_commit",
        lambda name, **_: found.append(name),
    )
    return found
