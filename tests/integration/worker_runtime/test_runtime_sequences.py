"""Sequences end to end: stock tritonclient over HTTP, gRPC and a gRPC stream, real ONNX models."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from tritonclient.utils import InferenceServerException

from tests.support.runtime_process import Runtime, runtime, wait_until
from tests.support.sequence_models import repository

Send = Callable[..., dict[str, Any]]
NO_START = (
    "inference request for sequence {0} to model '{1}' must specify the START flag on the first "
    "request of the sequence"
)


@pytest.fixture(scope="module")
def sequences(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = repository(tmp_path_factory.mktemp("sequences") / "models")
    with runtime(root) as found:
        yield found


def _inputs(module: Any, value: int, shape: tuple[int, ...]) -> list[Any]:
    item = module.InferInput("INPUT", list(shape), "INT32")
    item.set_data_from_numpy(np.full(shape, value, np.int32))
    return [item]


def _outputs(result: Any) -> dict[str, Any]:
    response = result.get_response()
    listed = response["outputs"] if isinstance(response, dict) else response.outputs
    names = [item["name"] if isinstance(item, dict) else item.name for item in listed]
    return {name: result.as_numpy(name).reshape(-1).tolist()[0] for name in names}


class _Stream:
    """One gRPC stream, used like a plain call."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._answers: queue.Queue[Any] = queue.Queue()
        client.start_stream(callback=lambda result, error: self._answers.put((result, error)))

    def infer(self, model: str, inputs: Any, **options: Any) -> Any:
        self._client.async_stream_infer(model, inputs, **options)
        result, error = self._answers.get(timeout=30)
        if error is not None:
            raise error
        return result


@pytest.fixture(params=["http", "grpc", "stream"])
def send(request: pytest.FixtureRequest, sequences: Runtime) -> Iterator[Send]:
    """Sends one request of a sequence: its outputs' first elements, or the exception."""
    module = http_client if request.param == "http" else grpc_client
    url = sequences.http if request.param == "http" else sequences.grpc
    with module.InferenceServerClient(url) as client:
        caller = _Stream(client) if request.param == "stream" else client

        def call(
            model: str, sequence: int | str, flags: str = "", value: int = 0, **options: Any
        ) -> dict[str, Any]:
            shape = options.pop("shape", (1, 1))
            return _outputs(
                caller.infer(
                    model,
                    _inputs(module, value, shape),
                    sequence_id=sequence,
                    sequence_start="s" in flags,
                    sequence_end="e" in flags,
                    **options,
                )
            )

        yield call
        if request.param == "stream":
            client.stop_stream()


@pytest.mark.parametrize("strategy", ["direct", "oldest"])
def test_a_model_is_told_where_it_stands(send: Send, strategy: str) -> None:
    model = f"told_{strategy}"
    assert send(model, 1001, "s", 1) == {"OUTPUT": 2, "SEEN": 1}
    assert send(model, 1001, "", 2) == {"OUTPUT": 2, "SEEN": 1}
    assert send(model, 1001, "e", 3) == {"OUTPUT": 1004, "SEEN": 1}
    assert send(model, 7, "se", 1) == {"OUTPUT": 9, "SEEN": 1}


@pytest.mark.parametrize("strategy", ["direct", "oldest"])
def test_the_server_keeps_the_state(send: Send, strategy: str) -> None:
    model = f"total_{strategy}"
    seen = [send(model, 21, flags, value) for flags, value in (("s", 1), ("", 2), ("", 3))]
    assert seen == [{"TOTAL": 1}, {"TOTAL": 3}, {"TOTAL": 6}]
    assert send(model, 22, "se", 5) == {"TOTAL": 5}
    assert send(model, 21, "e", 4) == {"TOTAL": 10}
    assert send(model, 21, "s", 9) == {"TOTAL": 9}
    assert send(model, 21, "s", 8) == {"TOTAL": 8}  # again: the old one is at an end
    assert send(model, 21, "e", 1) == {"TOTAL": 9}


@pytest.mark.parametrize("strategy", ["direct", "oldest"])
def test_a_state_may_grow(send: Send, strategy: str) -> None:
    model = f"growing_{strategy}"
    assert send(model, 31, "s") == {"LENGTH": 2}
    assert send(model, 32, "s") == {"LENGTH": 2}
    assert send(model, 31) == {"LENGTH": 3}
    assert send(model, 32, "e") == {"LENGTH": 3}
    assert send(model, 31, "e") == {"LENGTH": 4}


def test_an_unbatched_model_keeps_a_state_that_begins_with_a_file(send: Send) -> None:
    assert send("begun", 41, "s", 1, shape=(1,)) == {"TOTAL": 1001, "STATE_OUT": 1001}
    assert send("begun", 41, "e", 2, shape=(1,)) == {"TOTAL": 1003, "STATE_OUT": 1003}
    assert send("told_alone", 42, "se", 1, shape=(1,)) == {"OUTPUT": 44, "SEEN": 1}


