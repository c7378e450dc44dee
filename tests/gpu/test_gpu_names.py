"""The node's agent, which asks NVML, and servers, which ask CUDA, mean the same devices."""

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from node_agent.gpus import gpus
from wire.messages import GpuInfo
from worker_runtime.gpus import MIG

ASK_CUDA = "from worker_runtime.machine import cuda_uuids; print(*cuda_uuids())"
ASK_BOTH = """
import torch
from worker_runtime.machine import cuda_uuids, gpu_memory
numbers = range(len(cuda_uuids()))
print([torch.cuda.mem_get_info(number)[1] - gpu_memory(number)[1] for number in numbers])
"""
LOOK_AND_LIST_FILES = """
import os
from node_agent.gpus import gpus
assert gpus(None)
files = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
held = [os.readlink(file) for file in files if os.path.lexists(file)]
print(*(path for path in held if path.startswith("/dev/nvidia")))
"""


@pytest.fixture(scope="module")
def told() -> tuple[GpuInfo, ...]:
    found = gpus(None)
    if not found:
        pytest.skip("needs a card: NVML tells of none")
    return found


def start(program: str, visible: str | None = None) -> subprocess.Popen[str]:
    variables = {**os.environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    variables.pop("CUDA_VISIBLE_DEVICES", None)
    if visible is not None:
        variables["CUDA_VISIBLE_DEVICES"] = visible
    return subprocess.Popen(
        [sys.executable, "-c", program], env=variables, stdout=subprocess.PIPE, text=True
    )


def ended(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return said.strip()


def bare(uuids: Sequence[str]) -> list[str]:
    return [uuid.partition("-")[2] for uuid in uuids]


def test_the_agent_reads_cuda_visible_devices_as_cuda_does(told: tuple[GpuInfo, ...]) -> None:
    if any(gpu.uuid.startswith(MIG) for gpu in told):
        pytest.skip("of MIG devices CUDA shows one, the agent all")
    first, last = told[0].uuid, told[-1].uuid
    texts = (
        *(None, "", "-1", "0", " 0", "0,", "0,-1", "0,99", "99,0", "0,0", "0gpu", "none", "1,0"),
        *(first, first[:12], last, f"{last},{first}", f"{first},0", f"0,{first}"),
        *(f"{first},{first}", f"{first}, {last}", "GPU-00000000", f"{first},GPU-00000000"),
    )
    asked = {text: start(ASK_CUDA, text) for text in texts}
    cuda = {text: ended(process).split() for text, process in asked.items()}
    assert {text: bare([gpu.uuid for gpu in gpus(text)]) for text in texts} == cuda


def test_a_device_s_memory_is_its_own(told: tuple[GpuInfo, ...]) -> None:
    """CUDA counts a little less than NVML: what the driver keeps for itself."""
    pytest.importorskip("torch")
    apart = ended(start(ASK_BOTH))
    assert all(-(2**31) < int(item) <= 0 for item in apart.strip("[]").split(",")), apart


def test_what_cards_tell_is_plausible(told: tuple[GpuInfo, ...]) -> None:
    for gpu in told:
        assert gpu.name
        assert gpu.driver_version.split(".")[0].isdigit()
        assert 0 < gpu.memory_used_bytes < gpu.memory_total_bytes
        if gpu.uuid.startswith(MIG):
            assert " MIG " in gpu.name
            assert (gpu.power_w, gpu.energy_j, gpu.utilization) == (None, None, None)
            continue
        assert gpu.utilization is None or 0 <= gpu.utilization <= 1
        assert gpu.temperature_c is None or 5 < gpu.temperature_c < 110
        assert gpu.power_w is None or 1 < gpu.power_w < 2000, "milliwatts, told as watts?"
        assert gpu.energy_j is None or gpu.energy_j > 0


def test_the_agent_holds_no_card_between_two_looks(told: tuple[GpuInfo, ...]) -> None:
    """Else nobody could switch MIG mode or reset a card while the agent lives."""
    assert ended(start(LOOK_AND_LIST_FILES)) == ""
