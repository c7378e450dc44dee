"""Azure ML's scoring scripts, served by the runtime alone: ``init()``, ``run()``, ``/score``."""

import gzip
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from shoal.sdk.scoring_files import model_package
from tests.support import scoring_models as sm
from tests.support.runtime_process import Runtime, runtime
from wire.scoring import batching_of

PLAIN = """
import json, logging, os, time
import numpy as np
import helper


def init():
    global factor
    folder = os.getenv("AZUREML_MODEL_DIR")
    with open(os.path.join(folder, "weights", "factor.txt")) as file:
        factor = int(file.read())
    with open("labels.txt") as file:
        logging.info("labels %s", file.read())


def run(raw_data, request_headers):
    data = json.loads(raw_data)
    kind = data.get("kind")
    if kind == "raises":
        raise KeyError("no column age")
    if kind == "sleeps":
        while True: time.sleep(0.01)
    if kind == "stubborn":
        while True:
            try: time.sleep(60)
            except Exception: pass
    if kind == "array":
        return np.arange(3)
    if kind == "headers":
        return request_headers.get("X-Asked")
    if kind == "nothing":
        return None
    return {"result": [helper.doubled(x) * factor for x in data["data"]]}
"""
RAW = """
from azureml.contrib.services.aml_request import AMLRequest, rawhttp
from azureml.contrib.services.aml_response import AMLResponse


def init():
    pass


@rawhttp
def run(request: AMLRequest):
    if request.method == "GET":
        return {"path": request.full_path, "a": request.args.getlist("a")}
    if request.files:
        return {f.filename: len(f.read()) for f in request.files.getlist("file[]")}
    if request.args.get("status"):
        return AMLResponse("not today", int(request.args["status"]), {"X-Why": "rain"})
    answer = AMLResponse(request.get_data()[::-1], 200, {"Content-Length": "1"})
    answer.mimetype = "image/png"
    answer.headers["X-Injected"] = "a\\r\\nX-Evil: b"
    return answer
"""
BROKEN = "import nowhere_to_be_found\n\n\ndef init(): pass\n\n\ndef run(data): pass\n"
FAILING = (
    "def init():\n    weights = {}\n    weights['layer1']\n\n\ndef run(data):\n    return data\n"
)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("scoring") / "models"
    sm.add(
        root,
        "plain",
        PLAIN,
        files={
            "azureml-app/helper.py": b"def doubled(x):\n    return 2 * x\n",
            "azureml-app/labels.txt": b"cat",
            "azureml-models/weights/factor.txt": b"5",
        },
        SCORING_TIMEOUT_MS="300",
    )
    sm.add(root, "broken", BROKEN)
    sm.add(root, "failing", FAILING)
    sm.add(root, "waiting", FAILING, AZUREML_ENTRY_SCRIPT="")
    sm.add(root, "elsewhere", FAILING, AZUREML_ENTRY_SCRIPT="../../plain/1/azureml-app/score.py")
    with runtime(root, "--exit-on-error=false", "--strict-readiness=false") as found:
        yield found


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("raw") / "models"
    sm.add(root, "raw", RAW)
    with runtime(root) as found:
        yield found


def score(found: Runtime, body: object, **options: object) -> tuple[int, dict[str, str], str]:
    status, headers, text = found.call("score", json.dumps(body).encode(), **options)  # type: ignore[arg-type]
    return status, headers, text.decode()


def test_a_body_goes_to_run_and_its_json_comes_back(plain: Runtime) -> None:
    status, headers, text = score(plain, {"data": [1, 2]})
    assert (status, json.loads(text)) == (200, {"result": [10, 20]})
    assert headers["content-type"] == "application/json"
    assert float(headers["x-ms-run-fn-exec-ms"]) >= 0
    assert "labels cat" in plain.log.read_text()
    status, _, text = score(plain, {"kind": "headers"}, headers={"X-Asked": "yes"})
    assert (status, json.loads(text)) == (200, "yes")
    assert score(plain, {"kind": "nothing"})[::2] == (200, "{}")


def test_get_and_options_are_answered_as_azures_server_does(plain: Runtime) -> None:
    status, _, text = plain.call("score?data=[1]&kind=b")
    assert (status, json.loads(text)) == (200, {"result": [10]})
    assert plain.call("score", method="OPTIONS")[::2] == (200, b"")
    assert plain.call("score", b"", method="PUT")[0] == 405


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("raises", ("KeyError: 'no column age'", "azureml-app/score.py(20): run")),
        ("array", ("run() returned ndarray, which is no JSON", "score.py(16)", "tolist()")),
        ("sleeps", ("ScoringTimeout: run() took longer than 300 ms", "score.py(22): run")),
    ],
)
def test_what_run_does_wrong_is_424_with_the_line(
    plain: Runtime, kind: str, words: tuple[str, ...]
) -> None:
    status, headers, text = score(plain, {"kind": kind})
    assert status == 424
    assert headers["ms-azureml-model-error-statuscode"] == "500"
    said = json.loads(text)["error"]
    assert all(word in said for word in words), said
    assert score(plain, {"data": [1]})[0] == 200  # and it goes on


