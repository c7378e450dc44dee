"""GPUs as the driver's management library sees them; without a driver there are no families."""

import logging
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from worker_runtime.observability.metrics.text import Family

logger = logging.getLogger(__name__)
_MILLI = 1000


def _utilization(nvml: Any, device: Any) -> float:
    return float(nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100)


def _memory_total(nvml: Any, device: Any) -> float:
    return int(nvml.nvmlDeviceGetMemoryInfo(device).total)


def _memory_used(nvml: Any, device: Any) -> float:
    return int(nvml.nvmlDeviceGetMemoryInfo(device).used)


def _power(nvml: Any, device: Any) -> float:
    return float(nvml.nvmlDeviceGetPowerUsage(device) / _MILLI)


def _power_limit(nvml: Any, device: Any) -> float:
    return float(nvml.nvmlDeviceGetPowerManagementLimit(device) / _MILLI)


def _energy(nvml: Any, device: Any) -> float:
    return float(nvml.nvmlDeviceGetTotalEnergyConsumption(device) / _MILLI)


# name, help, kind, how it is read
READINGS: tuple[tuple[str, str, str, Callable[[Any, Any], float]], ...] = (
    ("nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", "gauge", _utilization),
    ("nv_gpu_memory_total_bytes", "GPU total memory, in bytes", "gauge", _memory_total),
    ("nv_gpu_memory_used_bytes", "GPU used memory, in bytes", "gauge", _memory_used),
    ("nv_gpu_power_usage", "GPU power usage in watts", "gauge", _power),
    ("nv_gpu_power_limit", "GPU power management limit in watts", "gauge", _power_limit),
    (
        "nv_energy_consumption",
        "GPU energy consumption in joules since the Triton Server started",
        "counter",
        _energy,
    ),
)
ENERGY = "nv_energy_consumption"


class GpuFamilies:
    """Values are at most ``interval_s`` old. What a GPU cannot tell is left out for it."""

    def __init__(self, interval_s: float, clock: Callable[[], float] = monotonic) -> None:
        self._interval_s = interval_s
        self._clock = clock
        self._read_at = -interval_s
        self._families: list[Family] = []
        self._nvml: Any = None
        self._devices: list[tuple[str, Any]] = []
        self._joules: dict[str, float] = {}
        self._open()

    def _open(self) -> None:
        import pynvml  # noqa: PLC0415 # only where GPU metrics are wanted

        try:
            pynvml.nvmlInit()
            handles = [
                pynvml.nvmlDeviceGetHandleByIndex(index)
                for index in range(pynvml.nvmlDeviceGetCount())
            ]
            self._devices = [(_text(pynvml.nvmlDeviceGetUUID(item)), item) for item in handles]
        except pynvml.NVMLError as error:
            logger.debug("no GPU metrics: %s", error)
            return
        self._nvml = pynvml
        for uuid, device in self._devices:
            logger.info("Collecting metrics for GPU %s", uuid)
            start = self._read(_energy, device)
            if start is not None:
                self._joules[uuid] = start

    def _read(self, reading: Callable[[Any, Any], float], device: Any) -> float | None:
        try:
            return reading(self._nvml, device)
        except self._nvml.NVMLError:  # why silent: many GPUs have no power or energy counters
            return None

    def collect(self) -> Iterator[Family]:
        now = self._clock()
        if self._devices and now - self._read_at >= self._interval_s:
            self._read_at = now
            self._families = [self._family(*row) for row in READINGS]
        yield from self._families

    def _family(
        self, name: str, text: str, kind: str, reading: Callable[[Any, Any], float]
    ) -> Family:
        family = Family(name, text, kind)
        for uuid, device in self._devices:
            value = self._read(reading, device)
            if value is not None:
                start = self._joules.get(uuid, 0.0) if name == ENERGY else 0.0
                family.add({"gpu_uuid": uuid}, value - start if start else value)
        return family


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
