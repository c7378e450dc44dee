"""A runtime in which the CPU stands for the GPU: its KIND_GPU instances go the way of a device.

    python -m tests.support.gpu_double --model-repository ...

Lanes, bindings, graphs' sizes and memory that clients share are those of a card, by the backends'
own name for the device; streams, kernels and captures are not. Needs the CUDA driver made of files
with addresses that the host has (cuda_driver.py).
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worker_runtime.__main__ import main
from worker_runtime.backends.onnxruntime import backend as onnx_backend
from worker_runtime.backends.onnxruntime.providers import CPU, CUDA, Provider
from worker_runtime.backends.python import regions as python_regions
from worker_runtime.backends.pytorch import backend as torch_backend

_open_session = onnx_backend.open_session


def open_session(
    path: Path, options: Any, providers: Sequence[Provider], name: str, *beside: bytes | None
) -> Any:
    """A session on the CPU that says it is one on CUDA, where that was wanted."""
    session = _open_session(
        path, options, [row for row in providers if row[0] != CUDA], name, *beside
    )
    if any(provider == CUDA for provider, _ in providers):
        # else tiny models would run in the event loop, as on the CPU
        session.get_providers = lambda: [CUDA, CPU]
    return session


if __name__ == "__main__":
    onnx_backend.DEVICE = torch_backend.DEVICE = "cpu"
    python_regions.DLPACK_DEVICE = 1  # kDLCPU
    onnx_backend.open_session = open_session
    sys.exit(main(sys.argv[1:]))
