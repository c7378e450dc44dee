"""Plugins that engines need: TensorRT's own, and the libraries that the operator names.

As Triton's ``--backend-config=tensorrt,plugins=/path/a.so;/path/b.so``: of the command line only,
for all engines of the process. A model cannot name one, and TensorRT runs code that an engine file
itself carries only where ``engine_host_code_allowed`` says so, which nothing here sets.
"""

import ctypes
import logging
from collections.abc import Mapping
from threading import Lock
from typing import Any

import tensorrt as trt

SETTING = "plugins"
logger = logging.getLogger(__name__)


class Plugins:
    """Registers each library once, and TensorRT's own plugins once after the first of them.

    In that order, as in Triton: a library registers its plugins when it is opened. What goes wrong
    is logged and kept for the engines that miss a plugin; others are served.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._opened: dict[str, Any] = {}
        self._wrong: dict[str, str] = {}
        self._own = False

    def register(self, log: Any, settings: Mapping[str, str]) -> tuple[str, ...]:
        """``log`` is TensorRT's logger. Gives what went wrong, if anything did."""
        with self._lock:
            for library in filter(None, settings.get(SETTING, "").split(";")):
                if library not in self._opened:
                    self._open(library)
            if not self._own:
                self._own = True
                if not trt.init_libnvinfer_plugins(log, ""):
                    self._failed("TensorRT", "TensorRT's own plugins could not be registered")
            return tuple(self._wrong.values())

    def _open(self, library: str) -> None:
        self._opened[library] = None
        try:
            # why kept: its code must stay for as long as engines may call it
            self._opened[library] = ctypes.CDLL(library)
        except OSError as error:
            self._failed(library, f"plugin library '{library}' could not be loaded: {error}")

    def _failed(self, what: str, text: str) -> None:
        self._wrong[what] = text
        logger.error("%s", text)


PLUGINS = Plugins()
