"""The processes of Python models: they die, hang, flood and leave, and the server stays whole."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest

from tests.support.python_instances import (
    DECOUPLED,
    Load,
    Request,
    alive,
    ask,
    check_nothing_is_left,
    loader,
    request,
)
from worker_runtime.backends.python import instance as instance_module
from worker_runtime.backends.python import process as process_module
from worker_runtime.backends.python.instance import PythonInstance
from worker_runtime.errors import BackendFailed, Internal, LoadFailed
from worker_runtime.types.request import Response

MODES = """
import os
import sys
import time


class TritonPythonModel:
    def execute(self, requests):
        return [self.one(request.inputs()[0].as_numpy()) for request in requests]

    def one(self, x):
        mode = int(x[0])
        if mode == 1:
            print("hanging", flush=True)
            time.sleep(3600)
        if mode == 2:
            os._exit(9)
        if mode == 3:
            x = np.zeros(1 << 30, np.float32)
        if mode == 4:
            sys.stdout.write("x" * 50_000)
            sys.stdout.flush()
        if mode == 5:
            x = np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]
        if mode == 6:
            x = np.array(7, np.float32)
        if mode == 7:
            x = np.array([1, 2], ">f4")
        if mode == 8:
            x = np.array([{"no": "tensor"}, object()])
        if mode == 9:
            sys.exit(3)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", x)])
"""

ENDLESS = """
class TritonPythonModel:
    def execute(self, requests):
        sender = requests[0].get_response_sender()
        data = np.zeros(100_000, np.float32)
        while True:
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", data)]))
"""

COROUTINES = """
import asyncio


class TritonPythonModel:
    async def execute(self, requests):
        await asyncio.sleep(0)
        if requests[0].inputs()[0].as_numpy()[0]:
            raise ValueError("later")
        requests[0].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
"""

LEAVING = """
import os


class TritonPythonModel:
    def initialize(self, args):
        print("last words")
        os._exit(7)

    def execute(self, requests):
        return []
"""


ENDS_WHEN_ASKED = """
import os


class TritonPythonModel:
    def initialize(self, args):
        self.mark = os.path.join(args["model_repository"], "asked")

    def is_ready(self):
        if not os.path.exists(self.mark):
            open(self.mark, "w").close()
            os._exit(7)
        return True

    def execute(self, requests):
        return []
"""


LATE = """
class TritonPythonModel:
    def execute(self, requests):
        self.senders = [request.get_response_sender() for request in requests]
"""


# Each of two instances sends the other a byte, and waits for the other's.
MEET = """
import os
import select


class TritonPythonModel:
    def initialize(self, args):
        number = int(args["model_instance_name"][-1])
        folder = args["model_repository"]
        if os.path.exists(os.path.join(folder, "fail")) and number:
            raise ValueError("not this one")
        pipes = [os.open(os.path.join(folder, f"pipe{n}"), os.O_RDWR) for n in (0, 1)]
        os.write(pipes[1 - number], b".")
        assert select.select([pipes[number]], [], [], 30)[0], "the other one did not begin"

    def execute(self, requests):
        answers = [pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy()) for r in requests]
        return [pb_utils.InferenceResponse([answer]) for answer in answers]
"""


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    yield from loader(tmp_path)


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def hangs(instance: PythonInstance) -> None:
    """Wait until its model is in the middle of a batch that never ends."""
    process = instance._process
    assert process is not None
    until(lambda: "hanging" in process.last_lines, "the model hangs")


def test_a_process_that_ends_when_it_is_asked_whether_it_is_ready_is_replaced(load: Load) -> None:
    (instance,) = load(ENDS_WHEN_ASKED).instances
    until(lambda: instance.ready, "it comes back")


def test_a_process_that_dies_fails_its_batch_and_is_replaced(load: Load) -> None:
    (instance,) = load(MODES).instances
    before = instance.pid
    with pytest.raises(BackendFailed, match="exited with code 9"):
        ask(instance, 2)
    assert ask(instance, 0).arrays[0].tolist() == [0]
    assert instance.pid != before


def test_one_that_was_closed_does_not_come_back(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process died, and it is unloaded in the pause before it is started again."""
    monkeypatch.setattr(instance_module, "_FIRST_PAUSE_S", 1.0)
    (instance,) = load(MODES).instances
    dead = instance.pid
    with pytest.raises(BackendFailed, match="exited with code 9"):
        ask(instance, 2)

    def restarts() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "m_0_0-restart"]

    until(lambda: bool(restarts()), "it is about to come back")
    (restart,) = restarts()
    instance.close()
    restart.join(20)
    assert not restart.is_alive()
    assert instance.pid == dead, "nobody would end another one"


