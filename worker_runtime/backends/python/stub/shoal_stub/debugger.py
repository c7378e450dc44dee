"""A debugger for the model's code: debugpy, where the model's environment has it.

It listens on a port of loopback, to which VS Code and others attach whenever they like.
"""

import importlib
import os
import socket
import sys
import threading
import time
from typing import Any

from .faults import Misuse

_HOST = "127.0.0.1"
_POLL_S = 0.2


def listen(port: int, name: str) -> None:
    """Take those who attach, for the model ``name``. Raises Misuse where debugpy is missing.

    The process that this one replaces may have the port still: then it is taken when that ends.
    """
    # of the interpreter's own frozen modules, which nobody debugs here
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    try:
        debugpy = importlib.import_module("debugpy")
    except ImportError as error:
        raise Misuse(
            f"the debugger is asked for, and the model's environment has no debugpy ({error}): "
            f"{sys.executable} -m pip install debugpy, or a line in its requirements.txt"
        ) from None
    if _is_free(port):
        _begin(debugpy, port, name)
    else:
        threading.Thread(target=_wait, args=(debugpy, port, name), daemon=True).start()


def is_attached() -> bool:
    """Whether somebody debugs this process: then nothing in it has a time limit."""
    debugpy = sys.modules.get("debugpy")
    return debugpy is not None and bool(debugpy.is_client_connected())


def _begin(debugpy: Any, port: int, name: str) -> None:
    debugpy.listen((_HOST, port))
    print(f"{name}: a debugger may attach at {_HOST}:{port}", flush=True)  # noqa: T201


def _wait(debugpy: Any, port: int, name: str) -> None:
    while not _is_free(port):
        time.sleep(_POLL_S)
    _begin(debugpy, port, name)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True
