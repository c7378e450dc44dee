"""What a scrape of the metrics tells: all the families of one server."""

from collections.abc import Callable, Iterable

from worker_runtime.config.settings import Settings
from worker_runtime.core.model import ModelVersion
from worker_runtime.core.response_cache import ResponseCache
from worker_runtime.machine import cuda_uuids, pinned_bytes
from worker_runtime.observability.metrics.cache import CacheFamilies
from worker_runtime.observability.metrics.gpu import GpuFamilies
from worker_runtime.observability.metrics.host import HostFamilies
from worker_runtime.observability.metrics.models import ModelFamilies
from worker_runtime.observability.metrics.text import Exposition, Source


def exposition(
    settings: Settings,
    versions: Callable[[], list[ModelVersion]],
    clients: Iterable[Source],
    cache: ResponseCache | None,
    own: Source,
) -> Exposition:
    """``versions`` are those that are READY; ``clients`` tell of connections and of the loop, and
    ``own`` of what models count themselves."""
    interval_s = settings.metrics_interval_ms / 1000
    sources: list[Source] = [
        ModelFamilies(versions, settings.metrics_config),
        *clients,
        HostFamilies(
            interval_s,
            cpu=settings.cpu_metrics,
            pinned=lambda: (settings.pinned_pool_bytes, pinned_bytes()),
        ),
    ]
    if settings.gpu_metrics and (uuids := cuda_uuids()):
        sources.append(GpuFamilies(interval_s, uuids))
    if cache is not None:
        sources.append(CacheFamilies(cache))
    return Exposition([*sources, own])
