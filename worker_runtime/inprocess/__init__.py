"""The server inside a program: numpy in, numpy out, the same schedulers, no network."""

from worker_runtime.inprocess.server import InferenceServer, ModelResponse

__all__ = ["InferenceServer", "ModelResponse"]
