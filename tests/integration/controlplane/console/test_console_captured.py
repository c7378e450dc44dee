"""What clients asked of one version, captured by its runtime, asked again of two."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest_console import MODEL, Runtime, deployment_row, endpoint_row, started, user
from django.utils import timezone
from gateway_harness import Gateway, wait_until
from rest_framework.test import APIClient

from controlplane.capture.services import captured_newest, captured_receive
from controlplane.deployments.capturing import Capture, capture_to_json
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.selectors import routing_view
from controlplane.deployments.services.keys import endpoint_key_use
from controlplane.golden.captured import captured_draw
from controlplane.golden.comparisons import comparison_ask
from controlplane.nodes.models import Node
from controlplane.operations.models import Rollout
from controlplane.operations.services import rollouts_look
from controlplane.rollouts import Captured, Compare
from tests.support.deployment_rows import deployment_add

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
ROLLOUTS = "/api/v1/endpoints/digits/rollouts"
CAPTURE = Capture(sampling_rate=1, roll_seconds=5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "captured"


@pytest.fixture
def stable(tmp_path: Path, folder: Path) -> Iterator[Runtime]:
    """Doubles, and captures."""
    said = CAPTURE.for_runtime() | {"roll_seconds": 1}
    flags = (f"--capture-config={json.dumps(said)}", f"--capture-directory={folder}")
    with started(tmp_path / "stable", *flags) as found:
        yield found


@pytest.fixture
def candidate(tmp_path: Path) -> Iterator[Runtime]:
    """Squares, which of 2 is the same."""
    with started(tmp_path / "candidate", operator="Mul") as found:
        yield found


def green(blue: Deployment, runtime: Runtime) -> None:
    version = blue.revision.model_version
    row = deployment_add(blue.endpoint, version, "green", provisioning_state="Succeeded")
    ports = {"http_port": runtime.http_port, "grpc_port": runtime.grpc_port}
    Replica.objects.create(
        id="r2", deployment=row, revision=row.revision, ordinal=0, node=Node.objects.get(),
        state="ready", observed={"state": "ready", "address": "127.0.0.1", **ports},
        last_report_at=timezone.now(),
    )  # fmt: skip


def ask(gateway: Gateway, values: list[float]) -> None:
    headers = {"authorization": f"Bearer {endpoint_key_use(name='digits')}"}
    body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": values}]}
    path = f"{gateway.plain}/endpoints/digits/v2/models/{MODEL}/infer"
    answer = httpx.post(path, json=body, headers=headers, trust_env=False, timeout=10)
    assert answer.status_code == 200, answer.text


def sent(folder: Path) -> int:
    """What the agent would send, taken; how many records there were."""
    records = 0
    for file in sorted(folder.glob("*-*.jsonl")):
        content = file.read_bytes()
        records += content.count(b"\n")
        captured_receive(
            node=Node.objects.get(), replica="r1", name=file.name, endpoint="digits",
            deployment="blue", content=content, now=timezone.now(),
        )  # fmt: skip
        file.unlink()
    return records


def test_a_candidate_that_only_clients_requests_tell_from_the_stable_version(
    transactional_db: None, gateway: Gateway, stable: Runtime, candidate: Runtime, folder: Path,
    settings: Any, tmp_path: Path,
) -> None:  # fmt: skip
    settings.SHOAL_GATEWAY_PLAIN_URL = gateway.plain
    settings.SHOAL_BLOB_DIR = str(tmp_path / "blobs")
    settings.SHOAL_UPLOAD_DIR = str(tmp_path / "uploads")
    blue = deployment_row(endpoint_row(), stable.http_port, stable.grpc_port)
    blue.revision.spec["capture"] = capture_to_json(CAPTURE)
    blue.revision.save()
    green(blue, candidate)
    gateway.apply(*routing_view().endpoints)
    for number in range(8):
        ask(gateway, [2, 2, 3 + number])
    taken: list[int] = []
    wait_until(lambda: sum(taken) == 8 or bool(taken.append(sent(folder))), "it is captured", 20)

    client = APIClient()
    client.force_authenticate(user())
    body = {"deployment": "green", "steps": [{"percent": 10, "hold_s": 600}, {"percent": 100}],
            "compare": {"per_minute": 600, "sources": ["captured"]}}  # fmt: skip
    rollout = client.post(ROLLOUTS, body, format="json").json()["id"]
    gateway.apply(*routing_view().endpoints)
    assert comparison_ask(rollout, now=timezone.now())
    at = Rollout.objects.get().compared_at
    assert at is not None
    Rollout.objects.update(compared_at=at.replace(year=at.year - 1))
    assert comparison_ask(rollout, now=timezone.now())
    rollouts_look(now=timezone.now())

    found = client.get(ROLLOUTS).json()["items"][0]
    assert (found["state"], found["cause"]) == ("Withdrawn", "answers")
    assert found["compared"]["sources"] == [{"source": "captured", "inputs": 5, "differing": 5}]
    assert Endpoint.objects.get().traffic == {"blue": 100}
    first = client.get(f"{ROLLOUTS}/{rollout}/differences").json()["items"][0]
    assert first["text"].startswith("y 1 of 3 values differ [0, 2]: ")
    files = dict(captured_newest(deployment=blue, since=blue.created_at, most_bytes=1 << 20))
    line = files[first["file"]][first["line"] - 1]
    assert json.loads(line)["inputs"][0]["data"][:2] == [2, 2]

    # what the control plane asked itself was captured as well, and is nobody's request
    wait_until(lambda: sum(taken) == 8 + 5 * 5 or bool(taken.append(sent(folder))), "ours too", 20)
    row = Rollout.objects.get()
    found_again, _ = captured_draw(
        row, "blue", Compare(600), Captured(), 100, now=timezone.now()
    )  # fmt: skip
    assert len(found_again) == 8
