"""What this machine is and has, for the node's reports."""

import importlib.util
import logging
import shutil
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import psutil

from wire.messages import GpuInfo, NodeInfo
from worker_runtime.agent.process import boot_id
from worker_runtime.types.formats import SERVED

logger = logging.getLogger(__name__)

SLOW_INTERVAL_S = 10.0  # GPUs and the cache's size are looked at no more often
GPU_QUERY = (
    "--query-gpu=index,uuid,name,memory.total,memory.used,utilization.gpu",
    "--format=csv,noheader,nounits",
)
# The library that a backend needs; those that are not named need none but the runtime itself.
LIBRARIES = {
    "onnxruntime": "onnxruntime",
    "pytorch": "torch",
    "openvino": "openvino",
    "tensorflow": "tensorflow",
    "tensorrt": "tensorrt",
    "fil": "treelite",
}


class Machine:
    """Reads the system; `describe` blocks for milliseconds, for seconds when a GPU hangs."""

    def __init__(self, *, name: str, address: str, folder: Path) -> None:
        self._name = name
        self._address = address
        self._folder = folder
        self._boot_id = boot_id()
        self._backends = backends()
        self._slow_at = float("-inf")
        self._gpus: tuple[GpuInfo, ...] = ()
        self._cache_bytes = 0
        psutil.cpu_percent()  # the first call only sets the mark for the next

    def describe(self) -> NodeInfo:
        if time.monotonic() - self._slow_at > SLOW_INTERVAL_S:
            self._slow_at = time.monotonic()
            self._gpus = _gpus()
            cache = self._folder / "cache"
            self._cache_bytes = sum(f.stat().st_size for f in cache.glob("??/*") if f.is_file())
        memory = psutil.virtual_memory()
        disk = shutil.disk_usage(self._folder)
        return NodeInfo(
            name=self._name,
            agent_version=version("shoal"),
            boot_id=self._boot_id,
            address=self._address,
            cpu_count=psutil.cpu_count() or 0,
            cpu_utilization=psutil.cpu_percent() / 100,
            memory_total_bytes=memory.total,
            memory_used_bytes=memory.total - memory.available,
            disk_total_bytes=disk.total,
            disk_free_bytes=disk.free,
            cache_bytes=self._cache_bytes,
            backends=self._backends,
            gpus=self._gpus,
        )


def backends() -> tuple[str, ...]:
    """Those of this runtime that can be used here, for the control plane's choice of nodes."""
    return tuple(
        name
        for name in dict.fromkeys(SERVED)
        if name not in LIBRARIES or importlib.util.find_spec(LIBRARIES[name])
    )


def usage(pid: int) -> tuple[int, float]:
    """Resident bytes and processor seconds of a process and its descendants; zeros when gone."""
    if not pid:
        return 0, 0.0
    resident, seconds = 0, 0.0
    try:
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            times = process.cpu_times()
            resident += process.memory_info().rss
            seconds += times.user + times.system
    except psutil.Error:  # ended while we looked: what was counted so far is as good as any
        return resident, seconds
    return resident, seconds


def _gpus() -> tuple[GpuInfo, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        answer = subprocess.run(
            [program, *GPU_QUERY], capture_output=True, text=True, timeout=5, check=True
        )
        return tuple(_gpu(line) for line in answer.stdout.splitlines() if line.strip())
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        logger.warning("GPUs cannot be read: %s", error)
        return ()


def _gpu(line: str) -> GpuInfo:
    """One line of `nvidia-smi`: megabytes and percent. Raises ValueError."""
    index, uuid, name, total, used, busy = (part.strip() for part in line.split(","))
    return GpuInfo(
        index=int(index),
        uuid=uuid,
        name=name,
        memory_total_bytes=int(total) * 2**20,
        memory_used_bytes=int(used) * 2**20,
        utilization=float(busy) / 100 if busy.replace(".", "").isdecimal() else 0.0,
    )
