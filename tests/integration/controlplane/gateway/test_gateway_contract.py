"""Azure's scoring contract through a real Envoy: status codes, and the headers of every answer."""

import concurrent.futures
import dataclasses
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
import tritonclient.grpc as triton_grpc
from gateway_harness import KEY, Gateway, Upstream, deployment, digits, endpoint, wait_until

from controlplane.deployments.selectors import RoutedDeployment, RoutedReplica
from tests.support import onnx_models
from tests.support.runtime_process import runtime

Launch = Callable[[str], Upstream]
SLEEP = "/endpoints/digits/v2/models/sleep/infer"
SCORE = "/endpoints/digits/"
TIMING = r"auth;dur=(\d+e-3), route;dur=(\d+e-3), queue;dur=(\d+), upstream;dur=(\d+e-3)"
NAMED_ALIKE = ("a", "a-b", "a-", "a-bc", "A", "b", "a%2Fb")
GOOD_ID, LONGEST_ID = "caller-7_A", "x" * 40


@pytest.fixture
def blue(gateway: Gateway, upstreams: Launch) -> Upstream:
    upstream = upstreams("blue")
    gateway.apply(digits(deployment("blue", 100, upstream)))
    return upstream


def test_server_timing_says_where_the_time_went(gateway: Gateway, blue: Upstream) -> None:
    with gateway.client() as client:
        answer = client.post(SLEEP, headers={"x-sleep-ms": "60"})
        found = re.fullmatch(TIMING, answer.headers["server-timing"])
        assert found is not None, answer.headers
        auth, route, queue, upstream = map(float, found.groups())
        assert 60 <= upstream < 5000
        assert 0 <= auth <= route < 5000  # in whole microseconds, of which it may take none
        assert 0 <= queue <= route
        pinned = client.post(SLEEP, headers={"x-shoal-deployment": "no"})
        barred = client.post(SLEEP, headers={"Authorization": "Bearer no"})
        nowhere = client.get("/somewhere")
    assert [refused.status_code for refused in (pinned, barred, nowhere)] == [404, 401, 404]
    for refused in (pinned, barred, nowhere):
        assert re.fullmatch(r"auth;dur=\d+e-3", refused.headers["server-timing"])


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (GOOD_ID, GOOD_ID),
        (LONGEST_ID, LONGEST_ID),
        (LONGEST_ID + "x", None),
        ("a b", None),
        ("a\u00e4", None),
        ("", None),
        (None, None),
    ],
)
def test_the_callers_own_id_comes_back_if_it_is_one(
    gateway: Gateway, blue: Upstream, sent: str | None, told: str | None
) -> None:
    headers = {} if sent is None else {"x-ms-client-request-id": sent.encode("latin-1")}
    for key in (KEY, "wrong"):
        with gateway.client(key) as client:
            answer = client.get("/endpoints/digits/v2/health/ready", headers=headers)
        assert answer.status_code == (200 if key == KEY else 401)
        assert answer.headers.get("x-ms-client-request-id") == told


def test_every_answer_has_an_id(gateway: Gateway, blue: Upstream) -> None:
    """A new one of ours each time, unless the caller brought one."""
    with gateway.client() as client:
        first, second = (client.get("/endpoints/digits/v2/health/ready") for _ in range(2))
        mine = {"x-request-id": "11111111-2222-4333-8444-555555555555"}
        third = client.get("/endpoints/digits/v2/health/ready", headers=mine)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    assert third.headers["x-request-id"] == mine["x-request-id"]


@pytest.mark.parametrize(("limit", "sent", "passed"), [(2, 9, 4), (1, 5, 2), (None, 60, 60)])
def test_twice_what_the_replicas_work_on_passes_and_the_rest_is_429(
    gateway: Gateway, upstreams: Launch, limit: int | None, sent: int, passed: int
) -> None:
    limited = dataclasses.replace(
        deployment("blue", 100, upstreams("blue")), max_concurrent_requests=limit
    )
    gateway.apply(digits(limited))
    statuses, refusals = _at_once(gateway, sent)
    assert statuses == Counter({200: passed, 429: sent - passed}) - Counter()
    for refusal in refusals:
        assert "Too many requests" in refusal.json()["error"]
        assert refusal.headers["retry-after"] == "1"
        assert refusal.headers["azureml-model-deployment"] == "blue"
    # those that were let in are done: there is room again
    with gateway.client() as client:
        assert client.post(SLEEP).status_code == 200


