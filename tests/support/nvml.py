"""NVML without a card: stands where ``pynvml`` does, with the cards that a test says."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

MIB = 2**20
GIB = 2**30


class NVMLError(Exception):
    pass


@dataclass
class FakeGpu:
    """A card, or a MIG device. None of a reading: it is not supported; ``migs``: MIG mode is on.

    A MIG device answers with its card's readings, as a careless driver would.
    """

    uuid: str | bytes
    name: str = "NVIDIA H100 80GB HBM3"
    total: int = 80 * GIB
    used: int = 1 * GIB
    busy_percent: int | None = 37
    celsius: int | None = 61
    milliwatts: int | None = 251_300
    limit_milliwatts: int | None = 700_000
    millijoules: int | None = 5_000_000
    lost: bool = False
    processes: dict[int, int | None] = field(default_factory=dict)  # None: it is not told
    migs: list["FakeGpu | None"] | None = None  # None: a number that has no device
    slices: tuple[int, int, int] = (1, 1, 9856)  # of the GPU and the compute instance, MiB


@dataclass
class FakeNvml:
    """Counts how often it is ``open`` and how many questions it was asked by function."""

    cards: Sequence[FakeGpu] = ()
    driver: bool = True
    open: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    NVMLError: type[NVMLError] = NVMLError

    def nvmlInit(self) -> None:
        if not self.driver:
            raise NVMLError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> Any:
        return b"580.82.07"

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        if self.cards[index].lost:
            raise NVMLError("GPU is lost")
        return self.cards[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> FakeGpu:
        for gpu in self._all():
            if _text(gpu.uuid) == uuid:
                return gpu
        raise NVMLError("Not Found")

    def nvmlDeviceGetUUID(self, handle: FakeGpu) -> Any:
        return handle.uuid

    def nvmlDeviceGetName(self, handle: FakeGpu) -> Any:
        return handle.name

    def nvmlDeviceGetMemoryInfo(self, handle: FakeGpu) -> Any:
        return SimpleNamespace(total=handle.total, used=handle.used)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: FakeGpu) -> list[Any]:
        if handle.name.startswith("Tesla"):
            raise NVMLError("Not Supported")
        return [
            SimpleNamespace(pid=pid, usedGpuMemory=taken) for pid, taken in handle.processes.items()
        ]

    def nvmlDeviceGetMigMode(self, device: FakeGpu) -> list[int]:
        if device.name.startswith("Tesla"):
            raise NVMLError("Not Supported")
        return [int(device.migs is not None), 0]

    def nvmlDeviceGetMaxMigDeviceCount(self, device: FakeGpu) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, device: FakeGpu, index: int) -> FakeGpu:
        found = device.migs[index] if device.migs and index < len(device.migs) else None
        if found is None:
            raise NVMLError("Not Found")
        return found

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, migDevice: FakeGpu) -> FakeGpu:
        return next(card for card in self.cards if migDevice in (card.migs or ()))

    def nvmlDeviceGetAttributes(self, device: FakeGpu) -> Any:
        gpu, compute, mib = device.slices
        return SimpleNamespace(
            gpuInstanceSliceCount=gpu, computeInstanceSliceCount=compute, memorySizeMB=mib
        )

    def nvmlDeviceGetUtilizationRates(self, handle: FakeGpu) -> Any:
        return SimpleNamespace(gpu=self._reading("utilization", handle.busy_percent))

    def nvmlDeviceGetTemperature(self, handle: FakeGpu, sensor: int) -> int:
        assert sensor == 0, "the sensor of the GPU"
        return self._reading("temperature", handle.celsius)

    def nvmlDeviceGetPowerUsage(self, handle: FakeGpu) -> int:
        return self._reading("power", handle.milliwatts)

    def nvmlDeviceGetPowerManagementLimit(self, handle: FakeGpu) -> int:
        return self._reading("limit", handle.limit_milliwatts)

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: FakeGpu) -> int:
        return self._reading("energy", handle.millijoules)

    def _reading(self, name: str, value: int | None) -> int:
        self.asked[name] = self.asked.get(name, 0) + 1
        if value is None:
            raise NVMLError("Not Supported")
        return value

    def _all(self) -> list[FakeGpu]:
        migs = [mig for card in self.cards for mig in card.migs or () if mig is not None]
        return [*self.cards, *migs]


def put(monkeypatch: pytest.MonkeyPatch, *cards: FakeGpu, driver: bool = True) -> FakeNvml:
    """From now on whoever imports ``pynvml`` finds these cards."""
    nvml = FakeNvml(cards, driver)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)  # type: ignore[arg-type]
    return nvml


def _text(uuid: str | bytes) -> str:
    return uuid.decode() if isinstance(uuid, bytes) else uuid