def test_a_run_lasts_no_longer_than_the_gateway_waits(plain: Runtime) -> None:
    headers = {"x-envoy-expected-rq-timeout-ms": "40"}
    assert "longer than 40 ms" in score(plain, {"kind": "sleeps"}, headers=headers)[2]


def test_a_run_that_nothing_interrupts_costs_its_process_and_no_more(plain: Runtime) -> None:
    status, _, text = score(plain, {"kind": "stubborn"})
    assert status == 424
    said = json.loads(text)["error"]
    assert "exited with code 1" in said
    assert 'score.py", line 25 in run' in said
    assert score(plain, {"data": [1]})[0] == 200


def test_a_compressed_body_is_plain_for_the_script(plain: Runtime) -> None:
    body = gzip.compress(b'{"data": [1]}')
    status, _, text = plain.call("score", body, headers={"Content-Encoding": "gzip"})
    assert (status, json.loads(text)) == (200, {"result": [10]})
    body = gzip.compress(b'{"kind": "headers"}')
    headers = {"Content-Encoding": "gzip", "X-Asked": "yes"}
    assert json.loads(plain.call("score", body, headers=headers)[2]) == "yes"


def test_a_body_that_is_no_text_is_the_callers_fault(plain: Runtime) -> None:
    status, headers, text = plain.call("score", b"\xff\xfe")
    assert (status, headers["ms-azureml-model-error-statuscode"]) == (424, "400")
    assert "no UTF-8 text" in json.loads(text)["message"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("broken", ("ModuleNotFoundError: No module named 'nowhere_to_be_found'", "score.py(1)")),
        ("failing", ("KeyError: 'layer1'", "azureml-app/score.py(3): init")),
        ("waiting", ("files for a scoring script", "code_configuration")),
        ("elsewhere", ("AZUREML_ENTRY_SCRIPT", "expected a file of the model's version")),
    ],
)
def test_a_script_that_cannot_start_says_where(
    plain: Runtime, model: str, words: tuple[str, ...]
) -> None:
    _, rows = plain.json("v2/repository/index", {}, method="POST")
    (row,) = [row for row in rows if row["name"] == model]
    assert row["state"] == "UNAVAILABLE"
    assert all(word in row["reason"] for word in words), row


def test_kserve_reaches_the_script_too(plain: Runtime) -> None:
    with triton.InferenceServerClient(plain.http) as client:
        asked = triton.InferInput("REQUEST", [1], "BYTES")
        asked.set_data_from_numpy(sm.text('{"data": [3]}'))
        answer = client.infer("plain", [asked])
    assert json.loads(answer.as_numpy("RESPONSE")[0]) == {"result": [30]}


def test_rawhttp_has_the_request_and_gives_the_response(raw: Runtime) -> None:
    status, headers, body = raw.call("score", b"\x00abc")
    assert (status, body, headers["content-type"]) == (200, b"cba\x00", "image/png")
    assert headers["x-injected"] == "aX-Evil: b"
    assert headers["content-length"] == "4"
    status, _, body = raw.call("score?a=1&a=2")
    assert json.loads(body) == {"path": "/score?a=1&a=2", "a": ["1", "2"]}
    with httpx.Client(base_url=f"http://{raw.http}") as client:
        files = [("file[]", ("a.bin", b"\r\n--x\r\n\x00")), ("file[]", ("b.bin", b""))]
        assert client.post("/score", files=files).json() == {"a.bin": 8, "b.bin": 0}


@pytest.mark.parametrize(("status", "reason"), [("400", "bad_request"), ("799", "")])
def test_another_status_of_a_script_is_424_with_what_it_said(
    raw: Runtime, status: str, reason: str
) -> None:
    code, headers, body = raw.call(f"score?status={status}", b"x")
    assert (code, body, headers["x-why"]) == (424, b"not today", "rain")
    assert headers["ms-azureml-model-error-statuscode"] == status
    assert headers["ms-azureml-model-error-reason"] == reason


def test_a_script_has_a_swagger_document(raw: Runtime) -> None:
    status, headers, text = raw.call("swagger.json")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(text)["swagger"] == "2.0"
    assert json.loads(raw.call("swagger.json?version=3.1")[2])["openapi"] == "3.1.0"
    status, headers, text = raw.call("swagger.json?version=9")
    assert (status, headers["ms-azureml-model-error-statuscode"]) == (424, "404")
    assert raw.call("swagger.json", b"{}")[0] == 405


