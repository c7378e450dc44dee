"""GPU families over a management library of our own making: what a driver answers, and when not."""

import pytest

from tests.support.nvml import FakeGpu, put
from worker_runtime.observability.metrics.gpu import GpuFamilies
from worker_runtime.observability.metrics.text import render
from worker_runtime.protocols.slices import at_once


def told(families: GpuFamilies) -> list[str]:
    text = at_once(render(families.collect())).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_what_gpus_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    metered = FakeGpu(b"GPU-a", total=100, used=7, busy_percent=50, milliwatts=70_500)
    plain = FakeGpu("GPU-b", total=101, used=7, busy_percent=0, milliwatts=None, millijoules=None)
    put(monkeypatch, metered, plain)
    found = GpuFamilies(2.0, ("a", "b"))
    metered.millijoules = 5_012_500
    assert told(found) == [
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


def test_only_the_devices_that_cuda_has_are_told_of_and_of_a_mig_device_its_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slices = [FakeGpu("MIG-b", total=10, used=1), FakeGpu("MIG-c", total=10, used=2)]
    put(monkeypatch, FakeGpu("GPU-a"), FakeGpu("GPU-b", migs=[*slices]))
    assert told(GpuFamilies(2.0, ("c", "d"))) == [
        'nv_gpu_memory_total_bytes{gpu_uuid="MIG-c"} 10',
        'nv_gpu_memory_used_bytes{gpu_uuid="MIG-c"} 2',
    ]
    assert "no metrics of a GPU: GPU-d" in caplog.text


def test_the_driver_is_asked_once_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml, now = put(monkeypatch, FakeGpu("GPU-a"), FakeGpu("GPU-b")), [10.0]
    found = GpuFamilies(2.0, ("a", "b"), lambda: now[0])
    for moment, reads in ((10.0, 2), (11.9, 2), (12.0, 4)):
        now[0] = moment
        list(found.collect())
        assert nvml.asked["utilization"] == reads


def test_without_a_driver_there_is_nothing_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, driver=False)
    assert list(GpuFamilies(2.0, ("a",)).collect()) == []
