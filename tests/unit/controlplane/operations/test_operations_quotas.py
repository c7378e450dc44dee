"""Quotas of projects: what a change may ask for, and what it is told when that is too much."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import Project
from controlplane.accounts.scope import within
from controlplane.core.errors import DomainError
from controlplane.deployments.models import Autoscaler, Deployment, InstanceType, Replica
from controlplane.deployments.services.capacity import fleet
from controlplane.deployments.services.endpoints import endpoint_create
from controlplane.operations.models import Operation
from controlplane.operations.services import autoscale
from controlplane.operations.services.deployments import deployment_scale
from controlplane.registry.models import ModelVersion
from tests.support.carried_load import carry
from tests.support.deployment_rows import deployment_add
from tests.support.project_world import OURS, THEIRS, project_add
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ENDPOINT: Final = "/api/v1/endpoints/digits"
BLUE: Final = f"{ENDPOINT}/deployments/blue"


@pytest.fixture
def node(api: APIClient) -> SimulatedNode:
    """With the endpoint digits on it: one replica, of two GPUs as its instance type asks."""
    InstanceType.objects.create(name="two", gpu_count=2, gpu_policy="preferred")
    InstanceType.objects.create(name="four", gpu_count=4, gpu_policy="preferred")
    model_register()
    node = SimulatedNode()
    deploy(api, {"model": "digits", "instance_type": "two"})
    settle(node)
    return node


def deploy(api: APIClient, body: dict[str, Any]) -> None:
    answer = api.post("/api/v1/deploy", body)
    assert answer.status_code == 202, answer.content


def settle(node: SimulatedNode) -> None:
    node.bring_up()
    gateway_confirms()


def limit(**limits: int | None) -> None:
    Project.objects.filter(name="default").update(**limits)


SCALE = ("post", f"{BLUE}/scale", {"instance_count": 3})
GROW: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "scale": SCALE,
    "patch": ("patch", BLUE, {"instance_count": 3}),
    "put": ("put", BLUE, {"model": "digits", "instance_type": "two", "instance_count": 3}),
    "a further deployment": (
        "post", f"{ENDPOINT}/deployments",
        {"name": "green", "model": "digits", "instance_count": 2, "instance_type": "two"},
    ),
    "another endpoint": (
        "post", "/api/v1/deploy",
        {"model": "digits", "endpoint": "more", "instance_count": 2, "instance_type": "two"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", GROW)
@pytest.mark.parametrize(
    ("limits", "quota", "used", "wanted"),
    [({"max_replicas": 2}, "replicas", 1, 2), ({"max_gpus": 5}, "gpus", 2, 4)],
)
def test_more_than_the_project_may_have_is_refused_with_the_numbers(
    node: SimulatedNode,
    api: APIClient,
    way: str,
    limits: dict[str, int],
    quota: str,
    used: int,
    wanted: int,
) -> None:
    limit(**limits)
    method, path, body = GROW[way]
    answer = getattr(api, method)(path, body)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (409, "ProjectQuotaExceeded"), problem
    numbers = (problem["quota"], problem["used"], problem["wanted"], problem["limit"])
    assert numbers == (quota, used, wanted, *limits.values())
    for number in (used, wanted, *limits.values()):
        assert str(number) in problem["detail"]
    assert list(Deployment.objects.values_list("instance_count", flat=True)) == [1]
    assert not Operation.objects.filter(finished_at=None).exists()
    limit(max_replicas=3, max_gpus=6)
    assert getattr(api, method)(path, body).status_code in (201, 202)


def test_another_instance_type_is_counted_by_its_gpus(node: SimulatedNode, api: APIClient) -> None:
    limit(max_gpus=3)
    problem = api.post(f"{BLUE}/update", {"instance_type": "four"}).json()
    assert (problem["code"], problem["used"], problem["wanted"]) == ("ProjectQuotaExceeded", 2, 2)
    limit(max_gpus=4)
    assert api.post(f"{BLUE}/update", {"instance_type": "four"}).status_code == 202


def test_a_limit_below_what_is_used_refuses_only_what_is_more(
    node: SimulatedNode, api: APIClient
) -> None:
    assert api.post(f"{BLUE}/scale", {"instance_count": 3}).status_code == 202
    settle(node)
    limit(max_replicas=1, max_gpus=1)
    assert api.post(f"{BLUE}/scale", {"instance_count": 4}).status_code == 409
    assert api.post(f"{BLUE}/restart").status_code == 202
    settle(node)
    Operation.objects.update(state="Succeeded", finished_at=timezone.now())
    Deployment.objects.update(provisioning_state="Succeeded")
    assert api.post(f"{BLUE}/scale", {"instance_count": 2}).status_code == 202


def test_what_is_resumed_must_fit_again(node: SimulatedNode, api: APIClient) -> None:
    assert api.post(f"{BLUE}/stop?force=true").status_code == 202
    settle(node)
    Operation.objects.update(state="Succeeded", finished_at=timezone.now())
    Deployment.objects.update(provisioning_state="Succeeded")
    limit(max_replicas=0)
    assert api.post(f"{BLUE}/start").json()["code"] == "ProjectQuotaExceeded"


def test_the_autoscaler_takes_what_is_left_and_says_why_no_more(
    node: SimulatedNode, api: APIClient
) -> None:
    at_once = {"window_s": 0, "cooldown_s": 0}
    policy = {"min": 1, "max": 6, "targets": {"in_flight": 4}, "up": at_once, "down": at_once}
    assert api.patch(BLUE, {"autoscale": policy}).status_code == 200
    limit(max_replicas=2)
    now = timezone.now()
    carry(now, 16.0)
    Autoscaler.objects.update(decided_at=None)
    assert autoscale(now=now) == 1
    decision = Autoscaler.objects.get().decision
    assert decision["wanted"] == 4
    assert decision["blocked_by"] == "ProjectQuotaExceeded"
    assert "uses 1 of 2 replicas" in decision["blocked"]
    assert Deployment.objects.get().instance_count == 2


def test_what_is_given_back_is_free_once_it_is_not_asked_back(
    node: SimulatedNode, api: APIClient
) -> None:
    """Else one would scale down, take what became free, and cancel: again and again."""
    green = {"model": "digits", "endpoint": "more", "instance_type": "two", "instance_count": 2}
    limit(max_replicas=3, max_gpus=6)
    assert api.post(f"{BLUE}/scale", {"instance_count": 3}).status_code == 202
    settle(node)
    Operation.objects.update(state="Succeeded", finished_at=timezone.now())
    Deployment.objects.update(provisioning_state="Succeeded")
    down = api.post(f"{BLUE}/scale", {"instance_count": 1}).json()["id"]
    refused = api.post("/api/v1/deploy", green)
    assert (refused.status_code, refused.json()["code"]) == (409, "ProjectQuotaExceeded")
    assert (refused.json()["used"], refused.json()["wanted"]) == (3, 2)
    limit(max_replicas=None)
    assert api.post("/api/v1/deploy", green).json()["quota"] == "gpus"
    limit(max_replicas=3)
    # its own change is not in its own way
    assert api.patch(f"{BLUE}?supersede=true", {"instance_count": 2}).status_code == 202
    Operation.objects.filter(finished_at=None).update(state="Succeeded", finished_at=timezone.now())
    assert Operation.objects.get(pk=down).state == "Canceled"
    assert api.post("/api/v1/deploy", {**green, "instance_count": 1}).status_code == 202


def test_what_goes_back_to_another_instance_type_is_counted_by_its_gpus(
    node: SimulatedNode, api: APIClient
) -> None:
    InstanceType.objects.create(name="none", gpu_policy="preferred")
    limit(max_gpus=2)
    assert api.post(f"{BLUE}/update", {"instance_type": "none"}).status_code == 202
    green = {"model": "digits", "endpoint": "more", "instance_type": "two"}
    refused = api.post("/api/v1/deploy", green).json()
    assert (refused["code"], refused["used"]) == ("ProjectQuotaExceeded", 2)


def test_what_names_no_instance_type_gets_no_gpu_where_they_are_counted(
    node: SimulatedNode, api: APIClient
) -> None:
    body = {"model": "digits", "endpoint": "more"}
    assert api.post("/api/v1/deploy", body).status_code == 202
    limit(max_gpus=2)
    assert api.post("/api/v1/deploy", {**body, "endpoint": "most"}).status_code == 202
    given = dict(Replica.objects.values_list("deployment__endpoint__name", "gpus"))
    assert (given["more"], given["most"]) == (None, [])


@pytest.mark.django_db(transaction=True, databases=["default", "metrics"])
def test_of_several_at_once_only_as_many_pass_as_fit() -> None:
    model_register()
    for number in range(4):
        row = endpoint_create(name=f"end-{number}", actor="ada", now=timezone.now())
        version = ModelVersion.objects.get()
        deployment_add(row, version, provisioning_state="Succeeded")
    limit(max_replicas=6)  # four run

    def scale(number: int) -> bool:
        try:
            deployment_scale(
                endpoint=f"end-{number}", name="blue", instance_count=2, actor="ada",
                now=timezone.now(),
            )  # fmt: skip
        except DomainError as error:
            assert error.code == "ProjectQuotaExceeded", error
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(scale, range(4))) == 2


def test_nodes_are_as_full_as_all_projects_make_them() -> None:
    for name in (OURS, THEIRS):
        project_add(name)
    with within(frozenset({OURS})):
        assert len(fleet(timezone.now()).tenants) == 2
