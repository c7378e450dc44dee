"""What a node says of its GPUs, and which of them a replica sees, on a machine that has none."""

import pytest

from node_agent.gpus import free_bytes, gpus, memory_by_process
from node_agent.launch import environment
from tests.support.nvml import GIB, FakeGpu, put
from wire.messages import DesiredReplica, GpuInfo


def test_what_can_be_read_is_told_and_the_library_is_left_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quiet = FakeGpu(
        b"GPU-1", "Tesla T4", used=2 * GIB, busy_percent=None, milliwatts=None, celsius=62,
        limit_milliwatts=None, millijoules=None,
    )  # fmt: skip
    nvml = put(monkeypatch, FakeGpu("GPU-0"), quiet, FakeGpu("GPU-2", lost=True))
    first, second = gpus(None)
    assert (first.index, first.uuid, first.name) == (0, "GPU-0", "NVIDIA H100 80GB HBM3")
    assert (second.uuid, second.utilization, second.memory_used_bytes) == ("GPU-1", None, 2 * GIB)
    assert (first.utilization, first.memory_total_bytes) == (0.37, 80 * GIB)
    assert (first.temperature_c, first.power_w, first.power_limit_w) == (61.0, 251.3, 700.0)
    assert (second.temperature_c, second.power_w, second.power_limit_w) == (62.0, None, None)
    assert (first.energy_j, second.energy_j) == (5000.0, None)
    assert {first.driver_version, second.driver_version} == {"580.82.07"}
    assert nvml.open == 0


def test_the_devices_of_a_card_in_mig_mode_are_told_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slices = [
        FakeGpu("MIG-a", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", total=10 * GIB, used=GIB),
        None,
        FakeGpu("MIG-b", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", total=40 * GIB, used=2 * GIB),
    ]
    put(monkeypatch, FakeGpu("GPU-0", migs=slices), FakeGpu("GPU-1"), FakeGpu("GPU-2", migs=[]))
    one, two, whole = gpus(None)
    assert [gpu.uuid for gpu in (one, two, whole)] == ["MIG-a", "MIG-b", "GPU-1"]
    assert [gpu.index for gpu in (one, two, whole)] == [0, 1, 2]
    assert (two.name, two.memory_total_bytes) == ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", 40 * GIB)
    untold = (one.utilization, one.power_w, one.power_limit_w, one.temperature_c, one.energy_j)
    assert untold == (None,) * 5, "it is the card's"
    assert (one.driver_version, whole.power_w) == ("580.82.07", 251.3)


def test_memory_of_processes_is_that_of_all_devices_as_far_as_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sliced = FakeGpu("GPU-1", migs=[FakeGpu("MIG-a", processes={20: 3 * GIB, 40: None})])
    cards = (FakeGpu("GPU-0", processes={10: GIB, 20: GIB}), sliced, FakeGpu("GPU-2", "Tesla T4"))
    nvml = put(monkeypatch, *cards)
    assert memory_by_process() == {10: GIB, 20: 4 * GIB}
    assert nvml.open == 0
    nvml.driver = False
    assert memory_by_process() == {}


def test_only_what_the_agent_may_give_is_told_and_counted_as_its_replicas_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(monkeypatch, FakeGpu("GPU-a"), FakeGpu("GPU-b"), FakeGpu("GPU-c"))
    assert [(gpu.index, gpu.uuid) for gpu in gpus("2,GPU-a,0")] == [(0, "GPU-c")]
    assert [(gpu.index, gpu.uuid) for gpu in gpus("2,0")] == [(0, "GPU-c"), (1, "GPU-a")]
    assert gpus("") == ()


def test_a_machine_without_a_driver_has_none() -> None:
    assert gpus(None) == ()


def test_the_fullest_of_the_gpus_that_a_process_sees() -> None:
    cards = (GpuInfo(0, "GPU-a", "T4", 16, 1), GpuInfo(1, "GPU-b", "A100", 40, 36))
    assert (free_bytes(cards), free_bytes(cards[:1]), free_bytes(())) == (4, 15, 0)


def test_replicas_count_gpus_as_their_agent_does_unless_a_deployment_says_otherwise() -> None:
    own = {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    agents = {"CUDA_VISIBLE_DEVICES": "1", **own}
    found = environment(agents, DesiredReplica("r1", 1, "one", "blue", ()))
    assert (found["CUDA_DEVICE_ORDER"], found["CUDA_VISIBLE_DEVICES"]) == ("PCI_BUS_ID", "1")
    given = {"CUDA_VISIBLE_DEVICES": "MIG-b", **own}
    asked = environment(agents, DesiredReplica("r1", 1, "one", "blue", (), environment=given))
    assert asked.items() >= given.items()