def test_a_decoupled_model_comes_back_whoever_tells_its_requests_first(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its batch has failed them when the thread that saw the process out comes to it."""
    (instance,) = load(MODES, DECOUPLED).instances
    failed = threading.Event()

    class Told(Request):
        def send(self, response: Response | None, **marks: object) -> None:
            if failed.is_set():
                raise Internal("a response was sent after the final one")
            super().send(response, **marks)

    fail_open = instance._fail_open

    def late(text: str) -> None:
        assert failed.wait(20)
        fail_open(text)

    monkeypatch.setattr(instance, "_fail_open", late)
    dead = instance.pid
    with pytest.raises(BackendFailed, match="exited with code 9"):
        instance.execute_requests([Told({"INPUT0": np.array([2], np.float32)})])
    failed.set()
    until(lambda: instance.ready and instance.pid != dead, "it comes back")


def test_a_process_that_dies_fails_what_it_had_yet_to_answer(load: Load) -> None:
    instance = load(LATE).instances[0]
    one = request(1)
    instance.execute_requests([one])
    assert one.detached
    assert one.answers.empty()
    os.kill(instance.pid, signal.SIGKILL)
    answer = one.answers.get(timeout=10)
    assert answer is not None
    assert "It was killed by SIGKILL" in str(answer.error)


def test_a_process_killed_while_it_works_fails_only_that(load: Load) -> None:
    first, second = load(MODES, instances=2).instances

    def kill() -> None:
        hangs(first)
        os.kill(first.pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    with pytest.raises(BackendFailed, match="killed by SIGKILL"):
        ask(first, 1)
    assert ask(second, 0).arrays[0].tolist() == [0]


def test_a_model_that_hangs_is_unloaded_all_the_same(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module.StubProcess.stop, "__defaults__", (0.2,))
    model = load(MODES)
    (instance,) = model.instances
    failures: SimpleQueue[str] = SimpleQueue()

    def run() -> None:
        try:
            ask(instance, 1)
        except BackendFailed as error:
            failures.put(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    pid = instance.pid
    hangs(instance)
    model.close()
    thread.join(10)
    assert not thread.is_alive()
    assert "killed by SIGKILL" in failures.get_nowait()
    assert not alive(pid)


def meeting(tmp_path: Path) -> Path:
    folder = tmp_path / "m"
    folder.mkdir()
    for number in (0, 1):
        os.mkfifo(folder / f"pipe{number}")
    return folder


def children() -> set[int]:
    found = Path("/proc/self/task").glob("*/children")
    return {int(pid) for file in found for pid in file.read_text().split()}


def test_instances_begin_side_by_side(load: Load, tmp_path: Path) -> None:
    meeting(tmp_path)
    model = load(MEET, instances=2)
    for number, instance in enumerate(model.instances):
        assert ask(instance, number).arrays[0].tolist() == [number]


def test_an_instance_that_fails_ends_those_that_still_begin(load: Load, tmp_path: Path) -> None:
    (meeting(tmp_path) / "fail").touch()
    before, start = children(), time.monotonic()
    with pytest.raises(LoadFailed, match="ValueError: not this one"):
        load(MEET, instances=2)
    assert time.monotonic() - start < 25  # it does not wait for the other one's time-out
    assert children() <= before
    assert not [thread.name for thread in threading.enumerate() if "m_0_" in thread.name]


def test_leaving_during_initialize_is_told_with_the_last_output(load: Load) -> None:
    with pytest.raises(LoadFailed, match=r"exited with code 7\. Its last output:\nlast words"):
        load(LEAVING)


def test_too_much_memory_is_the_models_error(load: Load) -> None:
    (instance,) = load(MODES, MEMORY_LIMIT_MB="3000").instances
    with pytest.raises(BackendFailed, match="MemoryError"):
        ask(instance, 3)
    assert ask(instance, 0).arrays[0].tolist() == [0]


def test_too_much_shared_memory_is_the_models_error(load: Load) -> None:
    (instance,) = load(MODES, SHARED_MEMORY_LIMIT_MB="1").instances
    big = Request({"INPUT0": np.zeros(1 << 20, np.float32)})
    with pytest.raises(Exception, match="shared memory"):
        instance.execute_requests([big])
    assert ask(instance, 0).arrays[0].tolist() == [0]


def test_output_without_end_of_line_is_let_through(load: Load) -> None:
    (instance,) = load(MODES).instances
    assert ask(instance, 4).arrays[0].tolist() == [4]


def test_arrays_of_odd_layout_arrive_whole(load: Load) -> None:
    (instance,) = load(MODES).instances
    assert ask(instance, 5).arrays[0].tolist() == [[0, 4, 8], [2, 6, 10]]
    assert ask(instance, 6).arrays[0].shape == ()
    with pytest.raises(BackendFailed, match="NumPy dtype is not supported"):
        ask(instance, 7)
    texts = ask(instance, 8).arrays[0].tolist()
    assert texts[0] == b"{'no': 'tensor'}"
    with pytest.raises(BackendFailed, match="SystemExit: 3"):
        ask(instance, 9)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1, "Failed to process the request(s) for model 'm_0_0', message: ValueError: later"),
        (0, "Requests of a decoupled model with 'async def execute' cannot be rescheduled."),
    ],
)
def test_faults_of_coroutines_answer_decoupled_requests(
    load: Load, value: float, words: str
) -> None:
    (instance,) = load(COROUTINES, DECOUPLED).instances
    one = request(value)
    instance.execute_requests([one])
    answer = one.answers.get(timeout=20)
    assert answer is not None
    assert str(answer.error).startswith(words)


def test_a_model_that_answers_without_end_waits_for_the_server(load: Load) -> None:
    model = load(ENDLESS, DECOUPLED)
    (instance,) = model.instances
    one = request(0)
    thread = threading.Thread(target=lambda: _ignore(instance, one))
    thread.start()
    kept = [one.answers.get(timeout=20) for _ in range(20)]
    until(lambda: one.answers.qsize() > 100, "answers come")
    until(lambda: _settled(one), "the model waits")
    held = sum(answer.arrays[0].nbytes for answer in [*kept, *_drained(one)] if answer is not None)
    assert held < 100 << 20
    model.close()
    thread.join(20)
    assert not thread.is_alive()


def _ignore(instance: PythonInstance, one: Request) -> None:
    try:
        instance.execute_requests([one])
    except BackendFailed:
        return


def _settled(one: Request) -> bool:
    before = one.answers.qsize()
    time.sleep(0.3)  # why a sleep: that nothing comes is what is looked for
    return one.answers.qsize() == before


def _drained(one: Request) -> list[Response | None]:
    found = []
    while not one.answers.empty():
        found.append(one.answers.get())
    return found


def test_processes_leave_nothing_behind(load: Load) -> None:
    check_nothing_is_left(load, MODES, rounds=4, instances=5)
