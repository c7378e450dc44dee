"""What callers see of a real Envoy: paths, keys, splits, pins, refusals, and replicas that die."""

import concurrent.futures
import dataclasses
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from gateway_harness import (
    KEY,
    OTHER_KEY,
    SECOND_KEY,
    Gateway,
    Upstream,
    deployment,
    digits,
    endpoint,
    wait_until,
)
from tritonclient.utils import InferenceServerException

Launch = Callable[[str], Upstream]
METADATA = {"x-shoal-endpoint": "digits", "authorization": f"Bearer {KEY}"}


@pytest.fixture
def blue(gateway: Gateway, upstreams: Launch) -> Upstream:
    upstream = upstreams("blue")
    gateway.apply(
        digits(deployment("blue", 100, upstream)),
        endpoint("other", deployment("blue", 100, upstream), keys=(OTHER_KEY,)),
    )
    return upstream


def test_the_endpoint_prefix_is_cut_and_the_key_stays_at_the_gateway(
    gateway: Gateway, blue: Upstream
) -> None:
    with gateway.client() as client:
        answer = client.get("/endpoints/digits/v2/models/m/versions/1/stats?x=1")
    seen = answer.json()
    assert answer.status_code == 200
    assert seen["path"] == "/v2/models/m/versions/1/stats?x=1"
    assert "authorization" not in seen["headers"]
    assert answer.headers["x-shoal-deployment"] == "blue"
    assert answer.headers["azureml-model-deployment"] == "blue"
    assert int(answer.headers["x-shoal-upstream-us"]) >= 0


def test_the_key_stays_at_the_gateway_in_copies_too(gateway: Gateway, upstreams: Launch) -> None:
    blue, green = upstreams("blue"), upstreams("green")
    copied = dataclasses.replace(deployment("green", 0, green), mirror_percent=100)
    gateway.apply(digits(deployment("blue", 100, blue), copied))

    def seen() -> list[str]:
        url = f"http://127.0.0.1:{green.http_port}/v2"
        return list(httpx.get(url, trust_env=False).json()["inferred"])

    with gateway.client() as client:
        answer = client.post("/endpoints/digits/v2/models/m/infer", json={})
        assert answer.json()["replica"] == "blue"
    wait_until(lambda: bool(seen()), "the copy came")
    assert "authorization" not in seen()


@pytest.mark.parametrize("path", ["", "/", "/score", "/invocations"])
def test_score_and_the_scoring_uri_itself_reach_score(
    gateway: Gateway, blue: Upstream, path: str
) -> None:
    with gateway.client() as client:
        answer = client.post(f"/endpoints/digits{path}", json={})
        assert answer.json()["path"] == "/score"
        asked = client.get(f"/endpoints/digits{path}?x=1")
        assert asked.json()["path"] == "/score?x=1"
        assert client.options(f"/endpoints/digits{path}").status_code != 404
        assert client.put(f"/endpoints/digits{path}").status_code == 404


@pytest.mark.parametrize(
    ("key", "status"),
    [(KEY, 200), (SECOND_KEY, 200), (OTHER_KEY, 401), ("no", 401), (None, 401)],
)
def test_only_this_endpoints_keys_open_it(
    gateway: Gateway, blue: Upstream, key: str | None, status: int
) -> None:
    with gateway.client(key) as client:
        answer = client.get("/endpoints/digits/v2/health/ready")
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["content-type"] == "application/json"
        assert set(answer.json()) == {"error"}
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_stored_hash_is_not_a_key(gateway: Gateway, blue: Upstream) -> None:
    hashed = digits().keys[0].sha256
    with gateway.client(hashed) as client:
        assert client.get("/endpoints/digits/v2/health/ready").status_code == 401


