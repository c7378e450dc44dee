"""What processes take: of whole families, from one look."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil

from node_agent.usage import Usage, usages, with_memory
from wire.messages import ObservedReplica


def stat(proc: Path, pid: int, parent: int, *, ticks: int, pages: int, name: str = "x") -> None:
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", *["0"] * 8, str(pages), "0"]
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")


def test_a_family_adds_up_whatever_its_processes_are_called(tmp_path: Path) -> None:
    stat(tmp_path, 10, 1, ticks=100, pages=1, name="a) S 1 (b")
    stat(tmp_path, 11, 10, ticks=200, pages=2)
    stat(tmp_path, 12, 11, ticks=300, pages=4)
    stat(tmp_path, 20, 1, ticks=400, pages=8)
    (tmp_path / "30").mkdir()  # it has just ended
    (tmp_path / "self").mkdir()
    second, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    assert usages({10, 20, 30}, tmp_path) == {
        10: Usage(7 * page, 600 / second, (10, 11, 12)),
        20: Usage(8 * page, 400 / second, (20,)),
        30: Usage(),
    }
    assert usages(set(), tmp_path) == {}


def test_memory_on_gpus_is_that_of_a_replica_and_its_descendants(tmp_path: Path) -> None:
    stat(tmp_path, 10, 1, ticks=0, pages=1)
    stat(tmp_path, 11, 10, ticks=0, pages=2)
    stat(tmp_path, 20, 1, ticks=0, pages=4)
    seen = [
        ObservedReplica(name, generation=1, state="ready", pid=pid)
        for name, pid in (("a", 10), ("b", 20), ("c", 0))
    ]
    first, second, third = with_memory(seen, {10: 5, 11: 7, 99: 1000}, tmp_path)
    assert (first.gpu_memory_bytes, second.gpu_memory_bytes) == (12, 0)
    assert first.memory_bytes == 3 * os.sysconf("SC_PAGE_SIZE")
    assert third == seen[2]


def test_a_ring_of_parents_ends(tmp_path: Path) -> None:
    """Between two reads a number may have gone to another process."""
    stat(tmp_path, 10, 11, ticks=0, pages=1)
    stat(tmp_path, 11, 10, ticks=0, pages=2)
    assert usages({10}, tmp_path)[10].memory_bytes == 3 * os.sysconf("SC_PAGE_SIZE")


def test_it_is_what_psutil_says() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'], check=False)"
    with subprocess.Popen([sys.executable, "-c", f"{code}"], stdin=subprocess.PIPE) as process:
        root = psutil.Process(process.pid)
        while not (children := root.children()) or root.status() != psutil.STATUS_SLEEPING:
            pass
        found = usages({process.pid})[process.pid]
        known = sum(each.memory_info().rss for each in (root, *children))
        process.communicate(b"\n")
    assert 0.5 < found.memory_bytes / known < 2.0


def test_what_was_seen_lately_does_if_all_are_in_it(tmp_path: Path) -> None:
    lately = {10: Usage(memory_bytes=7, processes=(10, 11))}
    seen = ObservedReplica("a", generation=1, state="ready", pid=10)
    (found,) = with_memory([seen], {11: 5}, tmp_path, known=lately)
    assert (found.memory_bytes, found.gpu_memory_bytes) == (7, 5)
    (found,) = with_memory([replace(seen, pid=12)], {}, tmp_path, known=lately)
    assert found.memory_bytes == 0  # looked for, and there is no such process
