"""What this machine is and has, for the node's reports."""

import importlib.util
import logging
import shutil
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import psutil

from node_agent.cache import RESERVE_BYTES
from node_agent.gpus import VISIBLE, gpus
from node_agent.process import boot_id
from node_agent.recheck import Record
from wire.messages import CachedBlob, GpuInfo, NodeInfo
from worker_runtime.types.backends import SERVED, third_party

logger = logging.getLogger(__name__)

GPU_INTERVAL_S = 4.0  # GPUs are looked at no more often: opening NVML takes a while
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
    """Reads the system; `describe` blocks for milliseconds."""

    def __init__(
        self,
        *,
        name: str,
        address: str,
        folder: Path,
        cache_quota_bytes: int,
        folder_id: str = "",
        download_rate: int = 0,
        sandbox: Mapping[str, bool] | None = None,
        labels: Mapping[str, str] | None = None,
        inherited: Mapping[str, str] | None = None,
    ) -> None:
        """``inherited``: what replicas see of the environment."""
        self._name = name
        self._address = address
        self._folder = folder
        self._boot_id = boot_id()
        self._version, self._cpu_count = version("shoal"), psutil.cpu_count() or 0
        self._backends = backends()
        self._cache_quota_bytes = cache_quota_bytes
        self.folder_id = folder_id
        self._download_rate = download_rate
        self._sandbox = dict(sandbox or {})
        self._labels = dict(labels or {})
        self._checked_at, self._spoiled = 0.0, 0
        self._visible_gpus = (inherited or {}).get(VISIBLE)
        self._gpus_at = float("-inf")
        self._gpus: tuple[GpuInfo, ...] = ()
        self._cache: tuple[CachedBlob, ...] = ()
        psutil.cpu_percent()  # the first call only sets the mark for the next

    def cached(self, blobs: tuple[CachedBlob, ...]) -> None:
        """What lies in the cache now."""
        self._cache = blobs

    def checked(self, last: Record) -> None:
        """What came of hashing the cache again."""
        self._checked_at, self._spoiled = last.finished_at, last.spoiled

    def describe(self) -> NodeInfo:
        if time.monotonic() - self._gpus_at > GPU_INTERVAL_S:
            self._gpus_at = time.monotonic()
            self._gpus = gpus(self._visible_gpus)
        memory = psutil.virtual_memory()
        disk = shutil.disk_usage(self._folder)
        return NodeInfo(
            name=self._name,
            agent_version=self._version,
            boot_id=self._boot_id,
            folder_id=self.folder_id,
            address=self._address,
            cpu_count=self._cpu_count,
            cpu_utilization=psutil.cpu_percent() / 100,
            memory_total_bytes=memory.total,
            memory_used_bytes=memory.total - memory.available,
            disk_total_bytes=disk.total,
            disk_free_bytes=disk.free,
            disk_pressure=disk.free < RESERVE_BYTES,
            shm_total_bytes=shm_bytes(),
            cache_bytes=sum(blob.size for blob in self._cache),
            cache_idle_bytes=sum(blob.size for blob in self._cache if not blob.in_use),
            cache_quota_bytes=self._cache_quota_bytes,
            cache_checked_at=self._checked_at,
            cache_spoiled=self._spoiled,
            download_limit_bytes_per_s=self._download_rate,
            backends=self._backends,
            gpus=self._gpus,
            sandbox=self._sandbox,
            labels=self._labels,
        )


def shm_bytes(folder: Path = Path("/dev/shm")) -> int | None:  # noqa: S108 - only its size is read
    """How much clients and models of this machine can share; None where there is no such thing."""
    return shutil.disk_usage(folder).total if folder.is_dir() else None


def backends() -> tuple[str, ...]:
    """Those that can be used here, ours and others', for the control plane's choice of nodes."""
    ours = (
        name
        for name in SERVED
        if name not in LIBRARIES or importlib.util.find_spec(LIBRARIES[name])
    )
    return tuple(dict.fromkeys((*ours, *third_party())))
