"""Where the cases of tests/gpu run: on the machine's GPU, or the same ones on the CPU."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynvml

from worker_runtime.machine import cuda_devices

CHOICE = "SHOAL_GPU_TESTS"
NO_GPU = (
    "the CUDA driver offers no device here (SHOAL_GPU_TESTS=cpu runs on the CPU what can run there)"
)


@dataclass(frozen=True)
class Device:
    """``name`` is PyTorch's: cuda or cpu. ``double``: the CPU stands for a GPU (gpu_double.py)."""

    name: str
    double: bool = False

    @property
    def is_gpu(self) -> bool:
        return self.name == "cuda"

    @property
    def kind(self) -> str:
        return "KIND_GPU" if self.is_gpu or self.double else "KIND_CPU"

    def pick(self, on_gpu: int, on_cpu: int) -> int:
        """How much of something: a case in earnest on a GPU, its few seconds on the CPU."""
        return on_gpu if self.is_gpu else on_cpu


def chosen() -> Device | None:
    """By SHOAL_GPU_TESTS (cuda or cpu), else the GPU, else None. Raises ValueError."""
    wanted = os.environ.get(CHOICE, "")
    if wanted not in {"", "cuda", "cpu"}:
        raise ValueError(f"{CHOICE} is '{wanted}', expected cuda, cpu or nothing")
    if wanted:
        return Device(wanted, double=wanted == "cpu")
    return Device("cuda") if cuda_devices() else None


def uuids() -> list[str]:
    """The UUIDs of this machine's cards as nvidia-smi shows them, NVML's where it is not there."""
    command = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.CalledProcessError):  # there is none, or it tells nothing
        nvml = _nvml()
        return [
            str(nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(index)))
            for index in range(nvml.nvmlDeviceGetCount())
        ]
    return shown.stdout.split()


def used_bytes(uuid: str) -> int:
    """What all processes together hold of a card's memory."""
    nvml = _nvml()
    return int(nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByUUID(uuid)).used)


def total_bytes(uuid: str) -> int:
    nvml = _nvml()
    return int(nvml.nvmlDeviceGetMemoryInfo(nvml.nvmlDeviceGetHandleByUUID(uuid)).total)


def has_mig(uuid: str) -> bool:
    nvml = _nvml()
    try:
        now, _ = nvml.nvmlDeviceGetMigMode(nvml.nvmlDeviceGetHandleByUUID(uuid))
    except nvml.NVMLError:  # cards that know no MIG
        return False
    return bool(now)


def about_card() -> dict[str, str]:
    """The first card's name and the driver's version, as far as NVML tells them."""
    try:
        nvml = _nvml()
        handle = nvml.nvmlDeviceGetHandleByIndex(0)
    except pynvml.NVMLError as error:
        return {"card": f"unknown: {error}"}
    return {"card": nvml.nvmlDeviceGetName(handle), "driver": nvml.nvmlSystemGetDriverVersion()}


def _nvml() -> Any:
    pynvml.nvmlInit()
    return pynvml


def bare_library_path() -> str:
    """LD_LIBRARY_PATH with nothing but the driver's folders: CUDA's libraries come by pip alone."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    driver = ("libcuda.so.1", "libnvidia-ml.so.1")
    kept = [item for item in folders if item and any((Path(item) / so).exists() for so in driver)]
    return os.pathsep.join(kept)


@contextmanager
def filled(leave: int) -> Iterator[None]:
    """Meanwhile this process holds all memory of the first card but ``leave`` bytes."""
    import torch

    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    held = torch.empty(max(0, free - leave), dtype=torch.uint8, device="cuda")
    try:
        yield
    finally:
        del held
        torch.cuda.empty_cache()
