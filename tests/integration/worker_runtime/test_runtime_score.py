"""``/score``: JSON for the only model, with the statuses that users of Azure ML know."""

import gzip
import json
from pathlib import Path

import httpx
import pytest

from tests.support import onnx_models as om
from tests.support import python_models as pm
from tests.support.runtime_process import runtime, wait_until

GOOD = {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}


def test_what_the_model_refuses_is_424_with_its_own_status(tmp_path: Path) -> None:
    om.save(tmp_path, "only", om.identity(om.FP32, "N", 4), "max_batch_size: 4\n")
    with runtime(tmp_path) as found, httpx.Client(base_url=f"http://{found.http}") as client:
        answer = client.post("/score", json=GOOD)
        assert answer.status_code == 200
        assert answer.json()["outputs"][0]["data"] == [1, 2, 3, 4]
        for path in ("/score", "/score?x=1"):
            refused = client.post(path, json={"inputs": []})
            assert refused.status_code == 424
            assert refused.headers["ms-azureml-model-error-statuscode"] == "400"
            assert refused.headers["ms-azureml-model-error-reason"] == "bad_request"
            assert "error" in refused.json()
        same = client.post("/v2/models/only/infer", json={"inputs": []})
        assert same.status_code == 400
        assert "ms-azureml-model-error-statuscode" not in same.headers


@pytest.mark.parametrize("count", [0, 2])
def test_score_needs_exactly_one_model(tmp_path: Path, count: int) -> None:
    for number in range(count):
        om.save(tmp_path, f"m{number}", om.identity(om.FP32, "N", 4), "max_batch_size: 4\n")
    with runtime(tmp_path) as found, httpx.Client(base_url=f"http://{found.http}") as client:
        assert client.post("/score", json=GOOD).status_code == 424


ROWS = {"dataframe_split": {"columns": ["a", "b"], "data": [[n, -n] for n in range(50)]}}


@pytest.mark.parametrize("arguments", [(), ("--frontends=1",)])
def test_rows_as_mlflow_and_azure_send_them(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """As many as there are, although the model takes four at a time."""
    om.save(tmp_path, "only", om.identity(om.FP32, "N", 2), "max_batch_size: 4\n")
    with (
        runtime(tmp_path, *arguments) as found,
        httpx.Client(base_url=f"http://{found.http}") as client,
    ):
        answer = client.post("/score", json=ROWS)
        assert answer.status_code == 200, answer.text
        rows = [[float(n), float(-n)] for n in range(50)]
        assert answer.json() == {"predictions": [{"y": row} for row in rows]}
        azure = client.post("/score", json={"input_data": [[1, 2]]})
        assert azure.json() == [{"y": [1.0, 2.0]}]
        table = client.post("/score", content="a,b\n1,2\n", headers={"Content-Type": "text/csv"})
        assert table.json() == {"predictions": [{"y": [1.0, 2.0]}]}
        packed = gzip.compress(b'{"inputs": {"x": [[1, 2]]}}')
        packed_answer = client.post("/score", content=packed, headers={"Content-Encoding": "gzip"})
        assert packed_answer.json() == {"predictions": {"y": [[1.0, 2.0]]}}
        large = [[n, n] for n in range(30_000)]
        assert client.post("/score", json={"instances": large}).json()["predictions"]["y"] == large
        statistics = client.get("/v2/models/only/stats").json()["model_stats"][0]
        assert statistics["inference_count"] == 50 + 1 + 1 + 1 + 30_000
        for wrong, words in (
            ({"inputs": [["a", "b"]]}, "'x': not all values are FP32"),
            ({"inputs": [[1, 2, 3]]}, "unexpected shape for input 'x'"),
            ({"dataframe_split": {"columns": [], "data": []}}, "expected as many rows"),
        ):
            refused = client.post("/score", json=wrong)
            assert refused.status_code == 424
            assert refused.headers["ms-azureml-model-error-statuscode"] == "400"
            assert words in refused.json()["error"]


def test_answers_have_the_shapes_of_the_models_file(tmp_path: Path) -> None:
    """The configuration of a batch of numbers has an axis more, which MLflow knows nothing of."""
    om.save(tmp_path, "only", om.identity(om.FP32, "N"), "max_batch_size: 2\n")
    with runtime(tmp_path) as found:
        assert found.json("v2/models/only")[1]["outputs"][0]["shape"] == [-1, 1]
        answer = found.json("score", {"inputs": [1, 2, 3]})
    assert answer == (200, {"predictions": {"y": [1.0, 2.0, 3.0]}})


UNEVEN = """
import numpy as np


class TritonPythonModel:
    def execute(self, requests):
        counts = [int(request.inputs()[0].as_numpy()[0, 0]) for request in requests]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("y", np.zeros((1, count), np.float32))])
            for count in counts
        ]
"""


def test_answers_that_do_not_go_together_are_told(tmp_path: Path) -> None:
    """Nobody waits for them: neither at the end of the rows nor where some are joined before."""
    one = "max_batch_size: 1\n"
    pm.add(tmp_path, "only", UNEVEN, inputs="x:FP32:1", outputs="y:FP32:-1", config=one)
    with runtime(tmp_path) as found:
        for rows in ([[1], [2]], [[1]] * 300 + [[2]], [[2]] + [[1]] * 300):
            status, answer = found.json("score", {"instances": rows})
            assert status == 424
            assert "the outputs of model 'only' do not go together" in answer["error"]
            assert "ask for 1 rows at a time" in answer["error"]
        assert found.json("score", {"instances": [[2]] * 600})[0] == 200


GATED = """
import os, time
HERE = os.path.dirname(__file__)


class TritonPythonModel:
    def execute(self, requests):
        with open(os.path.join(HERE, "calls"), "a") as calls:
            calls.write("x" * len(requests))
        while not os.path.exists(os.path.join(HERE, "go")):
            time.sleep(0.01)
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("y", request.inputs()[0].as_numpy())])
            for request in requests
        ]
"""


def test_who_leaves_in_the_middle_of_many_rows_leaves_nothing_behind(tmp_path: Path) -> None:
    batching = "max_batch_size: 1\n"
    folder = pm.add(tmp_path, "slow", GATED, inputs="x:FP32:1", outputs="y:FP32:1", config=batching)
    calls = folder / "1" / "calls"
    with runtime(tmp_path) as found:
        body = json.dumps({"inputs": [[1.0]] * 1000}).encode()
        head = f"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with found.socket() as client:
            client.sendall(head + body)
            wait_until(calls.exists, "the first row is asked for")
        gone = 'shoal_in_flight_requests{protocol="http"} 0'
        wait_until(lambda: gone in found.metrics(), "the runtime sees that the client has gone")
        (folder / "1" / "go").touch()
        tensor = {"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [2.0]}
        assert found.json("v2/models/slow/infer", {"inputs": [tensor]})[0] == 200
        # this one, the row that was being computed, and the one that was handed over meanwhile
        assert len(calls.read_text()) <= 3
