"""Writes sent twice, and writes to what has changed meanwhile."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.idempotency import answers_prune
from controlplane.accounts.models import IdempotentRequest, Membership, Project, User
from controlplane.deployments.models import Endpoint
from tests.support.people import make_user

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
URL = "/api/v1/endpoints"


def send(api: APIClient, body: dict[str, Any], key: str = "k1", url: str = URL) -> Any:
    return api.post(url, body, format="json", headers={"Idempotency-Key": key})


def test_the_same_request_is_done_once_and_answered_twice(api: APIClient) -> None:
    first = send(api, {"name": "digits"})
    again = send(api, {"name": "digits"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    assert Endpoint.objects.count() == 1
    assert send(api, {"name": "digits"}, key="k2").status_code == 409  # another request


def test_a_key_for_another_request_is_refused(api: APIClient) -> None:
    send(api, {"name": "digits"})
    answer = send(api, {"name": "letters"})
    assert (answer.status_code, answer.json()["code"]) == (422, "IdempotencyKeyReused")
    assert answer["Content-Type"] == "application/problem+json"
    assert not Endpoint.objects.filter(name="letters").exists()


def test_refusals_are_repeated_too_and_keys_belong_to_their_user(
    api: APIClient, admin_api: APIClient
) -> None:
    bad = send(api, {"name": "_"})
    assert (bad.status_code, send(api, {"name": "_"}).json()) == (400, bad.json())
    assert send(admin_api, {"name": "digits"}).status_code == 201
    assert send(APIClient(), {"name": "digits"}).status_code == 401
    assert IdempotentRequest.objects.count() == 2
    assert send(api, {"name": "x"}, key="a" * 300).json()["code"] == "BadArgument"


def test_one_that_is_under_way_is_waited_for_and_one_that_died_is_done(api: APIClient) -> None:
    send(api, {"name": "digits"})
    Endpoint.objects.all().delete()
    IdempotentRequest.objects.update(status=0, answer="")
    answer = send(api, {"name": "digits"})
    assert (answer.status_code, answer["Retry-After"]) == (409, "1")
    IdempotentRequest.objects.update(updated_at=timezone.now() - timedelta(minutes=5))
    assert send(api, {"name": "digits"}).status_code == 201


def test_answers_are_sealed_and_forgotten(api: APIClient) -> None:
    send(api, {"name": "digits"})
    keys = send(api, {}, key="k2", url=f"{URL}/digits/keys/list").json()
    assert send(api, {}, key="k2", url=f"{URL}/digits/keys/list").json() == keys
    assert keys["primaryKey"] not in IdempotentRequest.objects.get(key="k2").answer
    assert answers_prune() == 0
    IdempotentRequest.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert answers_prune() == 2


def test_nobody_overwrites_what_they_have_not_seen(api: APIClient) -> None:
    send(api, {"name": "digits"})
    seen = api.get(f"{URL}/digits")["ETag"]
    mine = {"headers": {"If-Match": seen}, "format": "json"}
    first = api.patch(f"{URL}/digits", {"description": "one"}, **mine)
    assert first.status_code == 200
    late = api.patch(f"{URL}/digits", {"description": "two"}, **mine)
    assert (late.status_code, late.json()["code"]) == (412, "PreconditionFailed")
    assert late.json()["etag"] == first["ETag"]
    traffic = api.put(f"{URL}/digits/traffic", {"traffic": {}}, **mine)
    assert traffic.status_code == 412
    fresh = {"headers": {"If-Match": first["ETag"]}, "format": "json"}
    assert api.put(f"{URL}/digits/traffic", {"traffic": {}}, **fresh).status_code == 200
    assert Endpoint.objects.get().description == "one"


def test_an_answer_is_only_for_who_has_the_rights_that_it_was_given_for(
    admin: User, admin_api: APIClient
) -> None:
    """It is repeated before anybody asks for permission, and may hold keys in clear."""
    send(admin_api, {"name": "digits"})
    keys = f"{URL}/digits/keys/list"
    assert send(admin_api, {}, key="k2", url=keys).status_code == 200
    body = {"name": "narrow", "scopes": ["read"]}
    clear = admin_api.post("/api/v1/tokens", body, format="json").json()["token"]
    narrow = APIClient()
    narrow.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    refused = send(narrow, {}, key="k2", url=keys)
    assert (refused.status_code, refused.json()["code"]) == (422, "IdempotencyKeyReused")
    User.objects.filter(pk=admin.pk).update(role=User.Role.VIEWER)
    refused = send(admin_api, {}, key="k2", url=keys)
    assert (refused.status_code, refused.json()["code"]) == (422, "IdempotencyKeyReused")
    assert send(admin_api, {}, key="k3", url=keys).status_code == 403


def test_who_lost_the_role_in_a_project_gets_no_answer_of_before(client_of: Any) -> None:
    project = Project.objects.create(name="vision", created_by="ada")
    user = make_user("mia", User.Role.MEMBER)
    role = Membership.objects.create(project=project, user=user, role=Membership.Role.DEPLOYER)
    client, keys = client_of(user), f"{URL}/digits/keys/list"
    assert send(client, {"name": "digits"}).status_code == 201
    assert send(client, {}, key="k2", url=keys).status_code == 200
    assert send(client, {}, key="k2", url=keys).status_code == 200
    Membership.objects.filter(pk=role.pk).update(role=Membership.Role.VIEWER)
    refused = send(client, {}, key="k2", url=keys)
    assert (refused.status_code, refused.json()["code"]) == (422, "IdempotencyKeyReused")
    role.delete()
    assert send(client, {}, key="k2", url=keys).status_code == 422
    assert send(client, {}, key="k3", url=keys).status_code == 403
