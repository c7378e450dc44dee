"""What this process may use: cores under affinity and quota, and CUDA devices."""

import ctypes
import os
from pathlib import Path

from worker_runtime.errors import Internal
from worker_runtime.types.instances import Machine

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def this_machine() -> Machine:
    return Machine(cores=cores(), gpus=cuda_devices())


def cores() -> int:
    """Cores that this process can keep busy: affinity, bounded by a container's quota."""
    available = len(os.sched_getaffinity(0))
    try:
        quota, period = _QUOTA.read_text().split()
    except (OSError, ValueError):
        return available
    if quota == "max":
        return available
    return max(1, min(available, round(int(quota) / int(period))))


def gpu_memory(device: int) -> tuple[int, int]:
    """Bytes used and bytes in all on a GPU. Raises Internal when the driver does not tell."""
    import pynvml  # noqa: PLC0415 # only where a limit is set

    try:
        pynvml.nvmlInit()
        found = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(device))
    except pynvml.NVMLError as error:
        raise Internal(f"unable to get memory information of GPU {device}: {error}") from error
    return int(found.used), int(found.total)


def tells_of_gpus() -> bool:
    """Whether the driver's library that tells of GPUs is there."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


def cuda_devices() -> int:
    """How many CUDA devices the driver offers; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value
