"""Batches of sequences, held back until all requests are there, as Triton's own tests do it."""

import queue
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from tritonclient.utils import InferenceServerException

from tests.support.runtime_process import Runtime, runtime, wait_until
from tests.support.sequence_models import repository


class Streams:
    """One gRPC stream per sequence; answers as (value, error) in the order of the requests."""

    def __init__(self, server: Runtime) -> None:
        self._server = server
        self._clients: dict[int, Any] = {}
        self._answers: dict[int, queue.Queue[Any]] = {}

    def send(
        self, model: str, sequence: int, flags: str, value: int, *, size: int = 1, timeout: int = 0
    ) -> None:
        client = self._client(sequence)
        item = grpc_client.InferInput("INPUT", [1, size], "INT32")
        item.set_data_from_numpy(np.full((1, size), value, np.int32))
        client.async_stream_infer(
            model,
            [item],
            sequence_id=sequence,
            sequence_start="s" in flags,
            sequence_end="e" in flags,
            timeout=timeout or None,
        )

    def answers(self, sequence: int, count: int, output: str = "OUTPUT") -> list[Any]:
        found = []
        for _ in range(count):
            result, error = self._answers[sequence].get(timeout=30)
            found.append(error if error else int(result.as_numpy(output).reshape(-1)[0]))
        return found

    def stop(self, sequence: int, *, cancel: bool = False) -> None:
        self._clients.pop(sequence).stop_stream(cancel_requests=cancel)

    def close(self) -> None:
        for client in self._clients.values():
            client.stop_stream()

    def _client(self, sequence: int) -> Any:
        if sequence not in self._clients:
            client = grpc_client.InferenceServerClient(self._server.grpc)
            answers = self._answers[sequence] = queue.Queue()
            client.start_stream(lambda result, error: answers.put((result, error)))
            self._clients[sequence] = client
        return self._clients[sequence]


@contextmanager
def streams(server: Runtime) -> Iterator[Streams]:
    found = Streams(server)
    try:
        yield found
    finally:
        found.close()


def pending(server: Runtime, model: str) -> int:
    line = f'nv_inference_pending_request_count{{model="{model}",version="1"}} '
    (found,) = (row for row in server.metrics().splitlines() if row.startswith(line))
    return int(float(found.removeprefix(line)))


def batches(server: Runtime, model: str) -> tuple[dict[int, int], int, int]:
    """Executions by batch size, executions, requests."""
    with http_client.InferenceServerClient(server.http) as client:
        (found,) = client.get_inference_statistics(model)["model_stats"]
    sizes = {row["batch_size"]: row["compute_infer"]["count"] for row in found["batch_stats"]}
    return sizes, found["execution_count"], found["inference_count"]


def queued(server: Runtime, model: str, count: int) -> None:
    wait_until(lambda: pending(server, model) == count, f"{count} requests to wait", 20)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return repository(tmp_path / "models")


