"""Imports the TensorRT backend on the stand-in for its library."""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.support.tensorrt_library import Graph, Library

_PREFIX = "worker_runtime.backends.tensorrt."
_PARTS = ("plugins", "engines", "contexts", "graphs", "programs", "instances", "backend")


class Backend:
    """The library, and the backend's modules by name."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def __getattr__(self, part: str) -> Any:
        return importlib.import_module(_PREFIX + part)

    def instance(
        self, engine: Any, profiles: tuple[int, ...], *, batched: bool = True, device: str = "cpu"
    ) -> Any:
        found, place = self.engines.profiles_of(engine, profiles), torch.device(device)
        return self.instances.EngineInstance(engine, found, place, "m_0_0", batched=batched)


def backend_on_stand_in(
    monkeypatch: pytest.MonkeyPatch, *, on_gpu: bool = False
) -> Iterator[Backend]:
    """``on_gpu``: memory, streams and graphs are those of the GPU."""
    library = Library()
    monkeypatch.setitem(sys.modules, "tensorrt", library)
    for part in _PARTS:
        monkeypatch.delitem(sys.modules, _PREFIX + part, raising=False)
    backend = Backend(library)
    if not on_gpu:
        monkeypatch.setattr(backend.contexts.Workplace, "reserve", library.memory.reserve)
        monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
        monkeypatch.setattr(Graph, "fails", "")
    yield backend
    for part in _PARTS:
        sys.modules.pop(_PREFIX + part, None)
