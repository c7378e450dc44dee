"""Replicas that are held out: no client reaches them through Envoy, and golden cases do."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conftest_console import MODEL, Runtime, started
from django.utils import timezone
from gateway_harness import Gateway, wait_until

from controlplane.console.models import SavedCase
from controlplane.deployments.models import Deployment, Replica
from controlplane.deployments.naming import held_out_name
from controlplane.deployments.selectors import routing_view
from controlplane.deployments.services.keys import endpoint_key_use
from controlplane.deployments.services.replicas import replicas_admit
from controlplane.golden.rollouts import answers_of
from controlplane.nodes.models import Node

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
REQUESTS = 40


@pytest.fixture
def squaring(tmp_path: Path) -> Iterator[Runtime]:
    """What an update starts beside what doubles."""
    with started(tmp_path / "new", operator="Mul") as found:
        yield found


def row(runtime: Runtime) -> Replica:
    blue = Deployment.objects.get()
    ports = {"http_port": runtime.http_port, "grpc_port": runtime.grpc_port}
    return Replica.objects.create(
        id="r2", deployment=blue, revision=blue.revision, ordinal=0, node=Node.objects.get(),
        state="ready", observed={"state": "ready", "address": "127.0.0.1", **ports},
        last_report_at=timezone.now(), held_out=True,
    )  # fmt: skip


def answers(gateway: Gateway, deployment: str = "") -> Counter[float]:
    """Of 5, by what was answered: 10 is the old one's, 25 the new one's."""
    x = {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [5.0] * 3}
    headers = {"authorization": f"Bearer {endpoint_key_use(name='digits')}"}
    headers |= {"x-shoal-deployment": deployment} if deployment else {}
    path = f"{gateway.plain}/endpoints/digits/v2/models/{MODEL}/infer"
    found: Counter[float] = Counter()
    with httpx.Client(headers=headers) as client:
        for _ in range(REQUESTS):
            answer = client.post(path, json={"inputs": [x]})
            assert answer.status_code == 200, answer.text
            found[answer.json()["outputs"][0]["data"][0]] += 1
    return found


def test_golden_cases_reach_what_no_client_does(served: Gateway, squaring: Runtime) -> None:
    tensor = {"datatype": "FP32", "shape": [1, 3]}
    SavedCase.objects.create(
        id="five", name="five", model=MODEL, created_by="ada",
        inputs=[{"name": "x", "data": [5, 5, 5], **tensor}],
        expected=[{"name": "y", "data": [10, 10, 10], **tensor}],
    )  # fmt: skip
    new = row(squaring)
    served.apply(*routing_view().endpoints)
    held_out = held_out_name("blue")
    wait_until(lambda: answers(served, held_out) == {25.0: REQUESTS}, "it is reached by its name")
    assert answers(served) == answers(served, "blue") == {10.0: REQUESTS}
    blue = Deployment.objects.select_related("endpoint", "revision").get()
    assert not answers_of(blue, timezone.now()).wrong
    wrong = answers_of(blue, timezone.now(), called=held_out).wrong
    assert wrong == (
        f"'five' of {MODEL}, y 3 of 3 values differ, most of all [0, 0]: 25, expected 10 ± 0.001",
    )

    replicas_admit([new.pk])
    served.apply(*routing_view().endpoints)
    wait_until(lambda: set(answers(served)) == {10.0, 25.0}, "both answer")