BATCHED = """
import json, os
from shoal.scoring import batched


def init():
    pass


@batched(max_batch_size=3, max_queue_delay_ms=10_000)
def run(bodies):
    return [{"said": json.loads(body), "together": len(bodies)} for body in bodies]
"""


def test_a_batched_script_gets_what_came_in_one_moment(tmp_path: Path) -> None:
    """Three fill the batch, so that nobody waits for the delay."""
    sm.add(tmp_path / "models", "only", BATCHED, batching=batching_of(BATCHED))
    with runtime(tmp_path / "models") as found, ThreadPoolExecutor(3) as threads:
        assert found.json("v2/models/only/config")[1]["max_batch_size"] == 3
        answers = list(threads.map(lambda n: score(found, n), range(3)))
        assert [status for status, *_ in answers] == [200, 200, 200]
        assert [json.loads(text) for *_, text in answers] == [
            {"said": n, "together": 3} for n in range(3)
        ]
        statistics = found.json("v2/models/only/stats")[1]["model_stats"][0]
        assert (statistics["inference_count"], statistics["execution_count"]) == (3, 1)
        with triton.InferenceServerClient(found.http) as client:
            rows = triton.InferInput("REQUEST", [3, 1], "BYTES")
            rows.set_data_from_numpy(np.array([[b"1"], [b"2"], [b"3"]], np.object_))
            head = triton.InferRequestedOutput("RESPONSE_HEAD")
            answer = client.infer("only", [rows], outputs=[head]).as_numpy("RESPONSE_HEAD")
            assert json.loads(answer[0][0])["status"] == 400, "a request has one body"


FLOW = """
import types
import numpy as np


def load_model(path):
    spec = types.SimpleNamespace(name=None, required=True)
    schema = types.SimpleNamespace(
        inputs=[spec], is_tensor_spec=lambda: True, input_names=lambda: [0],
        numpy_types=lambda: [np.dtype("float32")])
    about = types.SimpleNamespace(
        get_input_schema=lambda: schema, get_output_schema=lambda: schema)
    return types.SimpleNamespace(metadata=about, predict=lambda data: data.sum(axis=1))
"""
MLMODEL = """
flavors: {python_function: {}}
signature:
  inputs: '[{"type": "tensor", "tensor-spec": {"dtype": "float32", "shape": [-1, 2]}}]'
  outputs: '[{"type": "tensor", "tensor-spec": {"dtype": "float32", "shape": [-1]}}]'
"""


def test_a_model_of_mlflow_takes_typed_tensors_and_its_json(tmp_path: Path) -> None:
    """As the client lays it out. MLflow is a stand-in, which lies beside MLmodel."""
    flow = tmp_path / "flow"
    (flow / "mlflow").mkdir(parents=True)
    (flow / "MLmodel").write_text(MLMODEL)
    (flow / "mlflow" / "__init__.py").touch()
    (flow / "mlflow" / "pyfunc.py").write_text(FLOW)
    with model_package(flow, None, may_wait=False) as package:
        for source, name in package.files:
            (tmp_path / "models" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, tmp_path / "models" / name)
    with runtime(tmp_path / "models") as found, triton.InferenceServerClient(found.http) as client:
        inputs = {
            item["name"]: item["datatype"] for item in client.get_model_metadata("flow")["inputs"]
        }
        assert inputs == {"REQUEST": "BYTES", "REQUEST_HEAD": "BYTES", "input-0": "FP32"}
        rows = triton.InferInput("input-0", [2, 2], "FP32")
        rows.set_data_from_numpy(np.array([[1, 2], [3, 4]], np.float32))
        assert client.infer("flow", [rows]).as_numpy("output-0").tolist() == [3.0, 7.0]
        json_asked = triton.InferRequestedOutput("RESPONSE")
        answer = client.infer("flow", [rows], outputs=[json_asked]).as_numpy("RESPONSE")
        assert json.loads(answer[0]) == [3.0, 7.0]
        assert score(found, {"inputs": [[1, 2]]})[::2] == (200, '{"predictions": [3.0]}')
        request = triton.InferInput("REQUEST", [1], "BYTES")
        request.set_data_from_numpy(sm.text('{"input_data": [[1, 2]]}'))
        assert json.loads(client.infer("flow", [request]).as_numpy("RESPONSE")[0]) == [3.0]
        with pytest.raises(InferenceServerException, match="expected REQUEST, or input-0"):
            client.infer("flow", [])
