"""The debugger of a model's process, where it cannot be had."""

import sys
import types

import pytest

from worker_runtime.backends.python.stub.shoal_stub import debugger
from worker_runtime.backends.python.stub.shoal_stub.faults import Misuse


def test_an_environment_without_debugpy_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "debugpy", None)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match=r"-m pip install debugpy, or a line in its requirements"):
        debugger.listen(5678, "mine_0")
    assert not debugger.is_attached()


def test_limits_of_time_end_while_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = types.SimpleNamespace(is_client_connected=lambda: True)
    monkeypatch.setitem(sys.modules, "debugpy", found)  # type: ignore[arg-type]
    assert debugger.is_attached()
