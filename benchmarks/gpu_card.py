"""The GPU as NVML tells of it: what it is, and how busy it was meanwhile."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_EVERY_S = 0.1
_LAG_S = 0.3  # the driver's own figure is that of a while before


class NoCard(RuntimeError):
    """There is no NVIDIA driver here, or no GPU."""


@dataclass(slots=True)
class Seen:
    """Samples of one measurement: share of the time with a kernel running, watts, bytes in use."""

    busy: list[float] = field(default_factory=list)
    watts: list[float] = field(default_factory=list)
    used_bytes: int = 0

    @property
    def busy_share(self) -> float | None:
        return sum(self.busy) / len(self.busy) if self.busy else None

    @property
    def mean_watts(self) -> float | None:
        return sum(self.watts) / len(self.watts) if self.watts else None


class Card:
    """The first GPU that this process may use. Raises NoCard."""

    def __init__(self) -> None:
        import pynvml  # noqa: PLC0415  # why: a run without a GPU does without its library

        self._nvml: Any = pynvml
        try:
            pynvml.nvmlInit()
            self._handle = _handle(pynvml, os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0])
        except pynvml.NVMLError as error:
            raise NoCard(f"the NVIDIA driver tells of no GPU: {error}") from error

    def about(self) -> dict[str, Any]:
        nvml, handle = self._nvml, self._handle
        version = nvml.nvmlSystemGetCudaDriverVersion()
        return {
            "card": _text(nvml.nvmlDeviceGetName(handle)),
            "uuid": _text(nvml.nvmlDeviceGetUUID(handle)),
            "memory_bytes": int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
            "driver": _text(nvml.nvmlSystemGetDriverVersion()),
            "cuda": f"{version // 1000}.{version % 1000 // 10}",
        }

    @contextmanager
    def watched(self) -> Iterator[Seen]:
        """Sampled ten times a second, until the block ends."""
        seen, ended = Seen(), threading.Event()

        def sample() -> None:
            time.sleep(_LAG_S)
            while not ended.wait(_EVERY_S):
                try:
                    self._sample(seen)
                except self._nvml.NVMLError:
                    return  # the figures so far stand; a lost card shows in what the load says

        thread = threading.Thread(target=sample)
        thread.start()
        try:
            yield seen
        finally:
            ended.set()
            thread.join()

    def _sample(self, seen: Seen) -> None:
        nvml, handle = self._nvml, self._handle
        seen.busy.append(nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100)
        seen.used_bytes = max(seen.used_bytes, int(nvml.nvmlDeviceGetMemoryInfo(handle).used))
        seen.watts.append(nvml.nvmlDeviceGetPowerUsage(handle) / 1000)


@contextmanager
def watched(card: Card | None) -> Iterator[Seen]:
    """Nothing is seen where there is no card."""
    if card is None:
        yield Seen()
        return
    with card.watched() as seen:
        yield seen


def _handle(nvml: Any, visible: str) -> Any:
    """By UUID where CUDA_VISIBLE_DEVICES has them, else by number."""
    if visible.startswith(("GPU-", "MIG-")):
        return nvml.nvmlDeviceGetHandleByUUID(visible)
    return nvml.nvmlDeviceGetHandleByIndex(int(visible) if visible.isdigit() else 0)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