def test_the_hash_is_right_for_keys_of_every_length(gateway: Gateway, upstreams: Launch) -> None:
    """Block borders of SHA-256 are at 55, 56 and 64 bytes."""
    blue = upstreams("blue")
    keys = ["x" * length for length in (1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 500)]
    gateway.apply(
        *(endpoint(f"e{len(key)}", deployment("blue", 100, blue), keys=(key,)) for key in keys)
    )
    for key in keys:
        with gateway.client(key) as client:
            assert client.get(f"/endpoints/e{len(key)}/v2/health/ready").status_code == 200, key


def test_no_clear_key_is_in_envoys_configuration(gateway: Gateway, blue: Upstream) -> None:
    written = [path.read_text() for path in gateway.settings.folder.rglob("*.json")]
    assert len(written) > 4
    assert not any(key in text for text in written for key in (KEY, SECOND_KEY, OTHER_KEY))


@pytest.mark.parametrize(
    "path",
    [
        "v2/repository/index",
        "v2/%72epository/index",
        "v2//repository/index",
        "v2/models/../repository/index",
        "v2/systemsharedmemory/status",
        "v2/cudasharedmemory/region/x/register",
        "v2/trace/setting",
        "v2/models/m/trace/setting",
        "v2/logging",
    ],
)
def test_management_is_not_reachable(gateway: Gateway, blue: Upstream, path: str) -> None:
    url = f"{gateway.plain}/endpoints/digits/{path}"
    with gateway.client() as client:
        request = client.build_request("POST", url)
        request.url = request.url.copy_with(raw_path=f"/endpoints/digits/{path}".encode())
        answer = client.send(request)
    assert answer.status_code == 403
    assert "manages the server" in answer.json()["error"]


def test_encoded_slashes_do_not_smuggle_a_path(gateway: Gateway, blue: Upstream) -> None:
    with gateway.client() as client:
        answer = client.get("/endpoints/digits/v2/models/x%2F..%2F..%2Frepository/index")
    assert answer.status_code == 404


def test_unknown_endpoints_deployments_and_paths_are_told_apart(
    gateway: Gateway, blue: Upstream
) -> None:
    with gateway.client() as client:
        nowhere = client.get("/endpoints/nope/v2/health/ready")
        nothing = client.get("/endpoints/digits/what")
        pin = {"x-shoal-deployment": "nope"}
        unpinned = client.get("/endpoints/digits/v2/health/ready", headers=pin)
    assert [answer.status_code for answer in (nowhere, nothing, unpinned)] == [404, 404, 404]
    assert "No such endpoint" in nowhere.json()["error"]
    assert "Nothing is here" in nothing.json()["error"]
    assert "no deployment of that name" in unpinned.json()["error"]


def test_an_endpoint_without_traffic_says_so_and_can_still_be_pinned(
    gateway: Gateway, upstreams: Launch
) -> None:
    gateway.apply(digits(deployment("blue", 0, upstreams("blue"))))
    with gateway.client() as client:
        answer = client.get("/endpoints/digits/v2/health/ready")
        pin = {"azureml-model-deployment": "blue"}
        pinned = client.get("/endpoints/digits/v2/health/ready", headers=pin)
    assert answer.status_code == 404
    assert "receives traffic" in answer.json()["error"]
    assert pinned.status_code == 200


def test_traffic_is_split_by_weight_and_both_pin_headers_win(
    gateway: Gateway, upstreams: Launch
) -> None:
    gateway.apply(
        digits(
            deployment("blue", 90, upstreams("blue")), deployment("green", 10, upstreams("green"))
        )
    )
    with gateway.client() as client:
        seen = Counter(
            client.get("/endpoints/digits/v2/health/ready").json()["replica"] for _ in range(600)
        )
        for header in ("x-shoal-deployment", "azureml-model-deployment"):
            pinned = {
                client.get("/endpoints/digits/v2", headers={header: "green"}).json()["replica"]
                for _ in range(20)
            }
            assert pinned == {"green"}
    # 600 draws at 10 %: 60 expected, standard deviation 7.3; six of them on either side.
    assert 16 <= seen["green"] <= 104
    assert seen["blue"] + seen["green"] == 600


