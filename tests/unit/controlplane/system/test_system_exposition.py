"""What Prometheus reads of the control plane."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from controlplane.deployments.models import Replica
from controlplane.deployments.selectors import scrape_targets
from controlplane.metrics.services import gateway_samples_ingest, prune
from controlplane.metrics.totals import REGISTRY
from controlplane.metrics.types import KEEP_ROLL_UPS_S
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode
from wire.samples import GatewaySample, GatewaySampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


BOUNDS = ("0.001", "0.5", "+Inf")


def scraped(api: APIClient) -> dict[tuple[str, tuple[str, ...]], float]:
    """(name, label values by the labels' names) -> value."""
    # as Prometheus asks
    answer = api.get("/api/v1/metrics", HTTP_ACCEPT="application/openmetrics-text;version=1.0.0")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_state_of_things_and_what_was_asked(api: APIClient) -> None:
    api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    api.get("/api/v1/nothing")
    before = scraped(api)
    assert before["shoal_endpoints", ("Stopped",)] == 1
    assert before["shoal_events_total", ()] >= 1
    assert before["shoal_live_topics", ()] == 0
    created = ("POST", "api/v1/endpoints", "201")
    assert before["shoal_http_request_seconds_count", created] >= 1
    assert before["shoal_http_request_seconds_count", ("GET", "(none)", "404")] >= 1
    assert ("shoal_replica_sample_age_seconds", ()) not in before
    assert before["process_resident_memory_bytes", ()] > 0


def test_answers_of_the_gateways_add_up(api: APIClient) -> None:
    quick, slow = 50, 200  # bucket 50 ends at 602 µs, bucket 200 at 0.9 s
    sample = GatewaySample(
        "exposed", "blue", 1.0, 2.0, 5, {"2xx": 4, "5xx": 1}, {str(quick): 4, str(slow): 1}, 70, 80
    )
    gateway_samples_ingest(GatewaySampleBatch((sample,)))
    gateway_samples_ingest(GatewaySampleBatch((sample,)))
    found = scraped(api)
    name = ("blue", "exposed")
    assert found["shoal_gateway_answers_total", (*name, "2xx")] == 8
    assert found["shoal_gateway_answers_total", (*name, "5xx")] == 2
    within = {
        bound: found["shoal_gateway_request_seconds_bucket", (*name, bound)] for bound in BOUNDS
    }
    assert within == {"0.001": 8, "0.5": 8, "+Inf": 10}
    assert found["shoal_gateway_request_seconds_count", name] == 10
    assert found["shoal_gateway_request_seconds_sum", name] == pytest.approx(1.83, abs=0.05)
    assert not [name for name, _ in found if name.endswith("_created")]
    assert found["shoal_gateway_received_bytes_total", name] == 140
    assert found["shoal_gateway_sample_age_seconds", ()] > 0


def test_requests_that_waited_for_a_replica_are_counted(api: APIClient) -> None:
    sample = GatewaySample("rested", "blue", 1.0, 2.0, 0, held=3, wakes_s=(0.4, 0.7))
    gateway_samples_ingest(GatewaySampleBatch((sample,)))
    gateway_samples_ingest(GatewaySampleBatch((sample,)))
    found = scraped(api)
    name = ("blue", "rested")
    assert found["shoal_gateway_held_requests_total", name] == 6
    assert found["shoal_gateway_wake_seconds_bucket", (*name, "0.5")] == 2
    assert found["shoal_gateway_wake_seconds_count", name] == 4
    assert found["shoal_gateway_wake_seconds_sum", name] == pytest.approx(2.2)


def test_answers_are_counted_whichever_process_took_them_in(api: APIClient) -> None:
    """Also at once by several of them, of one deployment, and by processes that have ended."""
    sample = GatewaySample("shared", "blue", 1.0, 2.0, 3, {"2xx": 3}, {"50": 3}, 7, 8)
    other = GatewaySample("shared", "", 1.0, 2.0, 1, {"4xx": 1}, {}, 1, 1)
    gateway_samples_ingest(GatewaySampleBatch((sample, other, sample)))
    # a process keeps its own requests alone
    kept = {family.name for family in REGISTRY.collect()}
    assert kept == {"shoal_http_request_seconds", "shoal_remote_user_refused"}
    found = scraped(api)
    assert found["shoal_gateway_answers_total", ("blue", "shared", "2xx")] == 6
    assert found["shoal_gateway_answers_total", ("", "shared", "4xx")] == 1
    assert found["shoal_gateway_sent_bytes_total", ("blue", "shared")] == 16
    prune(now=time.time() + KEEP_ROLL_UPS_S + 1)
    assert not [name for name, _ in scraped(api) if name.startswith("shoal_gateway_answers")]


@pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
def test_gateways_that_send_at_once_are_all_counted(api: APIClient) -> None:
    sample = GatewaySample("shared", "blue", 1.0, 2.0, 1, {"2xx": 1}, {"50": 1}, 1, 1)

    def send(_: int) -> None:
        try:
            gateway_samples_ingest(GatewaySampleBatch((sample,)))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(send, range(20)))
    assert scraped(api)["shoal_gateway_answers_total", ("blue", "shared", "2xx")] == 20


def test_it_is_not_for_everybody() -> None:
    assert APIClient().get("/api/v1/metrics").status_code == 401


def test_prometheus_finds_every_runtime(
    api: APIClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    node = SimulatedNode()
    model_register()
    deploy = {"model": "digits", "endpoint": "digits", "instance_count": 2, "traffic": 100}
    api.post("/api/v1/deploy", deploy, format="json")
    assert api.get("/api/v1/metrics/targets").json() == []  # no process yet
    node.bring_up()
    first, second = Replica.objects.order_by("ordinal")
    Replica.objects.filter(pk=first.pk).update(
        observed={"metrics_port": 9002, "address": "fd00::1"}
    )
    Replica.objects.filter(pk=second.pk).update(
        observed={"metrics_port": 9003, "address": "127.0.0.1"}
    )
    named = {"endpoint": "digits", "deployment": "blue", "node": first.node.name}
    with django_assert_num_queries(1):
        assert [(one.address, one.replica) for one in scrape_targets()] == [
            ("[fd00::1]:9002", first.pk),
            ("127.0.0.1:9003", second.pk),
        ]
    found = api.get("/api/v1/metrics/targets")
    assert found["Content-Type"] == "application/json"
    assert found.json()[1] == {
        "targets": ["127.0.0.1:9003"],
        "labels": {**named, "replica": second.pk},
    }
