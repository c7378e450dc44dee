"""Calls of other models from several executions at once: each gets what belongs to it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc
import tritonclient.http as http

from tests.support import python_models as pm
from tests.support.runtime_process import Runtime, runtime

AT_ONCE = 24
INSTANCES = "instance_group { count: 1 kind: KIND_CPU }\n"  # one more
# Gives INPUT0 back; what is negative is refused by its value.
PICKY = """
class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = request.inputs()[0].as_numpy()
            if x[0] < 0:
                error = pb_utils.TritonError(f"no {x[0]:.1f}", pb_utils.TritonError.INVALID_ARG)
                answers.append(pb_utils.InferenceResponse(error=error))
            else:
                answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", x)]))
        return answers
"""
# Calls with its own value in every way there is, all at once, and says what came back.
_CALLS = """
import asyncio
import threading


def told(answer):
    if answer.has_error():
        return answer.error().message()
    return f"{answer.output_tensors()[0].as_numpy()[0]:.1f}"


class Caller:
    def call(self, request, model, *values):
        kind = np.int32 if model == "count" else np.float32
        return pb_utils.InferenceRequest(
            model_name=model,
            requested_output_names=["OUTPUT0"],
            inputs=[pb_utils.Tensor("INPUT0", np.array(values, kind))],
            trace=request.trace(),
        )

    def value(self, request):
        return float(request.inputs()[0].as_numpy()[0])

    def answer(self, found):
        text = np.array([" ".join(found).encode()], object)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", text)])
"""
COROUTINES = (
    _CALLS
    + """
class TritonPythonModel(Caller):
    async def execute(self, requests):
        for request in requests:
            found = await asyncio.gather(
                *(self.one(request, sign * self.value(request)) for sign in (1, -1)),
                self.counted(request, int(self.value(request))),
            )
            request.get_response_sender().send(self.answer(found), 1)

    async def one(self, request, value):
        return told(await self.call(request, "picky", value).async_exec())

    async def counted(self, request, count):
        call = self.call(request, "count", 2 * count + 1, 1)
        answers = await call.async_exec(decoupled=True)
        seen = 0
        async for answer in answers:
            seen += bool(answer.output_tensors())
            if seen == count:
                answers.cancel()
                break
        return str(seen)
"""
)
THREADS = (
    _CALLS
    + """
class TritonPythonModel(Caller):
    def execute(self, requests):
        return [self.all(request) for request in requests]

    def all(self, request):
        found = {}
        threads = [
            threading.Thread(target=self.one, args=(request, sign * self.value(request), found))
            for sign in (1, -1)
        ]
        for thread in threads:
            thread.start()
        call = self.call(request, "count", int(self.value(request)), 0)
        seen = sum(bool(answer.output_tensors()) for answer in call.exec(decoupled=True))
        for thread in threads:
            thread.join()
        return self.answer([found[1], found[-1], str(seen)])

    def one(self, request, value, found):
        found[1 if value > 0 else -1] = told(self.call(request, "picky", value).exec())
"""
)
# Answers when somebody opens the pipe.
WAITS = """
import os


class TritonPythonModel:
    def initialize(self, args):
        self.pipe = os.path.join(args["model_repository"], "pipe")

    def execute(self, requests):
        with open(self.pipe) as pipe:
            pipe.read()
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())])
            for r in requests
        ]
"""
# 0: calls what waits, and does not; 1: answers with its process.
IMPATIENT = """
import asyncio
import os


class TritonPythonModel:
    def execute(self, requests):
        return [self.one(request) for request in requests]

    def one(self, request):
        found = os.getpid()
        if request.inputs()[0].as_numpy()[0] == 0:
            try:
                asyncio.run(asyncio.wait_for(self.call(request), 0.01))
                found = -1
            except asyncio.TimeoutError:
                pass
        tensor = pb_utils.Tensor("OUTPUT0", np.array([found], np.float32))
        return pb_utils.InferenceResponse([tensor])

    async def call(self, request):
        call = pb_utils.InferenceRequest(
            model_name="waits", requested_output_names=["OUTPUT0"], inputs=request.inputs()
        )
        return await call.async_exec()
"""
# Three answers of a megabyte.
LARGE = """
class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            for last in (0, 0, 1):
                found = pb_utils.Tensor("OUTPUT0", np.zeros(1 << 18, np.float32))
                sender.send(pb_utils.InferenceResponse([found]), last)
