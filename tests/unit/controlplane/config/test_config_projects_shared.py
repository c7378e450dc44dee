"""What projects share: nodes, and names that are free again once somebody has deleted them."""

import time
from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, User
from controlplane.deployments.models import TryLoad
from controlplane.deployments.services.trials import MOST_PER_NODE
from controlplane.metrics.models import LogLine
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
