"""Approvals are of what was seen: what somebody else slips in beside it waits on."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.registry.models import CodeApproval, Upload

Send = Callable[..., Upload]
PYTHON = b"class TritonPythonModel: ..."
VERSION = "/api/v1/models/add/versions/1"
REVISIONS = f"{VERSION}/config-revisions"
HARMLESS = 'name: "add"\nmax_batch_size: 4\n'
FOREIGN = HARMLESS + 'model_operations { op_library_filename: "evil.so" }\n'


@pytest.fixture
def register(ingested: Send) -> Callable[..., Any]:
    def send(client: APIClient, **more: Any) -> Any:
        upload = ingested("add.py", PYTHON)
        body = {"name": "add", "upload_id": upload.pk, **more}
        answer = client.post("/api/v1/models", body, format="json")
        assert answer.status_code in (200, 201), answer.content
        return answer

    return send


def edit(client: APIClient, text: str, base: int | None = None) -> int:
    body = {"configs": {"add": text}, "base": base}
    answer = client.post(REVISIONS, body, format="json")
    assert answer.status_code == 201, answer.content
    return int(answer.json()["number"])


def started(client: APIClient, revision: int) -> str:
    body = {"model": "add", "version": "1", "config_revision": revision}
    answer = client.post("/api/v1/try-loads", body, format="json")
    return str(answer.json().get("code"))


WAITS = "CodeNotApproved"
STARTS = "OutOfCapacity"  # nobody has joined a node


def test_an_edit_approves_itself_and_no_other(
    register: Callable[..., Any], api: APIClient, admin_api: APIClient
) -> None:
    register(admin_api)
    foreign = edit(api, FOREIGN)
    assert started(api, foreign) == WAITS
    harmless = edit(admin_api, HARMLESS + "# mine\n", base=0)
    assert started(api, harmless) == STARTS
    assert started(api, foreign) == WAITS, "an administrator's own edit approved somebody else's"


def test_an_edit_over_another_is_approved_with_what_it_says(
    register: Callable[..., Any], api: APIClient, admin_api: APIClient
) -> None:
    register(admin_api)
    edit(api, FOREIGN)
    again = edit(admin_api, FOREIGN + "# looked at\n")
    assert started(api, again) == STARTS


def test_registering_the_same_again_approves_the_files_and_no_edit(
    register: Callable[..., Any], api: APIClient, admin_api: APIClient
) -> None:
    register(api)
    foreign = edit(api, FOREIGN)
    register(admin_api)
    assert started(api, 0) == STARTS
    assert started(api, foreign) == WAITS


def test_an_approval_takes_none_away_from_the_same_files_elsewhere(
    register: Callable[..., Any], api: APIClient, admin_api: APIClient
) -> None:
    register(admin_api)
    foreign = edit(api, FOREIGN)
    assert admin_api.post(f"{VERSION}/approve").status_code == 200
    assert started(api, foreign) == STARTS
    register(admin_api, name="twin")
    assert started(api, foreign) == STARTS
    assert CodeApproval.objects.count() == 1


def test_what_is_slipped_in_after_the_look_is_not_approved(
    register: Callable[..., Any], api: APIClient, admin_api: APIClient
) -> None:
    register(api)
    seen = admin_api.get(VERSION).json()["config_revisions"]
    newest = max((item["number"] for item in seen), default=0)
    foreign = edit(api, FOREIGN)
    approved = admin_api.post(f"{VERSION}/approve", {"config_revision": newest})
    assert (approved.status_code, approved.json()["code"]["state"]) == (200, "waiting")
    assert (started(api, 0), started(api, foreign)) == (STARTS, WAITS)
    approved = admin_api.post(f"{VERSION}/approve", {"config_revision": foreign})
    assert approved.json()["code"]["state"] == "allowed"
    assert started(api, foreign) == STARTS
