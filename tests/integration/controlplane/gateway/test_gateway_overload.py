"""A runtime whose queue is capped, behind a real Envoy: too much at once is nobody's fault."""

import concurrent.futures
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import numpy as np
import pytest
from gateway_harness import KEY, Gateway, Upstream, deployment, digits, wait_until
from tritonclient.grpc import service_pb2, service_pb2_grpc

from controlplane.deployments.selectors import RoutedDeployment, RoutedReplica
from controlplane.gateway.bootstrap import admin_socket
from tests.support.builtin_models import IDENTITY, parameter, place
from tests.support.runtime_process import Runtime, runtime

SENT = 25  # ten failures in a row would eject a replica
SLOW = IDENTITY + parameter("execute_delay_ms", "3000") + "max_batch_size: 1 "
BODY = {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 1], "data": [1]}]}
SCORE, INFER = "/endpoints/digits/score", "/endpoints/digits/v2/models/slow/infer"

ASKED = service_pb2.ModelInferRequest(
    model_name="slow", raw_input_contents=[np.ones((1, 1), np.float32).tobytes()]
)
ASKED.inputs.add(name="INPUT0", datatype="FP32", shape=[1, 1])
METADATA = [("x-shoal-endpoint", "digits"), ("authorization", f"Bearer {KEY}")]


@pytest.fixture
def frontend() -> str:
    """What carries gRPC."""
    return "native"


@pytest.fixture
def busy(gateway: Gateway, frontend: str, tmp_path: Path) -> Iterator[Runtime]:
    """It works on one request for three seconds, and nobody waits for longer than 0.1."""
    place(tmp_path / "models", "slow", SLOW)
    flags = ("--http-address=0.0.0.0", "--grpc-address=0.0.0.0", f"--grpc-frontend={frontend}")
    with runtime(tmp_path / "models", "--max-queue-wait-ms=100", *flags) as started:
        replicas = tuple(
            RoutedReplica(address, address, started.http_port, started.grpc_port, False)
            for address in ("127.0.0.1", "127.0.0.2")  # one process, reached in two ways
        )
        gateway.apply(digits(RoutedDeployment("blue", 100, 0, 20_000, True, replicas)))
        with gateway.client() as client:
            ready = "/endpoints/digits/v2/health/ready"
            wait_until(lambda: client.get(ready).status_code == 200, "the runtime is reached")
        yield started


def at_once(call: Any) -> list[Any]:
    with concurrent.futures.ThreadPoolExecutor(SENT) as pool:
        return [one.result() for one in [pool.submit(call) for _ in range(SENT)]]


def rejected(server: Runtime) -> int:
    labels = '{model="slow",reason="REJECTED",version="1"} '
    _, _, rest = server.metrics().partition(f"nv_inference_request_failure{labels}")
    return int(rest.split("\n")[0])


def ejections(gateway: Gateway) -> int:
    """So far."""
    return counted(gateway, "outlier_detection.ejections_enforced_total")


def counted(gateway: Gateway, name: str) -> int:
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(admin_socket(gateway.settings)))) as it:
        asked = {"filter": name, "format": "json"}
        stats = it.get("http://envoy/stats", params=asked).json()["stats"]
    assert len(stats) == 2  # of HTTP and of gRPC
    return int(sum(one["value"] for one in stats))


@pytest.mark.parametrize(("path", "status"), [(SCORE, 429), (INFER, 503)])
def test_who_waited_too_long_is_told_once_and_no_replica_is_ejected(
    gateway: Gateway, busy: Runtime, path: str, status: int
) -> None:
    with gateway.client() as client:
        answers: list[httpx.Response] = at_once(lambda: client.post(path, json=BODY))
        after = client.post(path, json=BODY)
    assert Counter(answer.status_code for answer in answers) == {200: 1, status: SENT - 1}
    for answer in answers:
        if answer.status_code == status:
            assert answer.json() == {"error": "Request timeout expired"}
            assert answer.headers["retry-after"] == "1"
            assert answer.headers["azureml-model-deployment"] == "blue"
    assert rejected(busy) == SENT - 1  # none was sent again
    assert ejections(gateway) == 0
    assert after.status_code == 200


@pytest.mark.parametrize("frontend", ["native", "grpcio"])
def test_the_same_over_grpc(gateway: Gateway, busy: Runtime) -> None:
    with grpc.insecure_channel(gateway.grpc_target) as channel:
        infer = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer
        calls = [infer.future(ASKED, metadata=METADATA, timeout=30) for _ in range(SENT)]
        codes = Counter(call.code() for call in calls)
        refused = next(call for call in calls if call.code() is not grpc.StatusCode.OK)
        assert codes == {grpc.StatusCode.OK: 1, grpc.StatusCode.UNAVAILABLE: SENT - 1}
        assert refused.details() == "Request timeout expired"
        assert rejected(busy) == SENT - 1
        assert ejections(gateway) == 0
        assert infer(ASKED, metadata=METADATA, timeout=30).model_name == "slow"


@pytest.mark.parametrize("way", ["http", "grpc"])
def test_a_replica_that_is_broken_is_ejected_all_the_same(
    gateway: Gateway, upstreams: Callable[[str], Upstream], way: str
) -> None:
    gateway.apply(digits(deployment("blue", 100, upstreams("failing"), upstreams("sound"))))
    with gateway.client() as client, grpc.insecure_channel(gateway.grpc_target) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

        def broken() -> bool:
            """Ask; whether somebody was ejected for his answers."""
            if way == "http":
                assert client.post(INFER, json=BODY).status_code in {200, 503}
            else:
                stub.ModelInfer.future(ASKED, metadata=METADATA, timeout=30).exception()
            return ejections(gateway) > 0

        wait_until(broken, "it is ejected")


def test_passing_a_health_check_brings_no_broken_replica_back(
    gateway: Gateway, upstreams: Callable[[str], Upstream]
) -> None:
    failing = upstreams("failing")
    gateway.apply(digits(deployment("blue", 100, failing, upstreams("sound"))))
    address = f"127.0.0.1:{failing.http_port}"
    with gateway.client() as client:

        def ejected() -> bool:
            client.post(INFER, json=BODY)
            return ejections(gateway) > 0

        wait_until(ejected, "it is ejected")
    checks = counted(gateway, "health_check.success")

    def checked_again() -> bool:
        """Whether each replica was asked twice more, over HTTP and gRPC; it rests meanwhile."""
        assert gateway.admin.host_health()[address] is False
        return counted(gateway, "health_check.success") >= checks + 8

    wait_until(checked_again, "health checks go on")