def test_a_correlation_id_may_be_a_text(send: Send) -> None:
    assert send("names", "anna", "s", 1) == {"NAME": b"anna", "OUTPUT": 1}
    assert send("names", "anna", "e", 2) == {"NAME": b"anna", "OUTPUT": 2}
    with pytest.raises(InferenceServerException) as caught:
        send("names", 5, "s", 1)
    assert (
        "sequence batching control 'CORRID' data-type is 'UINT64', but model 'names' expects "
        "'BYTES'"
    ) in str(caught.value.message())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            (0, "s", 1),
            "inference request to model 'total_direct' must specify a non-zero or non-empty "
            "correlation ID",
        ),
        ((51, "", 1), NO_START.format(51, "total_direct")),
        (("fifty", "e", 1), NO_START.format("fifty", "total_direct")),
    ],
)
def test_refusals(send: Send, arguments: Any, text: str) -> None:
    with pytest.raises(InferenceServerException) as caught:
        send("total_direct", *arguments)
    assert caught.value.message() == text
    assert caught.value.status() in ("400", "StatusCode.INVALID_ARGUMENT", None)


def test_a_batch_of_two_is_refused(send: Send) -> None:
    with pytest.raises(InferenceServerException) as caught:
        send("total_direct", 52, "s", 1, shape=(2, 1))
    assert caught.value.message() == (
        "inference request to model 'total_direct' must specify batch-size 1 due to requirements "
        "of sequence batcher"
    )


def test_controls_and_states_are_not_for_clients(sequences: Runtime) -> None:
    with http_client.InferenceServerClient(sequences.http) as client:
        metadata = client.get_model_metadata("told_direct")
        assert [item["name"] for item in metadata["inputs"]] == ["INPUT"]
        metadata = client.get_model_metadata("total_direct")
        assert [item["name"] for item in metadata["inputs"]] == ["INPUT"]
        assert [item["name"] for item in metadata["outputs"]] == ["TOTAL"]
        config = client.get_model_config("total_oldest")["sequence_batching"]
        assert config["oldest"]["preferred_batch_size"] == [4]
        with pytest.raises(InferenceServerException, match="expected 1 inputs but got 2 inputs"):
            extra = http_client.InferInput("START", [1, 1], "INT32")
            extra.set_data_from_numpy(np.ones((1, 1), np.int32))
            client.infer(
                "told_direct",
                [*_inputs(http_client, 1, (1, 1)), extra],
                sequence_id=61,
                sequence_start=True,
            )
        with pytest.raises(InferenceServerException) as caught:
            client.infer(
                "total_direct",
                _inputs(http_client, 1, (1, 1)),
                outputs=[http_client.InferRequestedOutput("STATE_OUT")],
                sequence_id=62,
                sequence_start=True,
            )
        assert "unexpected inference output 'STATE_OUT' for model 'total_direct'" in str(
            caught.value
        )


def test_the_state_may_be_asked_for_alone(sequences: Runtime) -> None:
    with http_client.InferenceServerClient(sequences.http) as client:
        result = client.infer(
            "begun",
            _inputs(http_client, 5, (1,)),
            outputs=[http_client.InferRequestedOutput("STATE_OUT")],
            sequence_id=63,
            sequence_start=True,
            sequence_end=True,
        )
        assert _outputs(result) == {"STATE_OUT": 1005}


def test_an_idle_sequence_is_forgotten(send: Send) -> None:
    assert send("short", 71, "s", 1) == {"TOTAL": 1}
    assert send("short", 71, "", 1) == {"TOTAL": 2}

    def forgotten() -> bool:
        time.sleep(0.7)  # why a sleep: not sending is what is tested
        try:
            send("short", 71, "", 1)
        except InferenceServerException as error:
            return error.message() == NO_START.format(71, "short")
        return False

    wait_until(forgotten, "the idle time to end the sequence", 10)


def test_many_sequences_at_once_keep_their_totals(sequences: Runtime) -> None:
    """More sequences than slots, from threads: the backlog lets every one of them through."""
    failures: list[str] = []

    def one(sequence: int, model: str) -> None:
        with grpc_client.InferenceServerClient(sequences.grpc) as client:
            total = 0
            for step in range(6):
                total += sequence + step
                result = client.infer(
                    model,
                    _inputs(grpc_client, sequence + step, (1, 1)),
                    sequence_id=sequence,
                    sequence_start=step == 0,
                    sequence_end=step == 5,
                )
                if _outputs(result) != {"TOTAL": total}:
                    failures.append(f"{model} {sequence} {step}: {_outputs(result)} not {total}")

    for model in ("total_direct", "total_oldest"):
        threads = [threading.Thread(target=one, args=(100 + n, model)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert not failures


def test_statistics_count_requests_not_stand_ins(tmp_path: Path) -> None:
    root = repository(tmp_path / "models")
    with runtime(root) as server, http_client.InferenceServerClient(server.http) as client:
        for sequence, flags, value in ((1, "s", 1), (2, "s", 2), (2, "e", 3), (1, "e", 4)):
            client.infer(
                "told_direct",
                _inputs(http_client, value, (1, 1)),
                sequence_id=sequence,
                sequence_start="s" in flags,
                sequence_end="e" in flags,
            )
        with pytest.raises(InferenceServerException):
            client.infer("told_direct", _inputs(http_client, 1, (1, 1)), sequence_id=3)
        (found,) = client.get_inference_statistics("told_direct")["model_stats"]
        assert (found["inference_count"], found["execution_count"]) == (4, 4)
        assert found["inference_stats"]["success"]["count"] == 4
        assert found["inference_stats"]["queue"]["count"] == 4
        assert found["inference_stats"]["fail"]["count"] == 0
        sizes = {row["batch_size"]: row["compute_infer"]["count"] for row in found["batch_stats"]}
        assert sizes == {1: 2, 2: 2}  # slot 0 was empty while 2 sat in slot 1
        assert 'nv_inference_count{model="told_direct",version="1"} 4' in server.metrics()
