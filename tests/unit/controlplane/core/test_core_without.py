"""Modules that are kept from libraries while these are imported, and from nobody else."""

import importlib
import sys

import pytest

from controlplane.core.without import without


def test_what_is_hidden_is_absent_inside_and_there_again_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with without("colorsys"), pytest.raises(ImportError):
        importlib.import_module("colorsys")
    assert importlib.import_module("colorsys").rgb_to_hsv


def test_what_was_imported_before_stays() -> None:
    with without("json"):
        assert importlib.import_module("json") is sys.modules["json"]
    assert sys.modules["json"]


def test_a_failure_inside_hides_nothing_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with pytest.raises(ZeroDivisionError), without("colorsys"):
        raise ZeroDivisionError
    assert "colorsys" not in sys.modules
