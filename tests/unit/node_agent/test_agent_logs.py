"""Log lines arrive once each, with rising numbers, over restarts and emptied files."""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent import logs
from node_agent.journal import ReplicaFolder
from node_agent.logs import (
    AGENT_STREAM,
    RUNTIME_STREAM,
    LogTail,
    copy_end,
    last_lines,
    masked,
)
from wire.messages import DesiredReplica

REPLICA = DesiredReplica(
    replica_id="r", generation=1, endpoint="digits", deployment="blue", files=()
)


@pytest.fixture
def folder(tmp_path: Path) -> ReplicaFolder:
    return ReplicaFolder(tmp_path)


def ship(tail: LogTail) -> list[tuple[str, int]]:
    pages = tail.pages()
    tail.shipped(pages)
    return [(entry.text, entry.seq) for page in pages.values() for entry in page.entries]


def test_only_complete_lines_are_shipped_and_each_once(folder: ReplicaFolder) -> None:
    tail = LogTail(REPLICA, folder)
    folder.runtime_log.write_text("one\ntw")
    assert ship(tail) == [("one", 4)]
    with folder.runtime_log.open("a") as log:
        log.write("o\n\nthree\n")
    assert ship(tail) == [("two", 8), ("three", 15)]
    assert ship(tail) == []


def test_what_was_not_confirmed_comes_again_with_the_same_numbers(folder: ReplicaFolder) -> None:
    folder.runtime_log.write_text("one\n")
    tail = LogTail(REPLICA, folder)
    first = tail.pages()[RUNTIME_STREAM].entries[0]
    again = LogTail(REPLICA, folder).pages()[RUNTIME_STREAM].entries[0]
    assert (first.text, first.seq) == (again.text, again.seq)


def test_a_replica_may_go_while_its_lines_are_on_their_way(folder: ReplicaFolder) -> None:
    folder.path.mkdir(exist_ok=True)
    folder.runtime_log.write_text("one\n")
    tail = LogTail(REPLICA, folder)
    pages = tail.pages()
    folder.runtime_log.unlink()
    folder.path.rmdir()
    tail.shipped(pages)
    assert tail.pages() == {}


