"""The GPUs of this machine for the node's reports: what its replicas can be given, by UUID.

This process never initialises CUDA: it would hold the cards' device files open for as long as it
lives, and nobody could switch MIG mode or reset a card. Which devices CUDA_VISIBLE_DEVICES leaves
is told from its text instead; numbers in it count as in NVML, as replicas are told, too (launch).
"""

import logging
from typing import Final

from wire.messages import GpuInfo
from worker_runtime.gpus import Device, Nvml, NvmlFailed

logger = logging.getLogger(__name__)

VISIBLE: Final = "CUDA_VISIBLE_DEVICES"


def gpus(visible: str | None) -> tuple[GpuInfo, ...]:
    """What a process may use whose CUDA_VISIBLE_DEVICES is this, in its order; None: all there are.

    A card in MIG mode is no GPU, each of its MIG devices is one. What cannot be read is left out
    and logged, the others stay; without a driver there are none.
    """
    try:
        with Nvml() as nvml:
            driver = nvml.driver_version()
            devices = enumerate(nvml.devices(visible))
            found = [_gpu(device, index, driver) for index, device in devices]
    except NvmlFailed as error:
        logger.debug("no GPUs: %s", error)
        return ()
    return tuple(gpu for gpu in found if gpu is not None)


def memory_by_process() -> dict[int, int]:
    """Process id -> bytes on all GPUs together, as far as the driver tells; empty without one."""
    found: dict[int, int] = {}
    try:
        with Nvml() as nvml:
            for device in nvml.devices():
                for pid, taken in device.memory_by_process().items():
                    found[pid] = found.get(pid, 0) + taken
    except NvmlFailed as error:
        logger.debug("no GPUs: %s", error)
    return found


def free_bytes(found: tuple[GpuInfo, ...]) -> int:
    """Of the fullest GPU; 0 where there is none."""
    return min((gpu.memory_total_bytes - gpu.memory_used_bytes for gpu in found), default=0)


def _gpu(device: Device, index: int, driver: str) -> GpuInfo | None:
    try:
        name, memory = device.name(), device.memory()
    except NvmlFailed as error:
        logger.warning("GPU %s cannot be read: %s", device.uuid, error)
        return None
    return GpuInfo(
        index=index,
        uuid=device.uuid,
        name=name,
        memory_total_bytes=memory.total,
        memory_used_bytes=memory.used,
        utilization=device.utilization(),
        temperature_c=device.temperature_c(),
        power_w=device.power_w(),
        power_limit_w=device.power_limit_w(),
        driver_version=driver,
        energy_j=device.energy_j(),
    )
