"""The GPUs of this machine through NVML, NVIDIA's own library; none where there is none."""

import logging
from collections.abc import Callable
from typing import Any

from wire.messages import GpuInfo

logger = logging.getLogger(__name__)


def gpus() -> tuple[GpuInfo, ...]:
    """In NVML's order. One that cannot be read is left out and logged, the others stay."""
    import pynvml  # noqa: PLC0415 # it looks for the driver's library

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        logger.debug("no GPUs: %s", error)
        return ()
    try:
        count = pynvml.nvmlDeviceGetCount()
        driver = _text(_query(pynvml, pynvml.nvmlSystemGetDriverVersion) or "")
        found = [_gpu(pynvml, index, driver) for index in range(count)]
    except pynvml.NVMLError as error:
        logger.warning("GPUs cannot be counted: %s", error)
        return ()
    finally:
        pynvml.nvmlShutdown()
    return tuple(gpu for gpu in found if gpu is not None)


def free_bytes(found: tuple[GpuInfo, ...], visible: str | None) -> int:
    """Of the fullest GPU that a process may use; 0 where there is none.

    ``visible`` is its CUDA_VISIBLE_DEVICES: UUIDs or numbers; None: it sees all.
    """
    wanted = None if visible is None else {name.strip() for name in visible.split(",")}
    free = [
        gpu.memory_total_bytes - gpu.memory_used_bytes
        for gpu in found
        if wanted is None or gpu.uuid in wanted or str(gpu.index) in wanted
    ]
    return min(free, default=0)


def _gpu(nvml: Any, index: int, driver: str) -> GpuInfo | None:
    try:
        device = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = nvml.nvmlDeviceGetMemoryInfo(device)
        uuid, name = nvml.nvmlDeviceGetUUID(device), nvml.nvmlDeviceGetName(device)
    except nvml.NVMLError as error:
        logger.warning("GPU %d cannot be read: %s", index, error)
        return None
    return GpuInfo(
        index=index,
        uuid=_text(uuid),
        name=_text(name),
        memory_total_bytes=int(memory.total),
        memory_used_bytes=int(memory.used),
        utilization=_busy(nvml, device),
        temperature_c=_number(
            _query(nvml, nvml.nvmlDeviceGetTemperature, device, nvml.NVML_TEMPERATURE_GPU)
        ),
        power_w=_watts(_query(nvml, nvml.nvmlDeviceGetPowerUsage, device)),
        power_limit_w=_watts(_query(nvml, nvml.nvmlDeviceGetPowerManagementLimit, device)),
        driver_version=driver,
    )


def _busy(nvml: Any, device: Any) -> float:
    """0..1; 0 where the device does not tell, as with slices of one."""
    rates = _query(nvml, nvml.nvmlDeviceGetUtilizationRates, device)
    return 0.0 if rates is None else float(rates.gpu) / 100


def _query(nvml: Any, function: Callable[..., Any], *about: Any) -> Any:
    """None where the device does not tell, as many of those without a fan or as slices of one."""
    try:
        return function(*about)
    except nvml.NVMLError as error:
        logger.debug("%s: %s", function.__name__, error)
        return None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _watts(milliwatts: Any) -> float | None:
    return None if milliwatts is None else float(milliwatts) / 1000


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
