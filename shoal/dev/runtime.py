"""The inference server as commands of this machine start it."""

import importlib.util
import sys

from shoal.client.errors import ShoalError

_MODULE = "worker_runtime"


def server_command(asked_by: str, *flags: str) -> list[str]:
    """The server with ``flags``. Raises ShoalError where the runtime is not installed, for
    ``asked_by``, which would run it."""
    if importlib.util.find_spec(_MODULE) is None:
        raise ShoalError(
            "The inference server is not installed here",
            f"{asked_by} runs it on this machine.",
            ["pip install 'shoal[runtime,onnxruntime]' brings it."],
        )
    return [sys.executable, "-m", _MODULE, *flags]


def debug_flag(port: int) -> str:
    """Lets debuggers attach to Python models, at ``port`` and the next ones."""
    return f"--backend-config=python,debug-port={port}"
