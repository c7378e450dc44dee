"""What projects share: nodes, and names that are free again once somebody has deleted them."""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, User
from controlplane.deployments.models import Endpoint, TryLoad
from controlplane.deployments.services.trials import MOST_PER_NODE
from controlplane.metrics.models import LogLine, RollUp
from tests.support.people import make_user
from tests.support.project_world import OURS, THEIRS, Things, member, project_add

Build = Callable[[User], APIClient]

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


@pytest.fixture
def worlds(db: None) -> tuple[Things, Things]:
    return project_add(OURS), project_add(THEIRS)


def test_trials_of_all_projects_count_on_a_node(worlds: object, client_of: Build) -> None:
    row = TryLoad.objects.get(pk=f"{THEIRS}-trial")
    row.state = "Running"
    for number in range(MOST_PER_NODE):
        row.pk = f"trial-{number}"
        row.save(force_insert=True)
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    answer = client.post("/api/v1/try-loads", {"model": f"{OURS}-model"})
    assert (answer.status_code, answer.json()["code"]) == (409, "TooManyTrials"), answer.json()


def test_log_lines_of_an_endpoint_that_another_project_had_are_not_told(
    worlds: object, client_of: Build
) -> None:
    """A node sends the last words of what ran there also once the name is free, or another's."""
    of = {"endpoint": f"{OURS}-endpoint", "deployment": f"{OURS}-blue", "replica_id": "gone"}
    for seq, (age_s, text) in enumerate({60: "theirs", -1: "ours"}.items()):
        at = time.time() - age_s
        LogLine.objects.create(**of, stream="inference-server", seq=seq, at=at, text=text)
    path = f"/api/v1/endpoints/{OURS}-endpoint/deployments/{OURS}-blue/logs"
    long_ago = "2020-01-01T00:00:00Z"
    for user, seen in (
        (member(OURS, Membership.Role.VIEWER), ["ours"]),
        (make_user("ada", User.Role.ADMIN), ["theirs", "ours"]),
    ):
        for query in ("", f"?since={long_ago}", "?after=0", "?before=9999999", "?replica=gone"):
            lines = client_of(user).get(path + query).json()["lines"]
            assert [line["text"] for line in lines] == seen, (user, query)


def test_figures_of_an_endpoint_that_another_project_had_are_not_told(
    worlds: object, client_of: Build
) -> None:
    """Minutes and hours are kept by name, and one of them began before the endpoint did."""
    made = math.floor((time.time() - 6 * 3600) / 3600) * 3600 + 1800  # half past an hour
    Endpoint.objects.update(created_at=datetime.fromtimestamp(made, UTC))
    path, name = f"/api/v1/endpoints/{OURS}-endpoint", f"{OURS}-endpoint"
    for scope in (f"endpoint/{name}", f"deployment/{name}/{OURS}-blue"):
        for span_s, at in (
            (3600, made - 1800), (3600, made + 1800), (3600, made + 5400),
            (60, made - 60), (60, made), (60, made + 120),
        ):  # fmt: skip
            data = {
                "s": float(span_s),
                "sums": {"success": span_s * 7.0},
                "gauge": {"instances": 1},
            }
            RollUp.objects.create(scope=scope, span_s=span_s, at=at, data=data)
    policy = {"autoscale": {"max": 8, "targets": {"requests_per_second": 1}}, "hours": 12}
    for user, hours, seconds in (
        (member(OURS, Membership.Role.DEPLOYER), [made + 5400], 60.0),
        (
            make_user("ada", User.Role.ADMIN),
            [made - 1800 + 3600 * each for each in range(3)],
            240.0,
        ),
    ):
        client = client_of(user)
        found = client.get(f"{path}/metrics?range=43200&step=3600&metrics=request_rate").json()
        told = [at for at, value in zip(found["t"], found["v"][0], strict=True) if value]
        assert told == hours, found
        replay = client.post(
            f"{path}/deployments/{OURS}-blue/autoscale/preview", policy, format="json"
        )
        assert replay.json()["seconds"] == seconds
