"""Response senders of models that are not decoupled: one answer, before or after ``execute``."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import numpy as np
import pytest
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from tests.support import python_models as pm
from tests.support.runtime_process import Runtime, runtime, wait_until

SENT_TWICE = "Unable to send response. Non-decoupled model cannot send more than one response."

# Answers each request when the next one has come, the last one too when it is negative.
ONE_BEHIND = """
class TritonPythonModel:
    def initialize(self, args):
        self.waiting = []

    def execute(self, requests):
        for request in requests:
            request.get_response_sender()
            self.waiting.append(request)
            stay = request.inputs()[0].as_numpy()[0] >= 0
            while len(self.waiting) > stay:
                self.answer(self.waiting.pop(0))

    def answer(self, request):
        found = pb_utils.Tensor("OUTPUT0", request.inputs()[0].as_numpy())
        request.get_response_sender().send(pb_utils.InferenceResponse([found]), 1)
"""
# Answers, and stays in ``execute`` until somebody opens the pipe.
STAYS = """
import os


class TritonPythonModel:
    def initialize(self, args):
        self.pipe = os.path.join(args["model_repository"], "pipe")

    def execute(self, requests):
        for request in requests:
            found = pb_utils.Tensor("OUTPUT0", request.inputs()[0].as_numpy())
            request.get_response_sender().send(pb_utils.InferenceResponse([found]), 1)
        with open(self.pipe) as pipe:
            pipe.read()
"""
# What is sent after 0: twice, once and returned; after an error of the batch. OUTPUT0 of the next
# request has what was raised then.
TWICE = """
class TritonPythonModel:
    def initialize(self, args):
        self.kept, self.raised = None, ""

    def response(self, text):
        found = pb_utils.Tensor("OUTPUT0", np.array([text.encode()], object))
        return pb_utils.InferenceResponse([found])

    def execute(self, requests):
        if self.kept is not None:
            try:
                self.kept.get_response_sender().send(self.response("late"), 1)
            except pb_utils.TritonModelException as error:
                self.raised = str(error)
            self.kept = None
        answers = []
        for request in requests:
            what = request.inputs()[0].as_numpy().item().decode()
            if what == "raised":
                answers.append(self.response(self.raised))
                continue
            self.kept = request
            if what == "raise":
                request.get_response_sender()
                raise ValueError("boom")
            if what == "send":
                request.get_response_sender().send(self.response("first"))
                request.get_response_sender().send(self.response("second"))
            if what == "send, return":
                request.get_response_sender().send(self.response("first"), 1)
            answers.append(self.response(what))
        return answers
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("python-senders") / "models"
    pm.add(root, "one_behind", ONE_BEHIND)
    pm.add(root, "coroutine", ONE_BEHIND.replace("def execute", "async def execute"))
    os.mkfifo(pm.add(root, "stays", STAYS) / "pipe")
    texts = {"inputs": "INPUT0:STRING:1", "outputs": "OUTPUT0:STRING:1"}
    pm.add(root, "twice", TWICE, **texts)
    pm.add(
        root,
        "twice_batched",
        TWICE,
        **texts,
        config="max_batch_size: 2 dynamic_batching { max_queue_delay_microseconds: 60000000 }",
    )
    return root


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Runtime]:
    with runtime(models) as found:
        yield found


@pytest.fixture
def client(server: Runtime) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(server.http, concurrency=8, network_timeout=20) as found:
        yield found


def tensors(value: Any, rows: bool = False) -> list[Any]:
    array = np.array([value] if isinstance(value, float) else [value.encode()])
    array = array.astype(np.float32 if isinstance(value, float) else object)
    array = array.reshape(1, 1) if rows else array
    made = http.InferInput("INPUT0", list(array.shape), "BYTES" if array.dtype == "O" else "FP32")
    made.set_data_from_numpy(array)
    return [made]


def asked(client: http.InferenceServerClient, model: str, value: Any) -> Any:
    return client.infer(model, tensors(value)).as_numpy("OUTPUT0")[0]


def executions(server: Runtime, model: str) -> int:
    gevent.sleep(0)  # the client's requests are sent by greenlets, which run when they are let
    (stats,) = server.json(f"v2/models/{model}/stats")[1]["model_stats"]
    return int(stats["execution_count"])


@pytest.mark.parametrize("model", ["one_behind", "coroutine"])
def test_an_answer_may_wait_for_later_executions(
    client: http.InferenceServerClient, server: Runtime, model: str
) -> None:
    before = executions(server, model)
    pending = []
    for number, value in enumerate((1.0, 2.0, -3.0)):
        pending.append(client.async_infer(model, tensors(value)))
        wait_until(lambda n=number: executions(server, model) == before + n + 1, "executed", 10)
    found = [one.get_result(timeout=10).as_numpy("OUTPUT0").tolist() for one in pending]
    assert found == [[1], [2], [-3]]


def test_an_answer_leaves_while_execute_goes_on(
    client: http.InferenceServerClient, models: Path
) -> None:
    for value in (1.0, 2.0):
        assert asked(client, "stays", value) == value
        with (models / "stays" / "pipe").open("w"):
            pass


@pytest.mark.parametrize(
    ("what", "answer", "raised"),
    [
        ("send", "first", SENT_TWICE),
        ("send, return", "first", SENT_TWICE),
        ("return", "return", SENT_TWICE),
    ],
)
def test_the_first_of_two_answers_counts(
    client: http.InferenceServerClient, what: str, answer: str, raised: str
) -> None:
    assert asked(client, "twice", what).decode() == answer
    assert asked(client, "twice", "raised").decode() == raised


def test_senders_of_a_failed_batch_are_closed(client: http.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException, match="boom"):
        asked(client, "twice", "raise")
    closed = "Unable to send response. Response sender has been closed."
    assert asked(client, "twice", "raised").decode() == closed


def test_others_of_the_batch_are_told_who_answers_twice(
    client: http.InferenceServerClient,
) -> None:
    calls = [
        client.async_infer("twice_batched", tensors(what, rows=True))
        for what in ("send, return", "return")
    ]
    assert calls[0].get_result(timeout=20).as_numpy("OUTPUT0").tolist() == [b"first"]
    with pytest.raises(InferenceServerException) as raised:
        calls[1].get_result(timeout=20)
    assert raised.value.message() == (
        f"Failed to process the request(s) for model 'twice_batched_0_0', message: {SENT_TWICE}"
    )
