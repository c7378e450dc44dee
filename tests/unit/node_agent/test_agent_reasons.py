"""What a runtime says of a model that it cannot load becomes a code and what helps."""

import pytest

from node_agent.reasons import load_failed, may_pass
from wire.messages import Problem

GPU_FULL = [
    "CUDA out of memory. Tried to allocate 20.00 GiB (GPU 0; 79.10 GiB total capacity)",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total of",
    "RuntimeError: CUDA error: out of memory",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "cudaErrorMemoryAllocation: out of memory",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "CUDNN_STATUS_ALLOC_FAILED",
    "failed to load model 'm': out of memory: onnx runtime error 6: CUDA failure 2: out of memory",
    "TensorRT: out of memory on the GPU: Tried to allocate 1.2 GiB",
    "[virtualMemoryBuffer.cpp::resizePhysical::154] Error Code 2: OutOfMemory",
    "OOM when allocating tensor of shape [8] on /device:GPU:0 by allocator GPU_0_bfc",
    "HIP out of memory. Tried to allocate 1.00 GiB",
    "the model's process ended.\nTraceback\ntorch.cuda.OutOfMemoryError: CUDA out of memory.",
]
SOMETHING_ELSE = [
    "failed to load model 'm': out of memory: std::bad_alloc",
    "OOM when allocating tensor of shape [8] on /device:CPU:0 by allocator cpu",
    "MemoryError",
    "CUDA error: device-side assert triggered",
    "CUDA driver version is insufficient for CUDA runtime version",
    "no such vocabulary",
    "room for images in gpubased zoom",
    "the GPU is busy\nand the disk is out of memory cards",
]


@pytest.mark.parametrize("reason", GPU_FULL)
def test_a_gpu_that_is_full_is_told_as_such(reason: str) -> None:
    problem = load_failed("m", reason).problem
    assert problem.code == "GpuOutOfMemory"
    assert reason.splitlines()[0].rstrip(":") in problem.message
    assert problem.detail == reason
    assert any("instance type" in hint for hint in problem.hints)


@pytest.mark.parametrize("reason", SOMETHING_ELSE)
def test_all_else_is_a_model_that_does_not_load(reason: str) -> None:
    problem = load_failed("m", reason).problem
    assert problem.code == "ModelLoadFailed"
    assert problem.detail == reason
    assert problem.hints == (
        "Correct the model or its configuration, then deploy the new version.",
    )


@pytest.mark.parametrize(
    ("reason", "passes"),
    [
        ("Connection reset by peer", True),
        ("HTTPSConnectionPool: Read timed out", True),
        ("[Errno 24] Too many open files: 'model.onnx'", True),
        ("OSError: [Errno 16] Device or resource busy", True),
        ("Temporary failure in name resolution", True),
        ("the model's process ended.\nTraceback\nTimeoutError: no answer: timed out", True),
        ("opset 99 is not supported", False),
        ("unexpected datatype TYPE_INT8", False),
        ("[Errno 2] No such file or directory: 'vocab.txt'", False),
        ("no such vocabulary\n\nlog: a request timed out", False),
        ("CUDA out of memory, timed out", False),  # another code: it is placed elsewhere
    ],
)
def test_a_load_may_pass_by_its_own_reason_alone(reason: str, passes: bool) -> None:
    assert may_pass(load_failed("m", reason).problem) is passes


def test_only_loads_are_tried_again() -> None:
    assert not may_pass(Problem("CrashLoop", "The runtime timed out", detail="timed out"))