def test_a_request_over_its_timeout_gets_408(gateway: Gateway, upstreams: Launch) -> None:
    gateway.apply(digits(deployment("blue", 100, upstreams("blue"), timeout_ms=150)))
    with gateway.client() as client:
        answer = client.post(
            "/endpoints/digits/v2/models/sleep/infer",
            headers={"x-sleep-ms": "3000", "x-envoy-upstream-rq-timeout-ms": "9000"},
        )
    assert answer.status_code == 408
    assert "request timeout" in answer.json()["error"]


def test_large_bodies_pass_unbuffered(gateway: Gateway, blue: Upstream) -> None:
    def chunks() -> object:
        for _ in range(48):
            yield b"x" * (1 << 20)

    with gateway.client() as client:
        answer = client.post("/endpoints/digits/v2/models/m/infer", content=chunks())
    assert answer.json()["received"] == 48 << 20


def test_stock_triton_clients_work_over_http_and_tls(gateway: Gateway, blue: Upstream) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    url = f"127.0.0.1:{gateway.settings.plain_port}/endpoints/digits"
    with triton_http.InferenceServerClient(url) as client:
        assert client.is_server_ready(headers=headers)
        with pytest.raises(InferenceServerException, match="No key"):
            client.get_server_metadata()
    secure = httpx.get(
        f"https://localhost:{gateway.settings.tls_port}/endpoints/digits/v2/health/ready",
        headers=headers,
        verify=ssl.create_default_context(cafile=gateway.ca),
        trust_env=False,
    )
    assert secure.status_code == 200


def test_stock_triton_clients_work_over_grpc(gateway: Gateway, blue: Upstream) -> None:
    values = np.arange(3_000_000, dtype=np.float32).reshape(1, -1)
    tensor = triton_grpc.InferInput("IN", values.shape, "FP32")
    tensor.set_data_from_numpy(values)
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
        result = client.infer("m", [tensor], headers=METADATA)
        assert np.array_equal(result.as_numpy("OUT"), values)
        assert list(client.get_server_metadata(headers=METADATA).extensions) == []
    target = f"localhost:{gateway.settings.tls_port}"
    with triton_grpc.InferenceServerClient(
        target, ssl=True, root_certificates=gateway.ca
    ) as client:
        assert client.is_server_live(headers=METADATA)


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({"x-shoal-endpoint": "digits"}, "UNAUTHENTICATED"),
        ({**METADATA, "authorization": "Bearer no"}, "UNAUTHENTICATED"),
        ({**METADATA, "x-shoal-endpoint": "nope"}, "NOT_FOUND"),
        ({**METADATA, "x-shoal-deployment": "nope"}, "NOT_FOUND"),
        ({}, "NOT_FOUND"),
    ],
)
def test_grpc_refusals_have_grpc_codes(
    gateway: Gateway, blue: Upstream, metadata: dict[str, str], code: str
) -> None:
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
        with pytest.raises(InferenceServerException) as raised:
            client.get_server_metadata(headers=metadata)
    assert raised.value.status() == f"StatusCode.{code}"
    assert not raised.value.message().startswith("{")


def test_grpc_management_is_refused(gateway: Gateway, blue: Upstream) -> None:
    with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
        with pytest.raises(InferenceServerException) as raised:
            client.get_model_repository_index(headers=METADATA)
    assert raised.value.status() == "StatusCode.PERMISSION_DENIED"


