"""What every backend must stand: instances at the same time, and loading again and again."""

import gc
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil
import pytest

from worker_runtime.errors import Unavailable

_FIRST_CYCLES, _CYCLES = 10, 100


def check_concurrent(
    model: Any, inputs: Mapping[str, Any], output: str, expected: Any, *, repeats: int = 30
) -> None:
    """All instances answer ``expected`` while the others run; closed, they say that they are."""

    def repeat(instance: Any) -> bool:
        return all(
            np.allclose(instance.execute(dict(inputs), [output])[0], expected, rtol=1e-4)
            for _ in range(repeats)
        )

    instances = model.instances
    assert len(instances) > 1
    with ThreadPoolExecutor(len(instances)) as pool:
        assert all(pool.map(repeat, instances))
    model.close()
    with pytest.raises(Unavailable, match="unloaded"):
        instances[-1].execute(dict(inputs), [output])


def check_no_growth(
    load: Callable[[], Any], inputs: Mapping[str, Any], output: str, *, mib: int = 16
) -> None:
    """A hundred loads, executions and unloads leave less than ``mib`` MiB more in memory."""

    def cycle() -> None:
        model = load()
        model.instances[0].execute(dict(inputs), [output])
        model.close()

    gc.collect()
    gc.freeze()  # as the server does: what is there already is not looked at in each cycle
    try:
        for _ in range(_FIRST_CYCLES):
            cycle()
        gc.collect()
        before = psutil.Process().memory_info().rss
        for _ in range(_CYCLES):
            cycle()
        gc.collect()
        assert psutil.Process().memory_info().rss - before < mib << 20
    finally:
        gc.unfreeze()
