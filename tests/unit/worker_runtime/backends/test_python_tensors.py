"""Tensors of a device as outputs of Python models, whose library is a stand-in."""

from contextlib import closing
from typing import Any

import numpy as np

from worker_runtime.backends.python.stub.shoal_stub.memory import Arena
from worker_runtime.backends.python.stub.shoal_stub.tensors import Tensor

CUDA_DEVICE = (2, 0)


class OnDevice:
    """An array of a library whose kernels may still run when the model hands it over."""

    shape = (3,)
    dtype = np.dtype(np.float32)

    def __init__(self) -> None:
        self.waited: list[Any] = []

    def __dlpack__(self, *, stream: Any = None) -> object:
        self.waited.append(stream)
        return object()

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA_DEVICE

    def get(self) -> Any:
        """As CuPy copies to the host."""
        assert self.waited == [1], "copied before its stream was waited for"
        return np.arange(3, dtype=np.float32)


def test_what_is_still_computed_is_waited_for_before_it_is_copied() -> None:
    """1 is CUDA's default stream, on which the copy to the host is made."""
    made = OnDevice()
    tensor = Tensor.from_dlpack("y", made)
    assert not tensor.is_cpu()
    assert made.waited == [1]
    with closing(Arena()) as arena:
        name, datatype, shape, _ = tensor.write(arena)
    assert (name, datatype, shape) == ("y", "FP32", [3])
