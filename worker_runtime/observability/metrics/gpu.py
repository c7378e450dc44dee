"""This server's GPUs as NVML tells of them; without a driver there are no families."""

import logging
from collections.abc import Callable, Iterator, Sequence
from time import monotonic

from worker_runtime.gpus import Device, Nvml, NvmlFailed
from worker_runtime.observability.metrics.text import Family

logger = logging.getLogger(__name__)

Reading = Callable[[Device], float | None]


def _memory_total(gpu: Device) -> float:
    return gpu.memory().total


def _memory_used(gpu: Device) -> float:
    return gpu.memory().used


# name, help, kind, how it is read
READINGS: tuple[tuple[str, str, str, Reading], ...] = (
    ("nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", "gauge", Device.utilization),
    ("nv_gpu_memory_total_bytes", "GPU total memory, in bytes", "gauge", _memory_total),
    ("nv_gpu_memory_used_bytes", "GPU used memory, in bytes", "gauge", _memory_used),
    ("nv_gpu_power_usage", "GPU power usage in watts", "gauge", Device.power_w),
    ("nv_gpu_power_limit", "GPU power management limit in watts", "gauge", Device.power_limit_w),
    (
        "nv_energy_consumption",
        "GPU energy consumption in joules since the Triton Server started",
        "counter",
        Device.energy_j,
    ),
)
ENERGY = "nv_energy_consumption"


class GpuFamilies:
    """Values are at most ``interval_s`` old. What a GPU cannot tell is left out for it.

    ``uuids`` as CUDA tells them of the devices that this process may use.
    """

    def __init__(
        self, interval_s: float, uuids: Sequence[str], clock: Callable[[], float] = monotonic
    ) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._read_at = -interval_s
        self._families: list[Family] = []
        self._devices = _devices(uuids)
        self._joules = {gpu.uuid: gpu.energy_j() or 0.0 for gpu in self._devices}

    def collect(self) -> Iterator[Family]:
        now = self._clock()
        if self._devices and now - self._read_at >= self._interval_s:
            self._read_at = now
            self._families = [self._family(*row) for row in READINGS]
        yield from self._families

    def _family(self, name: str, text: str, kind: str, reading: Reading) -> Family:
        family = Family(name, text, kind)
        for gpu in self._devices:
            value = _read(reading, gpu)
            if value is not None:
                start = self._joules[gpu.uuid] if name == ENERGY else 0.0
                family.add({"gpu_uuid": gpu.uuid}, value - start if start else value)
        return family


def _devices(uuids: Sequence[str]) -> list[Device]:
    try:
        nvml = Nvml()  # for as long as this process lives
    except NvmlFailed as error:
        logger.debug("no GPU metrics: %s", error)
        return []
    found = []
    for uuid in uuids:
        try:
            found.append(nvml.device(uuid))
        except NvmlFailed as error:
            logger.warning("no metrics of a GPU: %s", error)
        else:
            logger.info("Collecting metrics for GPU %s", found[-1].uuid)
    return found


def _read(reading: Reading, gpu: Device) -> float | None:
    try:
        return reading(gpu)
    except NvmlFailed as error:
        logger.debug("%s: %s", gpu.uuid, error)
        return None
