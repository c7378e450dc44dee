"""How long replicas wait for a processor: sums that only rise, whatever threads come and go."""

from pathlib import Path

from node_agent.usage import Usage
from node_agent.waits import ProcessorWaits


def thread(proc: Path, pid: int, number: int, waited_ms: int) -> Path:
    folder = proc / str(pid) / "task" / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"500 {waited_ms * 1_000_000} 7\n")
    return folder


def gone(folder: Path) -> None:
    (folder / "schedstat").unlink()
    folder.rmdir()


def test_a_family_of_threads_adds_up_and_never_falls(tmp_path: Path) -> None:
    waits = ProcessorWaits(tmp_path)
    family = {10: Usage(processes=(10, 11))}
    thread(tmp_path, 10, 10, 100)
    first = thread(tmp_path, 10, 12, 50)
    thread(tmp_path, 11, 11, 1000)
    assert waits.add(family) == {10: 1.15}
    gone(first)
    thread(tmp_path, 10, 10, 300)
    thread(tmp_path, 10, 13, 30)
    assert waits.add(family) == {10: 1.15 + 0.23}, "what an ended thread waited stays"


def test_who_is_gone_is_forgotten_and_begins_anew(tmp_path: Path) -> None:
    waits = ProcessorWaits(tmp_path)
    thread(tmp_path, 10, 10, 100)
    assert waits.add({10: Usage(processes=(10, 99))}) == {10: 0.1}, "99 has ended meanwhile"
    assert waits.add({}) == {}
    assert waits.add({10: Usage(processes=(10,))}) == {10: 0.1}
