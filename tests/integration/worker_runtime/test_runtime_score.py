"""``/score``: JSON for the only model, with the statuses that users of Azure ML know."""

from pathlib import Path

import httpx
import pytest

from tests.support import onnx_models as om
from tests.support.runtime_process import runtime

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
