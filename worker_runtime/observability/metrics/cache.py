"""The response cache as a whole."""

from collections.abc import Iterator
from typing import Protocol

from worker_runtime.observability.metrics.text import Family

_US = 1000


class CacheSource(Protocol):
    """What is read of the cache; durations in nanoseconds."""

    byte_size: int
    used_bytes: int
    evictions: int
    hits: int
    misses: int
    lookup_ns: int
    insertion_ns: int

    def __len__(self) -> int: ...


class CacheFamilies:
    def __init__(self, cache: CacheSource) -> None:
        self._cache = cache

    def collect(self) -> Iterator[Family]:
        cache = self._cache
        for name, text, value in (
            ("util", "Cache utilization [0.0 - 1.0]", cache.used_bytes / max(1, cache.byte_size)),
            ("num_entries", "Number of responses stored in response cache", len(cache)),
            ("num_hits", "Number of cache hits in response cache", cache.hits),
            ("num_misses", "Number of cache misses in response cache", cache.misses),
            (
                "num_lookups",
                "Number of cache lookups in response cache",
                cache.hits + cache.misses,
            ),
            ("num_evictions", "Number of cache evictions in response cache", cache.evictions),
            (
                "lookup_duration",
                "Total cache lookup duration (hit and miss), in microseconds",
                cache.lookup_ns // _US,
            ),
            (
                "insertion_duration",
                "Total cache insertion duration, in microseconds",
                cache.insertion_ns // _US,
            ),
        ):
            family = Family(f"nv_cache_{name}", text, "gauge")
            family.add({}, value)
            yield family
