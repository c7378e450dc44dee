"""CPU and memory of the host, as Linux tells them."""

from pathlib import Path

import psutil
import pytest

from worker_runtime.observability.metrics.host import HostFamilies


def values(families: HostFamilies) -> dict[str, float]:
    return {family.name: family.samples[0][2] for family in families.collect()}


def told(proc: Path, ticks: str, available: int = 3) -> None:
    (proc / "stat").write_text(f"cpu  {ticks}\ncpu0 {ticks}\nintr 1\n")
    (proc / "meminfo").write_text(
        f"MemTotal: 8 kB\nMemFree: 1 kB\nMemAvailable: {available} kB\nHugePages_Total: 0\n"
    )


def test_utilization_is_that_since_the_last_look(tmp_path: Path) -> None:
    now = [0.0]
    # user nice system idle iowait irq softirq steal guest guest_nice: a guest's are the user's, too
    told(tmp_path, "100 0 0 100 0 0 0 0 50 0")
    host = HostFamilies(2.0, clock=lambda: now[0], proc=tmp_path)
    told(tmp_path, "110 5 5 160 10 4 3 3 55 0")
    assert values(host)["nv_cpu_utilization"] == pytest.approx(0.3)
    told(tmp_path, "210 5 5 160 10 4 3 3 55 0", available=1)
    now[0] = 1.9
    assert values(host)["nv_cpu_utilization"] == pytest.approx(0.3)
    now[0] = 2.0
    assert values(host) == {
        "nv_pinned_memory_pool_total_bytes": 0,
        "nv_pinned_memory_pool_used_bytes": 0,
        "nv_cpu_utilization": 1.0,
        "nv_cpu_memory_total_bytes": 8 << 10,
        "nv_cpu_memory_used_bytes": 7 << 10,
    }
    now[0] = 4.0
    assert values(host)["nv_cpu_utilization"] == 0.0  # no tick has passed


def test_this_machine_is_told_as_psutil_tells_it() -> None:
    found = values(HostFamilies(2.0))
    memory = psutil.virtual_memory()
    assert found["nv_cpu_memory_total_bytes"] == memory.total
    assert 0 < found["nv_cpu_memory_used_bytes"] < memory.total
    assert 0 <= found["nv_cpu_utilization"] <= 1


def test_nothing_is_read_where_it_is_not_wanted(tmp_path: Path) -> None:
    found = values(HostFamilies(2.0, cpu=False, proc=tmp_path))
    assert set(found) == {
        "nv_pinned_memory_pool_total_bytes",
        "nv_pinned_memory_pool_used_bytes",
    }
