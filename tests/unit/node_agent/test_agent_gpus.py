"""What NVML tells of GPUs, on a machine that has none."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from node_agent.gpus import free_bytes, gpus
from wire.messages import GpuInfo


class NVMLError(Exception):
    pass


class Nvml:
    """Two GPUs; the second is a slice that tells no utilization, a third falls off the bus."""

    NVMLError = NVMLError
    NVML_TEMPERATURE_GPU = 0

    def __init__(self) -> None:
        self.open = 0

    def nvmlInit(self) -> None:
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> Any:
        return b"550.54.15"

    def nvmlDeviceGetTemperature(self, device: int, sensor: int) -> int:
        assert sensor == self.NVML_TEMPERATURE_GPU
        return 61 + device

    def nvmlDeviceGetPowerUsage(self, device: int) -> int:
        if device == 1:
            raise NVMLError("Not Supported")
        return 251_300

    def nvmlDeviceGetPowerManagementLimit(self, device: int) -> int:
        if device == 1:
            raise NVMLError("Not Supported")
        return 700_000

    def nvmlDeviceGetCount(self) -> int:
        return 3

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index == 2:
            raise NVMLError("GPU is lost")
        return index

    def nvmlDeviceGetMemoryInfo(self, device: int) -> Any:
        return SimpleNamespace(total=80 * 2**30, used=(device + 1) * 2**30)

    def nvmlDeviceGetUUID(self, device: int) -> Any:
        return f"GPU-{device}".encode() if device else f"GPU-{device}"

    def nvmlDeviceGetName(self, device: int) -> str:
        return f"H100 {device}"

    def nvmlDeviceGetUtilizationRates(self, device: int) -> Any:
        if device == 1:
            raise NVMLError("Not Supported")
        return SimpleNamespace(gpu=37)


def test_what_can_be_read_is_told_and_the_library_is_left_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nvml = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)  # type: ignore[arg-type]
    first, second = gpus()
    assert (first.uuid, first.name, first.utilization) == ("GPU-0", "H100 0", 0.37)
    assert (second.uuid, second.utilization, second.memory_used_bytes) == ("GPU-1", 0.0, 2 * 2**30)
    assert (first.temperature_c, first.power_w, first.power_limit_w) == (61.0, 251.3, 700.0)
    assert (second.temperature_c, second.power_w, second.power_limit_w) == (62.0, None, None)
    assert {first.driver_version, second.driver_version} == {"550.54.15"}
    assert nvml.open == 0


def test_a_machine_without_a_driver_has_none() -> None:
    assert gpus() == ()


@pytest.mark.parametrize(
    ("visible", "free"),
    [(None, 4), ("", 0), ("GPU-a", 15), ("1", 4), ("GPU-a, GPU-b", 4), ("GPU-c", 0)],
)
def test_the_fullest_of_the_gpus_that_a_process_sees(visible: str | None, free: int) -> None:
    cards = (GpuInfo(0, "GPU-a", "T4", 16, 1), GpuInfo(1, "GPU-b", "A100", 40, 36))
    assert free_bytes(cards, visible) == free
    assert free_bytes((), visible) == 0
