"""The inference server: Triton's protocols and repository layout over in-process backends.

``python -m worker_runtime`` is the server process; ``InferenceServer`` is the same in a program.
"""

from typing import TYPE_CHECKING, Any

from worker_runtime.version import __version__

if TYPE_CHECKING:
    from worker_runtime.inprocess import InferenceServer

__all__ = ["InferenceServer", "__version__"]


def __getattr__(name: str) -> Any:
    """Import the server only for who asks for it: agents and tools live without."""
    if name == "InferenceServer":
        from worker_runtime.inprocess import InferenceServer  # noqa: PLC0415 # see above

        return InferenceServer
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
