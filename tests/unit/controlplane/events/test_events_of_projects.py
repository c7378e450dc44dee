"""Of the event log members of a project see what happened to its things, and nothing else."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, User
from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from tests.support.project_world import OURS, THEIRS, member, project_add

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
Build = Callable[[User], APIClient]


@pytest.fixture
def mia(client_of: Build) -> APIClient:
    project_add(OURS)
    project_add(THEIRS)
    return client_of(member(OURS, Membership.Role.VIEWER))


def tell(subject: str) -> None:
    events.record(actor="ada", verb="told", subject=subject, message="something")


def seen(client: APIClient, **query: str) -> list[str]:
    answer = client.get("/api/v1/events", {"verb": "told", **query})
    assert answer.status_code == 200
    return [item["subject"] for item in answer.json()["items"]]


def test_what_happened_to_the_own_things(mia: APIClient) -> None:
    of_theirs = [f"{THEIRS}-endpoint", f"{THEIRS}-model", f"{THEIRS}-environment"]
    subjects = [
        *(f"{name.rpartition('-')[2]}/{name}" for name in of_theirs),
        *("node/n1", "nodes", "user/ada", "gateway/g", "endpoint", "endpoint/", "endpoint/gone"),
        f"model/{OURS}-endpoint",  # the name is another kind's
    ]
    own = [f"endpoint/{OURS}-endpoint", f"model/{OURS}-model", f"environment/{OURS}-environment"]
    for subject in [*subjects, *own]:
        tell(subject)
    assert seen(mia) == own[::-1]
    assert seen(mia, subject=own[0]) == [own[0]]
    assert seen(mia, subject=f"endpoint/{THEIRS}-endpoint") == []


def test_what_a_name_was_before_it_was_made_here_is_not_told(mia: APIClient) -> None:
    subject = f"endpoint/{OURS}-endpoint"
    tell(subject)
    made = Endpoint.objects.get(name=f"{OURS}-endpoint").created_at
    Event.objects.filter(verb="told").update(at=made - timedelta(seconds=1))
    assert seen(mia) == []
    Event.objects.filter(verb="told").update(at=made)
    assert seen(mia) == [subject]


def test_who_left_the_project_is_told_nothing(mia: APIClient) -> None:
    tell(f"endpoint/{OURS}-endpoint")
    Membership.objects.all().delete()
    assert mia.get("/api/v1/events").status_code == 403


def test_the_log_is_not_handed_out_to_members(client_of: Build) -> None:
    project_add(OURS)
    deployer = client_of(member(OURS, Membership.Role.DEPLOYER))
    assert deployer.get("/api/v1/events/export").status_code == 403
    assert deployer.get("/api/v1/events/verify").status_code == 403


def test_a_role_in_the_installation_sees_all(client_of: Build) -> None:
    project_add(OURS)
    tell("node/n1")
    vera = client_of(member(OURS, Membership.Role.VIEWER, "vera"))
    User.objects.filter(username="vera").update(role=User.Role.VIEWER)
    assert seen(vera) == ["node/n1"]
