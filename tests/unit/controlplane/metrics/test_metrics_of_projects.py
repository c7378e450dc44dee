"""Of series by any scope members of a project are told of their endpoints, as long as these are
theirs."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, User
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.metrics.models import ReplicaSample
from controlplane.metrics.services import roll_up
from tests.support.people import make_user
from tests.support.project_world import OURS, THEIRS, member, project_add
from tests.unit.controlplane.metrics.test_metrics_history import replica

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
Build = Callable[[User], APIClient]
QUERY = "/api/v1/metrics/query"
ENDPOINT = f"{OURS}-endpoint"
MINUTES = 10


@pytest.fixture
def begun() -> int:
    """A whole minute, from which on ten requests a second are answered for ten minutes."""
    start = int(time.time()) // 60 * 60 - 30 * 60
    for project in (OURS, THEIRS):
        project_add(project)
        rows = [replica(start + at, 10 * at) for at in range(0, MINUTES * 60 + 1, 2)]
        for row in rows:
            row.endpoint = f"{project}-endpoint"
        ReplicaSample.objects.bulk_create(rows)
    made_at(start - 3600)
    return start


@pytest.fixture
def mia(begun: int, client_of: Build) -> APIClient:
    return client_of(member(OURS, Membership.Role.VIEWER))


def made_at(seconds: float) -> None:
    Endpoint.objects.update(created_at=datetime.fromtimestamp(seconds, UTC))


def asked(client: APIClient, begun: int, by: str, ids: str) -> dict[str, Any]:
    window = {"from": str(begun), "to": str(begun + MINUTES * 60), "step": "60"}
    answer = client.get(QUERY, {"by": by, "ids": ids, "metrics": "request_rate,batch", **window})
    return {"status": answer.status_code, **answer.json()}


@pytest.mark.parametrize("rolled", [False, True])
@pytest.mark.parametrize(
    ("by", "ids"), [("endpoint", ENDPOINT), ("deployment", f"{ENDPOINT}/blue")]
)
def test_the_own_endpoints_are_told_since_they_were_made(
    mia: APIClient, begun: int, by: str, ids: str, rolled: bool
) -> None:
    if rolled:
        roll_up(now=begun + MINUTES * 60 + 120)
        ReplicaSample.objects.all().delete()
    whole = asked(mia, begun, by, ids)
    keys = [f"request_rate.{by}/{ids}", f"batch.4.{by}/{ids}"]
    assert whole["keys"] == keys
    times = len(whole["t"])
    assert times >= MINUTES
    for made, hidden in ((4 * 60, 4), (4 * 60 + 1, 5)):  # a bucket that began before is not theirs
        made_at(begun + made)
        later = asked(mia, begun, by, ids)
        first = whole["t"].index(begun + 60)
        for part in ("v", "low", "high"):
            assert later[part] == [
                [None] * (first + hidden) + values[first + hidden :] for values in whole[part]
            ]
        assert later["v"][0][first + hidden] == pytest.approx(10)
    made_at(begun + MINUTES * 60)
    gone = asked(mia, begun, by, ids)  # nor which sizes of batches there were
    assert (gone["keys"], gone["v"]) == (keys[:1], [[None] * times])


@pytest.mark.parametrize(
    ("by", "ids", "status", "code"),
    [
        ("endpoint", f"{THEIRS}-endpoint", 404, "EndpointNotFound"),
        ("endpoint", f"{ENDPOINT},{THEIRS}-endpoint", 404, "EndpointNotFound"),
        ("endpoint", "nobody", 404, "EndpointNotFound"),
        ("deployment", f"{THEIRS}-endpoint/{THEIRS}-blue", 404, "EndpointNotFound"),
        ("node", "n1", 403, "Forbidden"),
        ("model", f"{OURS}-model", 403, "Forbidden"),
    ],
)
def test_all_else_is_refused(
    mia: APIClient, begun: int, by: str, ids: str, status: int, code: str
) -> None:
    found = asked(mia, begun, by, ids)
    assert (found["status"], found["code"]) == (status, code)


def test_a_role_in_the_installation_is_told_of_what_has_gone(begun: int, client_of: Build) -> None:
    made_at(begun + MINUTES * 60)
    Endpoint.objects.filter(project=THEIRS).update(traffic={})
    Deployment.objects.filter(endpoint__project=THEIRS).delete()
    Endpoint.objects.filter(project=THEIRS).delete()
    vera = client_of(make_user("vera", User.Role.VIEWER))
    for name in (ENDPOINT, f"{THEIRS}-endpoint"):
        found = asked(vera, begun, "endpoint", name)
        assert found["v"][0][-MINUTES:] == [pytest.approx(10)] * MINUTES
    assert asked(vera, begun, "node", "n1")["status"] == 200
