"""What CUDA_VISIBLE_DEVICES leaves, what a device is called, how CUDA's leads to NVML's."""

import inspect
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pynvml
import pytest

from tests.support.cuda_driver import cuda_driver, needs_compiler
from tests.support.nvml import GIB, FakeGpu, FakeNvml, put
from worker_runtime import machine
from worker_runtime.errors import Internal
from worker_runtime.gpus import Card, Nvml, NvmlFailed, visible

A, B, C = "GPU-8932f937", "GPU-8932aaaa", "GPU-0d0d0d0d"
WHOLE = [Card(A, (A,)), Card(B, (B,)), Card(C, (C,))]
SLICED = [Card(A, (A,)), Card(B, ("MIG-b1", "MIG-b2")), Card(C, ())]
FELL_OFF = [Card("", ()), Card(B, (B,))]


@pytest.mark.parametrize(
    ("cards", "text", "left"),
    [
        (WHOLE, None, [A, B, C]),
        (WHOLE, "0", [A]),
        (WHOLE, "2,1", [C, B]),
        (WHOLE, " 2 , 1 ", [C, B]),
        (WHOLE, "0,2,-1,1", [A, C]),
        (WHOLE, "0,3,1", [A]),
        (WHOLE, "1gpu2,+2", [B, C]),
        (WHOLE, "", []),
        (WHOLE, "-1", []),
        (WHOLE, "none", []),
        (WHOLE, "NoDevFiles", []),
        (WHOLE, "0,,1", [A]),
        (WHOLE, "1,1", []),
        (WHOLE, f"{C},{A}", [C, A]),
        (WHOLE, "GPU-0,GPU-8932f", [C, A]),
        (WHOLE, "GPU-0,GPU-8932", [C]),
        (WHOLE, "GPU-0,GPU-ffff,GPU-8932f", [C]),
        (WHOLE, "GPU-0,1", [C]),
        (WHOLE, "1,GPU-0", [B]),
        (WHOLE, "GPU-0,GPU-0d", []),
        (WHOLE, f"{C}, {A}", [C]),  # seen on an H200
        (WHOLE, f" {C}", []),
        (WHOLE, "gpu-0", []),
        (WHOLE, "MIG-b1", []),
        (SLICED, None, [A, "MIG-b1", "MIG-b2"]),
        (SLICED, "1", ["MIG-b1", "MIG-b2"]),
        (SLICED, "2", []),
        (SLICED, "GPU-8932a", ["MIG-b1", "MIG-b2"]),
        (SLICED, "MIG-b2,MIG-b1", ["MIG-b2", "MIG-b1"]),
        (SLICED, "MIG-b2,MIG-b", ["MIG-b2"]),
        (SLICED, f"MIG-b2,{A}", ["MIG-b2"]),
        (SLICED, "MIG-b2,MIG-b2", []),
        (FELL_OFF, "0,1", [B]),
        (FELL_OFF, "GPU-", [B]),
        ([], "0", []),
        ([], None, []),
    ],
)
def test_what_cuda_visible_devices_leaves(
    cards: list[Card], text: str | None, left: list[str]
) -> None:
    assert visible(cards, text) == left


@pytest.mark.parametrize(
    ("total_mib", "slices", "told", "name"),
    [
        (81559, (1, 1, 9856), "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "MIG 1g.10gb"),
        (81559, (1, 1, 9856), "MIG 1g.10gb", "MIG 1g.10gb"),
        (81559, (1, 1, 9856), "NVIDIA H100 80GB HBM3", "MIG 1g.10gb"),
        (81559, (3, 1, 40448), "NVIDIA H100 80GB HBM3", "MIG 1c.3g.40gb"),
        (143771, (1, 1, 16384), "", "MIG 1g.18gb"),
        (143771, (3, 3, 71424), "", "MIG 3g.71gb"),
        (40536, (2, 2, 9856), "", "MIG 2g.10gb"),
    ],
)
def test_a_mig_device_is_called_by_its_card_and_profile(
    monkeypatch: pytest.MonkeyPatch,
    total_mib: int,
    slices: tuple[int, int, int],
    told: str,
    name: str,
) -> None:
    mig = FakeGpu("MIG-a", told, slices=slices)
    put(monkeypatch, FakeGpu("GPU-0", total=total_mib * 2**20, migs=[mig]))
    with Nvml() as nvml:
        assert nvml.device("a").name() == f"NVIDIA H100 80GB HBM3 {name}"


def test_cudas_uuids_lead_to_cards_and_mig_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, FakeGpu("GPU-0"), FakeGpu("GPU-1", migs=[FakeGpu("MIG-2", used=7)]))
    with Nvml() as nvml:
        assert [nvml.device(uuid).uuid for uuid in ("0", "2")] == ["GPU-0", "MIG-2"]
        with pytest.raises(NvmlFailed, match=r"GPU-3: .*Not Found; MIG-3: .*Not Found"):
            nvml.device("3")


def test_the_memory_is_that_of_the_device_that_cuda_means(monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, FakeGpu("GPU-a", used=1, total=GIB), FakeGpu("GPU-b", used=2, total=GIB))
    monkeypatch.setattr(machine, "cuda_uuids", lambda: ("b", "a", "c"))
    assert [machine.gpu_memory(number) for number in (0, 1)] == [(2, GIB), (1, GIB)]
    with pytest.raises(Internal, match=r"of GPU 2: GPU-c: .*Not Found"):
        machine.gpu_memory(2)
    with pytest.raises(Internal, match="of GPU 3: CUDA has 3 devices"):
        machine.gpu_memory(3)
    put(monkeypatch, driver=False)
    with pytest.raises(Internal, match="Driver Not Loaded"):
        machine.gpu_memory(0)


@pytest.mark.parametrize(
    ("module", "pinned"),
    [
        (None, 0),
        (SimpleNamespace(), 0),  # another thread is importing it
        (SimpleNamespace(host_memory_stats=dict), 0),  # CUDA is not initialised
        (SimpleNamespace(host_memory_stats=lambda: {"allocated_bytes.current": 7}), 7),
    ],
)
def test_pinned_memory_is_what_pytorch_says(
    monkeypatch: pytest.MonkeyPatch, module: object, pinned: int
) -> None:
    monkeypatch.setitem(sys.modules, "torch.cuda.memory", module)  # type: ignore[arg-type]
    assert machine.pinned_bytes() == pinned


@needs_compiler
def test_cuda_tells_its_devices_uuids_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    ask = "from worker_runtime.machine import *; print(cuda_devices(), *cuda_uuids())"
    with cuda_driver(tmp_path, devices=2):
        done = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True)
    first = "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae"
    assert done.stdout.decode().split() == ["2", f"{first}01", f"{first}00"]


def test_the_stand_in_has_the_calls_of_the_real_bindings() -> None:
    calls = [name for name in dir(FakeNvml) if name.startswith("nvml")]
    assert len(calls) > 15
    for name in calls:
        real, ours = (inspect.signature(getattr(owner, name)) for owner in (pynvml, FakeNvml))
        needed = [each.name for each in real.parameters.values() if each.default is each.empty]
        assert list(ours.parameters)[1:] == needed, name