def _at_once(gateway: Gateway, sent: int) -> tuple[Counter[int], list[httpx.Response]]:
    def call(_: int) -> httpx.Response:
        with gateway.client() as client:
            return client.post(SLEEP, headers={"x-sleep-ms": "1500"})

    with concurrent.futures.ThreadPoolExecutor(sent) as pool:
        answers = list(pool.map(call, range(sent)))
    return (
        Counter(answer.status_code for answer in answers),
        [answer for answer in answers if answer.status_code == 429],
    )


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contract") / "models"
    onnx_models.save(folder, "sums", onnx_models.add_sub())
    return folder


@pytest.fixture
def served(gateway: Gateway, repository: Path) -> Iterator[RoutedDeployment]:
    """A real runtime with one model behind the endpoint."""
    with runtime(repository) as started:
        replica = RoutedReplica("r", "127.0.0.1", started.http_port, started.grpc_port, False)
        found = RoutedDeployment("blue", 100, 0, 5000, True, (replica,))
        gateway.apply(digits(found))
        with gateway.client() as client:
            wait_until(
                lambda: client.get("/endpoints/digits/v2/health/ready").status_code == 200,
                "the runtime is reached",
            )
        yield found


def _body(*data: int) -> dict[str, object]:
    inputs = [
        {"name": name, "datatype": "INT32", "shape": [1, len(data)], "data": list(data)}
        for name in ("INPUT0", "INPUT1")
    ]
    return {"inputs": inputs}


@pytest.mark.parametrize("path", [SCORE, "/endpoints/digits", "/endpoints/digits/score"])
def test_the_only_model_scores_json_at_the_scoring_uri(
    gateway: Gateway, served: RoutedDeployment, path: str
) -> None:
    with gateway.client() as client:
        answer = client.post(
            path, json=_body(*range(16)), headers={"azureml-model-deployment": "blue"}
        )
    assert answer.status_code == 200, answer.text
    sums = next(out for out in answer.json()["outputs"] if out["name"] == "OUTPUT0")
    assert sums["data"] == [2 * number for number in range(16)]
    assert answer.headers["azureml-model-deployment"] == "blue"


def test_a_model_that_refuses_is_424_at_score_and_itself_below_v2(
    gateway: Gateway, served: RoutedDeployment
) -> None:
    wrong = json.dumps(_body(1, 2, 3))
    with gateway.client() as client:
        scored = client.post(SCORE, content=wrong)
        plain = client.post("/endpoints/digits/v2/models/sums/infer", content=wrong)
    assert (scored.status_code, plain.status_code) == (424, 400)
    assert scored.headers["ms-azureml-model-error-statuscode"] == "400"
    assert scored.headers["ms-azureml-model-error-reason"] == "bad_request"
    assert scored.json() == plain.json()
    assert "ms-azureml-model-error-statuscode" not in plain.headers


def test_names_that_begin_alike_are_told_apart(gateway: Gateway, upstreams: Launch) -> None:
    one, other = upstreams("one"), upstreams("other")
    gateway.apply(
        endpoint("a", deployment("blue", 100, one), keys=(KEY,)),
        endpoint("a-b", deployment("blue", 100, other), keys=(KEY,)),
    )
    with gateway.client() as client:
        seen = {
            name: client.get(f"/endpoints/{name}/v2/models/m?x=/endpoints/a")
            for name in NAMED_ALIKE
        }
        scored = client.post("/endpoints/a-b?x=1", json={})
    assert seen["a"].json()["replica"] == "one"
    assert seen["a-b"].json()["replica"] == scored.json()["replica"] == "other"
    for name in ("a-", "a-bc", "A", "b", "a%2Fb"):
        assert seen[name].status_code == 404, name
        assert "No such endpoint" in seen[name].json()["error"], name
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
        for name, replica in (("a", "one"), ("a-b", "other")):
            metadata = {"authorization": f"Bearer {KEY}", "x-shoal-endpoint": name}
            assert client.get_server_metadata(headers=metadata).name == replica
