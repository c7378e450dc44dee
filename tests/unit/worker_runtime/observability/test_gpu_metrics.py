"""GPU families over a management library of our own making: what a driver answers, and when not."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from worker_runtime.observability.metrics.gpu import GpuFamilies
from worker_runtime.observability.metrics.text import render


class FakeNvml(SimpleNamespace):
    """Two GPUs; the second one has no power meter."""

    class NVMLError(Exception):
        pass

    def __init__(self, *, driver: bool = True) -> None:
        super().__init__(joules=1000.0, driver=driver, reads=0)

    def nvmlInit(self) -> None:
        if not self.driver:
            raise self.NVMLError("Driver Not Loaded")

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, device: int) -> Any:
        return [b"GPU-a", "GPU-b"][device]

    def nvmlDeviceGetUtilizationRates(self, device: int) -> Any:
        self.reads += 1
        return SimpleNamespace(gpu=[50, 0][device])

    def nvmlDeviceGetMemoryInfo(self, device: int) -> Any:
        return SimpleNamespace(total=100 + device, used=7)

    def nvmlDeviceGetPowerUsage(self, device: int) -> int:
        if device:
            raise self.NVMLError("Not Supported")
        return 70_500

    def nvmlDeviceGetPowerManagementLimit(self, device: int) -> int:
        return 700_000

    def nvmlDeviceGetTotalEnergyConsumption(self, device: int) -> float:
        if device:
            raise self.NVMLError("Not Supported")
        return self.joules * 1000


def families(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, clock: Any) -> GpuFamilies:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return GpuFamilies(2.0, clock)


def test_what_gpus_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml, now = FakeNvml(), [10.0]
    found = families(nvml, monkeypatch, lambda: now[0])
    nvml.joules = 1012.5
    text = render(found.collect()).decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines == [
        'nv_gpu_utilization{gpu_uuid="GPU-a"} 0.5',
        'nv_gpu_utilization{gpu_uuid="GPU-b"} 0',
        'nv_gpu_memory_total_bytes{gpu_uuid="GPU-a"} 100',
        'nv_gpu_memory_total_bytes{gpu_uuid="GPU-b"} 101',
        'nv_gpu_memory_used_bytes{gpu_uuid="GPU-a"} 7',
        'nv_gpu_memory_used_bytes{gpu_uuid="GPU-b"} 7',
        'nv_gpu_power_usage{gpu_uuid="GPU-a"} 70.5',
        'nv_gpu_power_limit{gpu_uuid="GPU-a"} 700',
        'nv_gpu_power_limit{gpu_uuid="GPU-b"} 700',
        'nv_energy_consumption{gpu_uuid="GPU-a"} 12.5',
    ]


def test_the_driver_is_asked_once_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml, now = FakeNvml(), [10.0]
    found = families(nvml, monkeypatch, lambda: now[0])
    for moment, reads in ((10.0, 2), (11.9, 2), (12.0, 4)):
        now[0] = moment
        list(found.collect())
        assert nvml.reads == reads


def test_without_a_driver_there_is_nothing_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(families(FakeNvml(driver=False), monkeypatch, lambda: 0.0).collect()) == []
