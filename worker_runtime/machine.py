"""What this process may use: cores under affinity and quota, and CUDA devices."""

import ctypes
import os
import sys
from pathlib import Path
from uuid import UUID

from worker_runtime.errors import Internal
from worker_runtime.gpus import Nvml, NvmlFailed
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
    """Bytes used and in all on CUDA's device of this number. Raises Internal when nobody tells."""
    uuids = cuda_uuids()
    try:
        if device >= len(uuids):
            raise NvmlFailed(f"CUDA has {len(uuids)} devices")
        with Nvml() as nvml:
            return nvml.device(uuids[device]).memory()
    except NvmlFailed as error:
        raise Internal(f"unable to get memory information of GPU {device}: {error}") from error


def pinned_bytes() -> int:
    """Of the host's memory, what this process has pinned for copies to and from GPUs.

    All of that is PyTorch's, which keeps what it has pinned once. Processes of Python models pin
    their own.
    """
    memory = sys.modules.get("torch.cuda.memory")  # why not imported: it takes seconds
    stats = getattr(memory, "host_memory_stats", None)  # None while another thread imports it
    return int(stats().get("allocated_bytes.current", 0)) if stats else 0


def cuda_devices() -> int:
    """How many CUDA devices the driver offers; 0 without a driver."""
    return _count(_driver())


def cuda_uuids() -> tuple[str, ...]:
    """UUIDs of CUDA's devices in the order of their numbers, without NVML's prefix.

    Of a MIG device its own. Empty for one of which the driver does not tell it.
    """
    driver = _driver()
    return tuple(_uuid(driver, number) for number in range(_count(driver)))


def _driver() -> ctypes.CDLL | None:
    """Initialised, which takes no memory of any device; None where there is none to use."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    return None if driver.cuInit(0) else driver


def _count(driver: ctypes.CDLL | None) -> int:
    count = ctypes.c_int(0)
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def _uuid(driver: ctypes.CDLL | None, number: int) -> str:
    device, raw = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    ask = getattr(driver, "cuDeviceGetUuid_v2", None)  # since 11.4: the first one knows cards only
    if driver is None or ask is None or driver.cuDeviceGet(ctypes.byref(device), number):
        return ""
    return "" if ask(raw, device) else str(UUID(bytes=bytes(raw)))
