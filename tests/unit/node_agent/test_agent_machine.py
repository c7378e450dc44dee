"""What a node says it can run decides what is placed on it."""

import pytest

from node_agent import machine


def test_what_needs_no_library_is_always_offered() -> None:
    assert {"python", "identity", "onnxruntime", "pytorch"} <= set(machine.backends())


def test_backends_of_other_packages_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "third_party", lambda: {"reverse": None})
    assert "reverse" in machine.backends()


def test_a_backend_without_its_library_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(machine.LIBRARIES, "pytorch", "no_such_library_here")
    assert "pytorch" not in machine.backends()
    assert "python" in machine.backends()
