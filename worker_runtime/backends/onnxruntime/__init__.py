"""ONNX models on ONNX Runtime: on the CPU, or by the execution providers that Triton names."""
