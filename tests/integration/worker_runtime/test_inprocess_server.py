"""The server inside a program: same answers, same errors, no port."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.builtin_models import REPEAT
from worker_runtime import InferenceServer
from worker_runtime.config import UsageError
from worker_runtime.errors import InvalidArgument, LoadFailed, NotFound, Unavailable

ECHO = """
backend: "identity"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }
dynamic_batching { }
"""
TEXTS = """
backend: "identity"
input { name: "INPUT0" data_type: TYPE_STRING dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_STRING dims: [ -1 ] }
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    for name, config in (
        ("echo", ECHO),
        ("texts", TEXTS),
        ("guest", TEXTS),
        ("repeat", REPEAT),
    ):
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(config)
    return root


@pytest.fixture(scope="module")
def server(repository: Path) -> Iterator[InferenceServer]:
    with InferenceServer(repository, model_control_mode="explicit", load_model=["*"]) as running:
        yield running


def repeated(*values: int, delay_ms: int = 0) -> dict[str, np.ndarray]:
    return {
        "IN": np.array(values, np.int32),
        "DELAY": np.full(len(values), delay_ms, np.uint32),
        "WAIT": np.array([0], np.uint32),
    }


def test_arrays_in_arrays_out(server: InferenceServer) -> None:
    given = np.random.default_rng(0).random((2, 5), np.float32)
    assert np.array_equal(server.infer("echo", {"INPUT0": given})["OUTPUT0"], given)


def test_lists_and_texts_are_taken(server: InferenceServer) -> None:
    found = server.infer("texts", {"INPUT0": ["a", "ü"]})["OUTPUT0"]
    assert found.tolist() == [b"a", "ü".encode()]


def test_many_threads_of_requests_share_batches(server: InferenceServer) -> None:
    futures = [
        server.submit("echo", {"INPUT0": np.full((1, 3), i, np.float32)}) for i in range(200)
    ]
    assert [f.result().outputs["OUTPUT0"][0, 0] for f in futures] == list(range(200))
    (statistics,) = server.statistics("echo")
    assert statistics["execution_count"] < statistics["inference_count"]


def test_coroutines_may_call(server: InferenceServer) -> None:
    async def main() -> list[float]:
        calls = [
            server.infer_async("echo", {"INPUT0": np.full((1, 1), i, np.float32)})
            for i in range(10)
        ]
        return [float(found["OUTPUT0"][0, 0]) for found in await asyncio.gather(*calls)]

    assert asyncio.run(main()) == list(range(10))


def test_streams_give_answers_as_they_come(server: InferenceServer) -> None:
    found = [int(a.outputs["OUT"][0]) for a in server.stream("repeat", repeated(3, 1, 2))]
    assert found == [3, 1, 2]

    async def main() -> list[int]:
        stream = server.stream_async("repeat", repeated(4, 5))
        return [int(answer.outputs["OUT"][0]) async for answer in stream]

    assert asyncio.run(main()) == [4, 5]


def test_a_stream_may_be_left(server: InferenceServer) -> None:
    for answer in server.stream("repeat", repeated(*range(1000), delay_ms=5)):
        assert int(answer.outputs["OUT"][0]) == 0
        break
    assert server.ready("repeat")


@pytest.mark.parametrize(
    ("model", "inputs", "kind", "text"),
    [
        ("nope", {}, NotFound, "Request for unknown model: 'nope' is not found"),
        ("echo", {}, InvalidArgument, "expected 1 inputs but got 0 inputs for model 'echo'"),
        ("echo", {"INPUT0": np.zeros((9, 1), np.float32)}, InvalidArgument, "batch-size"),
        ("echo", {"INPUT0": np.zeros((1, 1), np.int8)}, InvalidArgument, "data-type is 'INT8'"),
        ("echo", {"INPUT0": np.zeros((1, 1), complex)}, InvalidArgument, "complex128"),
    ],
)
def test_errors_are_faults_with_the_clients_texts(
    server: InferenceServer,
    model: str,
    inputs: dict[str, np.ndarray],
    kind: type[Exception],
    text: str,
) -> None:
    with pytest.raises(kind, match=text):
        server.infer(model, inputs)


def test_models_come_and_go(server: InferenceServer) -> None:
    server.unload("guest")
    assert not server.ready("guest")
    with pytest.raises(NotFound, match="no available versions"):
        server.infer("guest", {"INPUT0": ["a"]})
    server.load("guest")
    assert server.ready("guest")
    assert server.metadata("guest")["inputs"][0]["datatype"] == "BYTES"
    assert server.config("guest")["backend"] == "identity"


def test_a_model_that_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    (tmp_path / "bad" / "1").mkdir(parents=True)
    (tmp_path / "bad" / "config.pbtxt").write_text('backend: "onnxruntime"')
    with pytest.raises(LoadFailed, match="bad"), InferenceServer(tmp_path):
        raise AssertionError("it must not start")
    with InferenceServer(tmp_path, exit_on_error=False) as lenient:
        assert not lenient.ready("bad")


def test_a_server_that_is_not_running_says_so(repository: Path) -> None:
    idle = InferenceServer(repository)
    assert not idle.ready()
    with pytest.raises(Unavailable, match="not running"):
        idle.infer("echo", {})
    with pytest.raises(UsageError, match="no-such-flag"):
        InferenceServer(repository, no_such_flag=1)