def test_a_new_agent_goes_on_where_the_old_one_stopped(folder: ReplicaFolder) -> None:
    folder.runtime_log.write_text("one\ntwo\n")
    ship(LogTail(REPLICA, folder))
    with folder.runtime_log.open("a") as log:
        log.write("three\n")
    assert ship(LogTail(REPLICA, folder)) == [("three", 14)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of a few lines: files of 40 bytes, 30 behind, of which the last 10 are kept."""
    monkeypatch.setattr(logs, "FILE_LIMIT_BYTES", 40)
    monkeypatch.setattr(logs, "BEHIND_LIMIT_BYTES", 30)
    monkeypatch.setattr(logs, "BEHIND_KEPT_BYTES", 10)


def write(folder: ReplicaFolder, text: str) -> None:
    with folder.runtime_log.open("a") as log:
        log.write(text)


def test_a_long_file_is_emptied_and_numbers_go_on(folder: ReplicaFolder, small: None) -> None:
    tail = LogTail(REPLICA, folder)
    for _ in range(5):
        write(folder, "eleven char\n")
        ship(tail)
    tail.trim()
    assert folder.runtime_log.stat().st_size == 0
    assert folder.runtime_log.with_suffix(".log.1").stat().st_size == 60
    write(folder, "x\n")
    assert ship(tail) == [("x", 62)]


def test_what_was_not_shipped_when_a_file_was_put_aside_comes_after_all(
    folder: ReplicaFolder, small: None
) -> None:
    tail = LogTail(REPLICA, folder)
    write(folder, "0123456789\n" * 2)
    ship(tail)
    write(folder, "not shipped\nneither\n")
    tail.trim()
    write(folder, "after\n")
    after = LogTail(REPLICA, folder)  # an agent that was restarted in between
    assert ship(after) == [("not shipped", 34), ("neither", 42)]
    assert ship(after) == [("after", 48)]
    assert ship(LogTail(REPLICA, folder)) == []


def test_who_writes_faster_than_is_shipped_loses_the_middle_and_is_told(
    folder: ReplicaFolder, small: None
) -> None:
    tail = LogTail(REPLICA, folder)
    write(folder, "first\n")
    ship(tail)
    write(folder, "".join(f"line {number}\n" for number in range(9)))
    (told, at), *rest = ship(tail)
    assert told.startswith("... 56 B left out")
    assert str(folder.runtime_log) in told
    assert rest == [("line 8", 69)]
    assert at < 69


def test_files_stay_small_while_nobody_takes_the_lines(folder: ReplicaFolder, small: None) -> None:
    tail = LogTail(REPLICA, folder)
    for number in range(200):
        write(folder, f"line {number:03}\n")
        tail.trim()
    sizes = [path.stat().st_size for path in folder.path.glob("runtime.log*")]
    assert sum(sizes) <= 2 * 45
    (told, _), *rest = ship(tail)
    assert "left out" in told
    assert rest[-1] == ("line 199", 200 * 9)


@given(st.lists(st.sampled_from(["write", "write", "ship", "trim", "restart"]), max_size=60))
def test_lines_come_once_and_in_order_whatever_happens(steps: list[str]) -> None:
    limits = {"FILE_LIMIT_BYTES": 40, "BEHIND_LIMIT_BYTES": 60, "BEHIND_KEPT_BYTES": 20}
    with TemporaryDirectory() as path, pytest.MonkeyPatch.context() as patched:
        for name, value in {**limits, "READ_BYTES": 30}.items():
            patched.setattr(logs, name, value)
        folder = ReplicaFolder(Path(path))
        tail, wrote, got = LogTail(REPLICA, folder), 0, []
        for step in [*steps, *["ship"] * 10]:
            if step == "write":
                write(folder, f"line {wrote:04}\n")
                wrote += 1
            elif step == "ship":
                got += ship(tail)
            elif step == "trim":
                tail.trim()
            else:
                tail = LogTail(REPLICA, folder)
    seqs = [seq for _, seq in got]
    assert seqs == sorted(set(seqs))
    lines = [text for text, _ in got if "left out" not in text]
    assert all(seq == 10 * (int(text[-4:]) + 1) for text, seq in got if text in lines)
    if len(lines) == len(got):
        assert lines == [f"line {number:04}" for number in range(wrote)]


def test_empty_lines_without_end_hold_up_nothing(
    folder: ReplicaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "READ_BYTES", 4)
    write(folder, "\n" * 10 + "one\n")
    tail = LogTail(REPLICA, folder)
    assert [ship(tail) for _ in range(5)] == [[], [], [], [("one", 14)], []]


def test_the_agents_own_lines_carry_their_time(folder: ReplicaFolder) -> None:
    folder.note("fetching 2 files")
    entry = LogTail(REPLICA, folder).pages()[AGENT_STREAM].entries[0]
    assert (entry.text, entry.endpoint, entry.deployment) == ("fetching 2 files", "digits", "blue")
    assert entry.at > 1_700_000_000


def test_last_lines_of_a_missing_file_are_empty(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "none.log", 5) == ""


def test_last_lines_leave_out_the_tables_of_a_start(tmp_path: Path) -> None:
    log = tmp_path / "runtime.log"
    log.write_text(
        'E1121 19:02:26.1 9 serving.py:71] "failed to load a"\n'
        "I1121 19:02:26.2 9 server.py:246] \n"
        "+-------+---------+\n"
        "| Model | Version |\n"
        "+-------+---------+\n"
        "\n"
        'I1121 19:02:26.3 9 server.py:247] "models loaded in 1.1 s"\n'
    )
    told = last_lines(log, 20).splitlines()
    assert [line.partition("] ")[2] for line in told] == [
        '"failed to load a"',
        '"models loaded in 1.1 s"',
    ]
    assert last_lines(log, 1).endswith('"models loaded in 1.1 s"')


def test_values_of_secrets_do_not_leave_the_node(folder: ReplicaFolder) -> None:
    given = {"API_KEY": "s3cret-value", "LONG": "s3cret-value-2", "FLAG": "1", "PLAIN": "seen"}
    replica = replace(REPLICA, environment=given, secrets=("API_KEY", "LONG", "FLAG", "GONE"))
    folder.runtime_log.write_text("key=s3cret-value! s3cret-value-2 1 seen\n")
    ((text, _),) = ship(LogTail(replica, folder))
    assert text == "key=[secret]! [secret] 1 seen"
    assert masked(replica, "Traceback: s3cret-value") == "Traceback: [secret]"


def test_a_log_that_its_replica_made_huge_at_once_takes_no_disk(
    folder: ReplicaFolder, small: None
) -> None:
    """It has the file open, and one call gives that any length: the agent wrote as many zeros."""
    tail = LogTail(REPLICA, folder)
    write(folder, "first\n")
    assert [text for text, _ in ship(tail)] == ["first"]
    os.truncate(folder.runtime_log, 1 << 36)
    write(folder, "\nlast\n")
    tail.trim()
    aside = folder.runtime_log.with_suffix(".log.1")
    assert aside.stat().st_size <= 2 * logs.FILE_LIMIT_BYTES
    assert folder.runtime_log.stat().st_size == 0
    texts = [text for text, _ in ship(tail)]
    assert texts[0].startswith("... 64.0 GiB left out")
    assert texts[-1].endswith("last")
    write(folder, "after\n")
    assert [text for text, _ in ship(tail)] == ["after"]


def test_a_log_that_grows_while_it_is_put_aside_is_not_followed_for_ever(
    small: None, tmp_path: Path
) -> None:
    """Who writes as fast as the agent copies kept it at that until the disk was full."""
    copy_end(Path("/dev/zero"), tmp_path / "aside")
    assert (tmp_path / "aside").stat().st_size == 2 * logs.FILE_LIMIT_BYTES


def test_a_page_has_so_many_lines_and_no_more(folder: ReplicaFolder) -> None:
    """Short lines become long in a message: more than the control plane takes, again and again."""
    short = 100_000
    write(folder, "x\n" * short)
    tail = LogTail(REPLICA, folder)
    seen, last = 0, 0
    while lines := ship(tail):
        assert len(lines) <= logs.PAGE_LINES
        assert lines[0][1] > last
        seen, last = seen + len(lines), lines[-1][1]
    assert (seen, last) == (short, 2 * short)


def test_what_a_replica_answers_makes_no_lines_of_its_own(folder: ReplicaFolder) -> None:
    """The agent quotes it: a line without a time stopped the logs of the whole node."""
    folder.note("warning: first inference of digits: no\nsuch\rthing\u2028here\nnan boom")
    folder.note("ready")
    with folder.agent_log.open("a") as log:
        log.write("as an older agent left it\nnan x\n1e999 y\n")
    entries = LogTail(REPLICA, folder).pages()[AGENT_STREAM].entries
    assert [entry.text for entry in entries] == [
        "warning: first inference of digits: no such thing here nan boom",
        "ready",
        "as an older agent left it",
        "nan x",
        "1e999 y",
    ]
    assert all(0 < entry.at < 1e12 for entry in entries)


def test_a_log_has_grown_until_all_of_it_was_shipped(folder: ReplicaFolder) -> None:
    tail = LogTail(REPLICA, folder)
    assert not tail.grown()
    folder.runtime_log.write_text("one\n")
    assert tail.grown()
    ship(tail)
    assert not tail.grown()
    folder.runtime_log.write_text("")  # somebody emptied it
    assert tail.grown()
    ship(tail)
    assert not tail.grown()


def test_a_log_that_was_put_aside_has_grown_until_it_was_shipped(
    folder: ReplicaFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "FILE_LIMIT_BYTES", 8)
    tail = LogTail(REPLICA, folder)
    folder.runtime_log.write_text("one\ntwo\nthree\n")
    assert tail.grown()
    assert folder.runtime_log.stat().st_size == 0
    assert [text for text, _ in ship(tail)] == ["one", "two", "three"]
    ship(tail)
    assert not tail.grown()