def test_short_sequences_leave_holes(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITONSERVER_DELAY_SCHEDULER", "12")
    monkeypatch.setenv("TRITONSERVER_BACKLOG_DELAY_SCHEDULER", "0")
    with runtime(models) as server, streams(server) as send:
        for sequence, values in ((1002, (11, 12, 13, 14)), (1004, (21, 22, 23, 24))):
            for value, flags in zip(values, ("s", "", "", "e"), strict=True):
                send.send("told_direct", sequence, flags, value)
        queued(server, "told_direct", 8)
        for sequence, values in ((1001, (1, 3)), (1003, (31, 33))):
            for value, flags in zip(values, ("s", "e"), strict=True):
                send.send("told_direct", sequence, flags, value)
        assert send.answers(1002, 4) == [12, 12, 13, 14 + 1002]
        assert send.answers(1004, 4) == [22, 22, 23, 24 + 1004]
        assert send.answers(1001, 2) == [2, 3 + 1001]
        assert send.answers(1003, 2) == [32, 33 + 1003]
        assert batches(server, "told_direct") == ({4: 2, 2: 2}, 4, 12)


def test_the_backlog_fills_what_comes_free(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four short sequences in the slots, a longer one behind them."""
    monkeypatch.setenv("TRITONSERVER_DELAY_SCHEDULER", "8")
    monkeypatch.setenv("TRITONSERVER_BACKLOG_DELAY_SCHEDULER", "3")
    with runtime(models) as server, streams(server) as send:
        for sequence in (1, 2, 3, 4):
            send.send("total_direct", sequence, "s", sequence)
            send.send("total_direct", sequence, "e", 10)
            queued(server, "total_direct", 2 * sequence)
        for flags in ("s", "", "e"):
            send.send("total_direct", 5, flags, 100)
        assert send.answers(5, 3, "TOTAL") == [100, 200, 300]
        for sequence in (1, 2, 3, 4):
            assert send.answers(sequence, 2, "TOTAL") == [sequence, sequence + 10]
        assert batches(server, "total_direct") == ({4: 2, 1: 3}, 5, 11)


def test_sequences_in_the_backlog_time_out_whole(models: Path) -> None:
    with runtime(models) as server, streams(server) as send:
        for sequence in (1, 2, 3, 4):
            send.send("total_direct", sequence, "s", 1)
            assert send.answers(sequence, 1, "TOTAL") == [1]
        send.send("total_direct", 5, "s", 1)
        send.send("total_direct", 5, "", 1, timeout=100_000)
        for error in send.answers(5, 2):
            assert isinstance(error, InferenceServerException)
            assert error.message() == "timeout of the corresponding sequence has been expired"
        send.send("total_direct", 5, "e", 1)
        (error,) = send.answers(5, 1)
        assert "must specify the START flag" in error.message()
        labels = '{model="total_direct",reason="REJECTED",version="1"}'
        assert f"nv_inference_request_failure{labels} 2" in server.metrics().replace(", ", ",")


def test_a_cancelled_stream_gives_its_place_to_others(models: Path) -> None:
    with runtime(models) as server, streams(server) as send:
        for sequence in (1, 2, 3, 4):
            send.send("total_oldest", sequence, "s", 1)
            assert send.answers(sequence, 1, "TOTAL") == [1]
        send.send("total_oldest", 5, "s", 1)
        queued(server, "total_oldest", 1)
        send.send("total_oldest", 6, "se", 2)
        queued(server, "total_oldest", 2)
        send.stop(5, cancel=True)
        queued(server, "total_oldest", 1)
        send.send("total_oldest", 1, "e", 1)
        assert send.answers(1, 1, "TOTAL") == [2]
        assert send.answers(6, 1, "TOTAL") == [2]


def test_a_stopping_server_lets_sequences_end(models: Path) -> None:
    """Over HTTP: the gRPC server takes nothing any more once it is stopping."""

    def total(client: Any, sequence: int, flags: str, value: int) -> int:
        item = http_client.InferInput("INPUT", [1, 1], "INT32")
        item.set_data_from_numpy(np.full((1, 1), value, np.int32))
        start, end = "s" in flags, "e" in flags
        result = client.infer(
            "total_direct", [item], sequence_id=sequence, sequence_start=start, sequence_end=end
        )
        return int(result.as_numpy("TOTAL").item())

    with (
        runtime(models, "--exit-timeout-secs=20") as server,
        http_client.InferenceServerClient(server.http) as client,
    ):
        assert total(client, 1, "s", 1) == 1
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: server.call("v2/health/live")[0] != 200, "the server to stop", 20)
        with pytest.raises(InferenceServerException) as refused:
            total(client, 2, "s", 1)
        assert refused.value.message() == (
            "Server is stopping, scheduler for model has stopped accepting new inference requests"
        )
        assert total(client, 1, "", 2) == 3
        assert total(client, 1, "e", 3) == 6
        assert server.process.wait(10) == 0


UTILIZATION = """
max_batch_size: 2
instance_group { count: 1 kind: KIND_CPU }
sequence_batching {
  direct { max_queue_delay_microseconds: 1500000 minimum_slot_utilization: 1 }
  state { input_name: "STATE_IN" output_name: "STATE_OUT" data_type: TYPE_INT32 dims: [ 1 ] }
}
"""


def test_a_batch_waits_for_its_slots_as_long_as_allowed(models: Path) -> None:
    (models / "total_direct" / "config.pbtxt").write_text(UTILIZATION)
    with runtime(models) as server, streams(server) as send:
        send.send("total_direct", 1, "s", 1)
        queued(server, "total_direct", 1)
        send.send("total_direct", 2, "s", 2)
        assert send.answers(1, 1, "TOTAL") == [1]
        assert send.answers(2, 1, "TOTAL") == [2]
        send.send("total_direct", 2, "", 2)  # alone: it waits for the delay, behind an empty slot
        assert send.answers(2, 1, "TOTAL") == [4]
        assert batches(server, "total_direct") == ({2: 2}, 2, 3)
        with http_client.InferenceServerClient(server.http) as client:
            (found,) = client.get_inference_statistics("total_direct")["model_stats"]
        assert found["inference_stats"]["queue"]["ns"] >= 1_500_000_000


COUNTDOWN = '''
import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    """Answers x - 1, then less, down to 0, one answer in each batch."""

    def initialize(self, args):
        self.left = {}

    def execute(self, requests):
        for request in requests:
            sequence = request.correlation_id()
            if not sequence:  # a slot that has nothing to do in this batch
                continue
            if request.flags() & pb.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
                given = pb.get_input_tensor_by_name(request, "INPUT").as_numpy()
                self.left[sequence] = int(given.reshape(-1)[0])
            left = self.left[sequence] = self.left[sequence] - 1
            sender = request.get_response_sender()
            sender.send(pb.InferenceResponse([pb.Tensor("OUTPUT", np.array([[left]], np.int32))]))
            if left:
                request.set_release_flags(pb.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
            else:
                sender.send(flags=pb.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
'''
COUNTDOWN_CONFIG = """
backend: "python"
max_batch_size: 4
input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
model_transaction_policy { decoupled: true }
instance_group { count: 1 kind: KIND_CPU }
sequence_batching { iterative_sequence: true }
"""


def test_a_python_model_iterates(tmp_path: Path) -> None:
    root = tmp_path / "models"
    (root / "countdown" / "1").mkdir(parents=True)
    (root / "countdown" / "1" / "model.py").write_text(COUNTDOWN)
    (root / "countdown" / "config.pbtxt").write_text(COUNTDOWN_CONFIG)
    with runtime(root) as server:
        answers: queue.Queue[Any] = queue.Queue()
        with grpc_client.InferenceServerClient(server.grpc) as client:
            client.start_stream(lambda result, error: answers.put((result, error)))
            for number in range(8):  # more than slots: the others wait their turn
                item = grpc_client.InferInput("INPUT", [1, 1], "INT32")
                item.set_data_from_numpy(np.full((1, 1), 3, np.int32))
                client.async_stream_infer("countdown", [item], request_id=str(number))
            seen: dict[str, list[int]] = {}
            for _ in range(24):
                result, error = answers.get(timeout=30)
                assert error is None, str(error)
                value = int(result.as_numpy("OUTPUT").reshape(-1)[0])
                seen.setdefault(result.get_response().id, []).append(value)
            client.stop_stream()
        assert seen == {str(number): [2, 1, 0] for number in range(8)}


def test_many_threads_share_few_slots(models: Path) -> None:
    """Plain HTTP calls of sixteen clients, each its own sequence, over four slots."""
    failures: list[str] = []

    def one(sequence: int) -> None:
        with http_client.InferenceServerClient(server.http, network_timeout=60) as client:
            for step in range(1, 6):
                item = http_client.InferInput("INPUT", [1, 1], "INT32")
                item.set_data_from_numpy(np.full((1, 1), sequence, np.int32))
                result = client.infer(
                    "total_direct",
                    [item],
                    sequence_id=f"client-{sequence}",
                    sequence_start=step == 1,
                    sequence_end=step == 5,
                )
                total = int(result.as_numpy("TOTAL").item())
                if total != sequence * step:
                    failures.append(f"{sequence}: {total} at step {step}")

    with runtime(models) as server:
        threads = [threading.Thread(target=one, args=(number,)) for number in range(1, 17)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not failures
        _, _, requests = batches(server, "total_direct")
        assert requests == 80


@pytest.mark.parametrize("model", ["total_direct", "total_oldest"])
def test_sequences_go_on_while_instances_change(models: Path, model: str) -> None:
    path = models / model / "config.pbtxt"
    text = path.read_text()
    path.write_text(text.replace("count: 1", "count: 2"))
    with (
        runtime(models, "--model-control-mode=explicit", f"--load-model={model}") as server,
        http_client.InferenceServerClient(server.http) as client,
        streams(server) as send,
    ):
        for sequence in (1, 2):  # one on each instance
            send.send(model, sequence, "s", sequence)
            assert send.answers(sequence, 1, "TOTAL") == [sequence]
        for count in (1, 3):
            path.write_text(text.replace("count: 1", f"count: {count}"))
            client.load_model(model)
            assert client.get_model_config(model)["instance_group"][0]["count"] == count
            for sequence in (1, 2):
                send.send(model, sequence, "", 10)
        for sequence in (1, 2):
            send.send(model, sequence, "e", 100)
            assert send.answers(sequence, 3, "TOTAL") == [sequence + n for n in (10, 20, 120)]
        send.send(model, 3, "se", 3)
        assert send.answers(3, 1, "TOTAL") == [3]
        client.unload_model(model)
        assert server.stop() == 0


ALONE = """
max_batch_size: 1
instance_group { count: 1 kind: KIND_CPU }
sequence_batching {
  STRATEGY
  max_sequence_idle_microseconds: 10000000
  state { input_name: "STATE_IN" output_name: "STATE_OUT" data_type: TYPE_INT32 dims: [ 1 ] }
}
"""


@pytest.mark.parametrize("strategy", ["direct { }", "oldest { max_candidate_sequences: 1 }"])
@pytest.mark.parametrize("sequence", [1, 2])
def test_cancelling_a_call_cancels_its_sequence(
    models: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, sequence: int
) -> None:
    """In the line of the one slot (sequence 1) and in the backlog (2); nothing executes."""
    monkeypatch.setenv("TRITONSERVER_DELAY_SCHEDULER", "100")
    model = "total_direct"
    (models / model / "config.pbtxt").write_text(ALONE.replace("STRATEGY", strategy))
    with runtime(models) as server, grpc_client.InferenceServerClient(server.grpc) as client:
        answers: dict[str, Any] = {}

        def send(name: str, sequence: int, *, start: bool) -> Any:
            return client.async_infer(
                model,
                _input(),
                lambda result, error: answers.update({name: error or result}),
                sequence_id=sequence,
                sequence_start=start,
            )

        send("ahead", 1, start=True)
        queued(server, model, 1)
        call = send("first", sequence, start=sequence == 2)
        queued(server, model, 2)
        send("second", sequence, start=False)
        queued(server, model, 3)
        call.cancel()
        wait_until(lambda: len(answers) == 2, "two answers", 20)
        for name in ("first", "second"):
            assert answers[name].status() == "StatusCode.CANCELLED"
        queued(server, model, 1)
        labels = f'{{model="{model}",reason="CANCELED",version="1"}}'
        assert f"nv_inference_request_failure{labels} 2" in server.metrics()


def _input() -> list[Any]:
    item = grpc_client.InferInput("INPUT", [1, 1], "INT32")
    item.set_data_from_numpy(np.ones((1, 1), np.int32))
    return [item]
