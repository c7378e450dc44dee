"""What tests of the protocols share."""

from collections.abc import Callable, Iterator

import pytest

from worker_runtime.protocols.grpc.native import allowance


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """Time stands still, so that counts are exact; a call lets so many seconds pass."""
    now = [1000.0]
    monkeypatch.setattr(allowance, "monotonic", lambda: now[0])

    def later(seconds: float) -> None:
        now[0] += seconds

    yield later
