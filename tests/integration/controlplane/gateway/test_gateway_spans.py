"""One trace from the gateway through the runtime: Envoy's span, and the runtime's below it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
from gateway_harness import KEY, Gateway, digits, start, stop, wait_until

from controlplane.deployments.selectors import RoutedDeployment, RoutedReplica
from controlplane.gateway.bootstrap import prepare
from controlplane.gateway.settings import GatewaySettings
from tests.support import onnx_models as om
from tests.support.certificates import certificate_authority
from tests.support.otlp import Receiver, receiver
from tests.support.runtime_process import Runtime, runtime

RUNTIMES = {"InferRequest", "simple", "compute"}  # names of its spans
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PATH = "/endpoints/digits/v2/models/simple/infer"
BODY = {
    "inputs": [
        {"name": name, "datatype": "INT32", "shape": [1, 16], "data": [1] * 16}
        for name in ("INPUT0", "INPUT1")
    ]
}


@pytest.fixture
def collector() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@pytest.fixture
def replica(tmp_path: Path, collector: Receiver) -> Iterator[Runtime]:
    om.save(tmp_path / "models", "simple", om.add_sub(), "max_batch_size: 4\n")
    flags = (
        "--trace-config=mode=opentelemetry",
        f"--trace-config=opentelemetry,url={collector.url}",
        "--trace-config=opentelemetry,bsp_schedule_delay=50",
        "--trace-config=rate=100000",
        "--trace-config=level=TIMESTAMPS",
    )
    with runtime(tmp_path / "models", *flags) as running:
        yield running


@pytest.fixture
def traced(
    gateway_settings: GatewaySettings, collector: Receiver, replica: Runtime
) -> Iterator[Callable[[int], Gateway]]:
    """A gateway before the replica, by the percentage of requests that it traces by itself."""
    running: list[Gateway] = []

    def begin(percent: int) -> Gateway:
        settings = replace(
            gateway_settings, traces_url=collector.url, traces_percent=percent, concurrency=1
        )
        gateway = start(prepare(settings))
        running.append(gateway)
        one = RoutedReplica("r1", "127.0.0.1", replica.http_port, replica.grpc_port, False)
        gateway.apply(digits(RoutedDeployment("blue", 100, 0, 5000, True, (one,))))
        return gateway

    yield begin
    for gateway in running:
        stop(gateway)


def asked(gateway: Gateway, **headers: str) -> None:
    with gateway.client() as client:
        answer = client.post(PATH, json=BODY, headers=headers)
    assert answer.status_code == 200, answer.text


def of_inferences(collector: Receiver) -> list[Any]:
    """Without those of questions that the harness asked."""
    found = [span for span in collector.spans if span.name in RUNTIMES]
    traces = {span.trace_id for span in found}
    return [span for span in collector.spans if span.trace_id in traces]


def tree(spans: list[Any]) -> list[str]:
    """Each as its name and those above it; what has another parent than these begins there."""
    by_id = {span.span_id: span for span in spans}

    def path(span: Any) -> str:
        above = by_id.get(span.parent_span_id)
        name = span.name if span.name in RUNTIMES else "gateway"
        return name if above is None else f"{path(above)}/{name}"

    return sorted(map(path, spans))


WHOLE = ["gateway", "gateway/InferRequest", "gateway/InferRequest/simple"]
WHOLE = [*WHOLE, "gateway/InferRequest/simple/compute"]


def wait_for_traces(collector: Receiver, count: int = 1) -> None:
    spans = count * len(WHOLE)
    wait_until(lambda: len(of_inferences(collector)) >= spans, f"{count} whole traces")


def test_a_request_is_one_trace_from_the_gateway_to_the_backend(
    traced: Callable[[int], Gateway], collector: Receiver
) -> None:
    asked(traced(100))
    wait_for_traces(collector)
    assert tree(of_inferences(collector)) == WHOLE
    assert len({span.trace_id for span in of_inferences(collector)}) == 1
    (own,) = (span for span in of_inferences(collector) if span.name not in RUNTIMES)
    tags = {item.key: item.value.string_value for item in own.attributes}
    assert tags["shoal.endpoint"] == "digits"
    assert tags["http.status_code"] == "200"
    assert KEY not in str(own), "a key is no matter of a trace"
    assert {"shoal-gateway", "triton-inference-server"} <= {
        one["service.name"] for one in collector.resources
    }


def test_a_collector_s_name_may_have_addresses_of_both_kinds(
    traced: Callable[[int], Gateway], collector: Receiver
) -> None:
    """As `localhost` has, where it may listen at one of them alone: no span is lost."""
    collector.url = collector.url.replace("127.0.0.1", "localhost")
    gateway, requests = traced(100), 4
    for number in range(1, requests + 1):  # each is sent by itself: Envoy takes one address a time
        asked(gateway)
        wait_for_traces(collector, number)
    assert tree(of_inferences(collector)) == sorted(WHOLE * requests)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_collector_may_be_reached_by_tls(
    host: str, gateway_settings: GatewaySettings, tmp_path: Path
) -> None:
    authority = certificate_authority()
    (tmp_path / "authority.pem").write_text(authority.pem)
    with receiver(authority.signs(host).context(tmp_path)) as found:
        settings = replace(
            gateway_settings,
            traces_url=found.url.replace("127.0.0.1", host),
            traces_authorities=str(tmp_path / "authority.pem"),
            traces_percent=100,
            concurrency=1,
        )
        gateway = start(prepare(settings))
        try:
            assert httpx.get(gateway.plain, trust_env=False).status_code == 404
            wait_until(lambda: bool(found.spans), "the gateway's span")
        finally:
            stop(gateway)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_caller_s_span_is_the_parent_of_the_gateway_s(
    protocol: str, traced: Callable[[int], Gateway], collector: Receiver
) -> None:
    gateway, context = traced(0), f"00-{TRACE}-{SPAN}-01"
    if protocol == "http":
        asked(gateway, traceparent=context)
    else:
        tensors = []
        for name in ("INPUT0", "INPUT1"):
            tensor = triton_grpc.InferInput(name, [1, 16], "INT32")
            tensors.append(tensor.set_data_from_numpy(np.ones((1, 16), np.int32)))
        metadata = {
            "x-shoal-endpoint": "digits",
            "authorization": f"Bearer {KEY}",
            "traceparent": context,
        }
        with triton_grpc.InferenceServerClient(gateway.grpc_target) as client:
            client.infer("simple", tensors, headers=metadata)
    wait_for_traces(collector)
    assert tree(of_inferences(collector)) == WHOLE
    assert {span.trace_id.hex() for span in of_inferences(collector)} == {TRACE}
    assert SPAN in {span.parent_span_id.hex() for span in collector.spans}


def test_nothing_is_traced_that_nobody_chose(
    traced: Callable[[int], Gateway], collector: Receiver
) -> None:
    gateway = traced(0)
    for _ in range(3):
        asked(gateway)
        asked(gateway, traceparent=f"00-{TRACE}-{SPAN}-00")
    asked(gateway, traceparent=f"00-{TRACE}-{SPAN}-01")  # spans come in their order
    wait_for_traces(collector)
    assert tree(of_inferences(collector)) == WHOLE


def test_a_collector_that_is_away_costs_no_request(
    gateway_settings: GatewaySettings, traced: Callable[[int], Gateway], collector: Receiver
) -> None:
    collector.url = "http://nobody.invalid:4318/v1/traces"
    gateway = traced(100)
    for _ in range(5):
        asked(gateway)
    assert httpx.get(gateway.plain, trust_env=False).status_code == 404