def test_grpc_streams_outlive_the_request_timeout(gateway: Gateway, upstreams: Launch) -> None:
    gateway.apply(digits(deployment("blue", 100, upstreams("blue"), timeout_ms=200)))
    tensor = triton_grpc.InferInput("IN", [1], "INT32")
    tensor.set_data_from_numpy(np.array([7], np.int32))
    arrived = threading.Semaphore(0)
    errors: list[Exception] = []

    def take(result: object, error: Exception | None) -> None:
        if error is not None:
            errors.append(error)
        arrived.release()

    with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
        client.start_stream(take, headers=METADATA)
        client.async_stream_infer("m", [tensor])
        assert arrived.acquire(timeout=10)
        threading.Event().wait(0.5)  # longer than the timeout: the stream must still be open
        client.async_stream_infer("m", [tensor])
        assert arrived.acquire(timeout=10)
        client.stop_stream()
    assert errors == []


class Load:
    """Requests from a few threads until told to stop; counts answers by status."""

    def __init__(self, gateway: Gateway, path: str = "/endpoints/digits/v2/models/m/infer") -> None:
        self.statuses: Counter[int] = Counter()
        self.seen: Counter[str] = Counter()
        self._stop = threading.Event()
        self._pool = concurrent.futures.ThreadPoolExecutor(4)
        self._runs = [self._pool.submit(self._run, gateway, path) for _ in range(4)]

    def _run(self, gateway: Gateway, path: str) -> None:
        with gateway.client() as client:
            while not self._stop.is_set():
                answer = client.post(path, content=b"x" * 1000)
                self.statuses[answer.status_code] += 1
                self.seen[answer.headers.get("x-shoal-deployment", "")] += 1

    def finish(self) -> Counter[int]:
        self._stop.set()
        for run in self._runs:
            run.result(30)
        self._pool.shutdown()
        return self.statuses


def test_weight_changes_and_cluster_swaps_under_load_lose_nothing(
    gateway: Gateway, upstreams: Launch
) -> None:
    blue, green = upstreams("blue"), upstreams("green")
    gateway.apply(digits(deployment("blue", 100, blue)))
    load = Load(gateway)
    for weight in (90, 50, 10, 0):
        gateway.apply(
            digits(deployment("blue", weight, blue), deployment("green", 100 - weight, green))
        )
        gateway.apply(digits(deployment("green", 100, green)))
        gateway.apply(digits(deployment("blue", 100, blue)))
    wait_until(lambda: load.statuses[200] > 300, "some load passed")
    statuses = load.finish()
    assert set(statuses) == {200}, statuses
    assert load.seen["green"] > 0


def test_a_killed_replica_costs_no_request_where_retries_are_on(
    gateway: Gateway, upstreams: Launch
) -> None:
    replicas = [upstreams(f"r{number}") for number in range(3)]
    gateway.apply(digits(deployment("blue", 100, *replicas)))
    load = Load(gateway)
    wait_until(lambda: load.statuses[200] > 200, "load runs")
    replicas[0].kill()
    before = load.statuses[200]
    wait_until(lambda: load.statuses[200] > before + 300, "load goes on")
    dead = f"127.0.0.1:{replicas[0].http_port}"
    wait_until(lambda: gateway.admin.host_health()[dead] is False, "the dead replica is noticed")
    statuses = load.finish()
    assert set(statuses) == {200}, statuses


def test_a_draining_replica_gets_nothing_new(gateway: Gateway, upstreams: Launch) -> None:
    stays, leaves = upstreams("stays"), upstreams("leaves")
    both = deployment("blue", 100, stays, leaves)
    gateway.apply(digits(both))
    draining = [stays.replica(), leaves.replica(draining=True)]
    gateway.apply(digits(type(both)("blue", 100, 0, 5000, True, tuple(draining))))
    with gateway.client() as client:
        # At once: what is applied is confirmed, and then the replica is stopped.
        seen = {client.get("/endpoints/digits/v2").json()["replica"] for _ in range(20)}
    assert seen == {"stays"}