"""
# Takes the first of them, again and again.
LEAVES = """
class TritonPythonModel:
    def execute(self, requests):
        for _ in range(20):
            call = pb_utils.InferenceRequest(
                model_name="large",
                requested_output_names=["OUTPUT0"],
                inputs=requests[0].inputs(),
            )
            answer = next(iter(call.exec(decoupled=True)))
            if answer.has_error():
                return [pb_utils.InferenceResponse(error=answer.error()) for _ in requests]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", r.inputs()[0].as_numpy())])
            for r in requests
        ]
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("python-calls") / "models"
    decoupled = "model_transaction_policy { decoupled: true }\n"
    pm.add(root, "picky", PICKY, config=INSTANCES)
    pm.add(
        root, "count", pm.COUNT, inputs="INPUT0:INT32:2", outputs="OUTPUT0:INT32:1",
        config=decoupled,
    )  # fmt: skip
    text = "OUTPUT0:STRING:1"
    pm.add(root, "coroutines", COROUTINES, outputs=text, config=decoupled + INSTANCES)
    pm.add(root, "threads", THREADS, outputs=text, config=INSTANCES)
    os.mkfifo(pm.add(root, "waits", WAITS) / "pipe")
    pm.add(root, "impatient", IMPATIENT)
    limit = 'parameters { key: "SHARED_MEMORY_LIMIT_MB" value { string_value: "16" } }'
    pm.add(root, "large", LARGE, config=decoupled)
    pm.add(root, "leaves", LEAVES, config=limit)
    return root


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Runtime]:
    with runtime(models) as found:
        yield found


@pytest.fixture
def client(server: Runtime) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(server.http, network_timeout=30) as found:
        yield found


def all_at_once(server: Runtime, model: str) -> dict[str, str]:
    answers: SimpleQueue[Any] = SimpleQueue()
    with grpc.InferenceServerClient(server.grpc) as client:
        client.start_stream(lambda result, error: answers.put((result, error)))
        for value in range(1, AT_ONCE + 1):
            given = grpc.InferInput("INPUT0", [1], "FP32")
            given.set_data_from_numpy(np.array([value], np.float32))
            client.async_stream_infer(model, [given], request_id=str(value))
        found = {}
        for _ in range(AT_ONCE):
            result, error = answers.get(timeout=30)
            assert error is None, str(error)
            found[result.get_response().id] = result.as_numpy("OUTPUT0")[0].decode()
        client.stop_stream()
    return found


@pytest.mark.parametrize("model", ["coroutines", "threads"])
def test_each_execution_gets_its_own_answers_and_errors(server: Runtime, model: str) -> None:
    assert all_at_once(server, model) == {
        str(value): f"{value}.0 no -{value}.0 {value}" for value in range(1, AT_ONCE + 1)
    }


def test_each_call_is_a_child_of_its_own_request(models: Path, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    tracing = f"triton,file={file}", "rate=1", "level=TIMESTAMPS", "level=TENSORS"
    with runtime(models, *(f"--trace-config={item}" for item in tracing)) as server:
        all_at_once(server, "coroutines")
        assert server.stop() == 0
    parents: dict[int, int] = {}
    values: dict[int, float] = {}
    for item in json.loads(file.read_text()):
        if "parent_id" in item:
            parents[item["id"]] = item["parent_id"]
        if item.get("activity") == "TENSOR_QUEUE_INPUT":
            values[item["id"]] = abs(float(item["tensor"]["data"].split(",")[0]))
    assert len(parents) == 3 * AT_ONCE
    called = sorted((values[parent], values[child]) for child, parent in parents.items())
    assert called == sorted(
        (value, seen) for value in range(1, AT_ONCE + 1) for seen in (value, value, 2 * value + 1)
    )


def asked(client: http.InferenceServerClient, model: str, value: float) -> float:
    given = http.InferInput("INPUT0", [1], "FP32")
    given.set_data_from_numpy(np.array([value], np.float32))
    return float(client.infer(model, [given]).as_numpy("OUTPUT0")[0])


def test_an_answer_that_comes_too_late_hurts_nobody(
    client: http.InferenceServerClient, models: Path
) -> None:
    process = asked(client, "impatient", 1)
    for _ in range(2):
        assert asked(client, "impatient", 0) == process
        with (models / "waits" / "pipe").open("w"):
            pass
        assert asked(client, "impatient", 1) == process


def test_answers_that_nobody_took_give_their_memory_back(
    client: http.InferenceServerClient,
) -> None:
    assert asked(client, "leaves", 1) == 1
