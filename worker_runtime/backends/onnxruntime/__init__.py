"""ONNX models on ONNX Runtime: on the CPU, or by the execution providers that Triton names."""

from worker_runtime.backends.onnxruntime.graph import inspect_graph

__all__ = ["inspect_graph"]