def test_replicas_that_replace_others_take_over_at_once(
    gateway: Gateway, upstreams: Launch
) -> None:
    old, new = (upstreams("old-1"), upstreams("old-2")), (upstreams("new-1"), upstreams("new-2"))
    gateway.apply(digits(deployment("blue", 100, *old)))
    load = Load(gateway)
    wait_until(lambda: load.statuses[200] > 100, "load runs")
    leaving = [upstream.replica(draining=True) for upstream in old]
    blue = deployment("blue", 100, *new)
    replaced = dataclasses.replace(blue, replicas=(*leaving, *blue.replicas))
    gateway.apply(digits(replaced))
    with gateway.client() as client:
        seen = {client.get("/endpoints/digits/v2").json()["replica"] for _ in range(40)}
    for upstream in old:
        upstream.kill()
    before = load.statuses[200]
    wait_until(lambda: load.statuses[200] > before + 100, "load goes on")
    statuses = load.finish()
    assert seen == {"new-1", "new-2"}
    assert set(statuses) == {200}, statuses


def test_a_replica_that_only_says_it_is_ready_is_left_alone(
    gateway: Gateway, upstreams: Launch
) -> None:
    broken, sound = upstreams("broken"), upstreams("sound")
    gateway.apply(digits(deployment("blue", 100, broken, sound)))
    load = Load(gateway)
    dead = f"127.0.0.1:{broken.http_port}"
    wait_until(lambda: gateway.admin.host_health()[dead] is False, "it is ejected")
    statuses = load.finish()
    assert set(statuses) == {200}, statuses  # tried again at the other one meanwhile


def test_what_is_tried_again_reaches_another_replica_however_busy_that_one_is(
    gateway: Gateway, upstreams: Launch
) -> None:
    """The least busy replica is the one that breaks its requests: picked by that alone, it would
    be tried again and again until no try is left."""
    flaky, busy = upstreams("flaky"), upstreams("busy")
    one = deployment("blue", 100, busy, timeout_ms=60_000)
    gateway.apply(digits(one))
    slow = "/endpoints/digits/v2/models/sleep/infer"
    with gateway.client() as client, concurrent.futures.ThreadPoolExecutor(4) as pool:
        held = [
            pool.submit(client.post, slow, headers={"x-sleep-ms": "60000"}, timeout=60)
            for _ in range(4)
        ]
        wait_until(
            lambda: client.get("/endpoints/digits/v2").json()["asleep"] == 4, "one replica is busy"
        )
        gateway.apply(digits(deployment("blue", 100, flaky, busy, timeout_ms=60_000)))
        path = "/endpoints/digits/v2/models/m/infer"
        statuses = Counter(client.post(path, content=b"x").status_code for _ in range(400))
        flaky.kill()
        busy.kill()
    assert {each.result().status_code for each in held} == {503}  # they had been held all along
    assert statuses == {200: 400}


def test_with_no_replica_left_the_answer_is_503_in_json(
    gateway: Gateway, upstreams: Launch
) -> None:
    only = upstreams("only")
    gateway.apply(digits(deployment("blue", 100, only)))
    only.kill()
    with gateway.client() as client:
        answer = client.get("/endpoints/digits/v2/health/ready")
        assert answer.status_code == 503
        assert "replica" in answer.json()["error"]
        gateway.apply(digits(deployment("blue", 100)))
        wait_until(
            lambda: "healthy" in client.get("/endpoints/digits/v2").json()["error"],
            "a deployment without replicas says so",
        )


def test_endpoints_take_no_inotify_instance_each(gateway: Gateway, upstreams: Launch) -> None:
    """Users have 128 by default; an Envoy that gets none ends."""

    def instances() -> int:
        links = Path(f"/proc/{gateway.process.pid}/fd").iterdir()
        return sum(link.readlink().name == "anon_inode:inotify" for link in links)

    blue = deployment("blue", 100, upstreams("blue"))
    gateway.apply(digits(blue))
    before = instances()
    gateway.apply(*(endpoint(f"e{number}", blue, keys=(KEY,)) for number in range(80)))
    assert len(gateway.admin.hosts()) == 160
    assert instances() == before
