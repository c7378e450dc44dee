"""Drafts: kept for their owner alone, saved by compare-and-set, gone with their upload."""

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.registry.models import Draft, Upload
from controlplane.registry.services import drafts

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])

DATA = {"texts": ['name: "digits"\n'], "endpoint": "digits"}


def upload(user: User, upload_id: str = "u1") -> Upload:
    soon = timezone.now() + timedelta(seconds=1)
    return Upload.objects.create(
        id=upload_id, filename="digits.onnx", size=1, created_by=user, expires_at=soon
    )


def made(api: APIClient, **changes: object) -> dict[str, object]:
    body = {"title": "digits", "data": DATA, **changes}
    answer = api.post("/api/v1/drafts", body, format="json")
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def test_another_browser_finds_what_was_typed(api: APIClient) -> None:
    draft = made(api)
    (row,) = api.get("/api/v1/drafts").json()["items"]
    assert (row["id"], row["title"]) == (draft["id"], "digits")
    assert "data" not in row, "a list is for choosing"
    assert api.get(f"/api/v1/drafts/{draft['id']}").json()["data"] == DATA


def test_a_draft_is_its_owners_alone(api: APIClient, admin_api: APIClient) -> None:
    place = f"/api/v1/drafts/{made(api)['id']}"
    assert admin_api.get("/api/v1/drafts").json()["items"] == []
    body = {"title": "mine now"}
    for answer in (admin_api.get(place), admin_api.put(place, body, format="json"),
                   admin_api.delete(place)):  # fmt: skip
        assert (answer.status_code, answer.json()["code"]) == (404, "DraftNotFound")


def test_a_viewer_starts_none(viewer_api: APIClient) -> None:
    assert viewer_api.post("/api/v1/drafts", {}, format="json").status_code == 403


def test_saving_counts_and_a_stale_save_is_told(api: APIClient) -> None:
    place = f"/api/v1/drafts/{made(api)['id']}"
    first = api.put(place, {"title": "a", "data": {"step": 1}, "revision": 1}, format="json")
    assert (first.status_code, first.json()["revision"]) == (200, 2)
    late = api.put(place, {"title": "b", "data": {"step": 0}, "revision": 1}, format="json")
    assert (late.status_code, late.json()["code"], late.json()["revision"]) == (
        409, "DraftChanged", 2,
    )  # fmt: skip
    assert api.get(place).json()["data"] == {"step": 1}
    forced = api.put(place, {"title": "b", "data": {"step": 0}}, format="json")
    assert (forced.status_code, forced.json()["revision"]) == (200, 3)


def test_a_draft_keeps_its_upload(api: APIClient, deployer: User) -> None:
    row = upload(deployer)
    draft = made(api, upload_id=row.id)
    row.refresh_from_db()
    assert row.expires_at > timezone.now() + timedelta(days=1)
    Upload.objects.update(expires_at=timezone.now())
    api.put(f"/api/v1/drafts/{draft['id']}", {"upload_id": row.id}, format="json")
    row.refresh_from_db()
    assert row.expires_at > timezone.now() + timedelta(days=1)


@pytest.mark.parametrize(("query", "left"), [("", 0), ("?keep_upload=true", 1)])
def test_discarding_drops_the_upload_unless_told(
    api: APIClient, deployer: User, query: str, left: int
) -> None:
    draft = made(api, upload_id=upload(deployer).id)
    assert api.delete(f"/api/v1/drafts/{draft['id']}{query}").status_code == 204
    assert (Draft.objects.count(), Upload.objects.count()) == (0, left)


def test_an_upload_that_went_before_does_not_hold_a_draft(api: APIClient) -> None:
    draft = made(api, upload_id="gone")
    assert api.delete(f"/api/v1/drafts/{draft['id']}").status_code == 204
    assert not Draft.objects.exists()


def test_there_is_an_end_to_them(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST", 2)
    for _ in range(2):
        made(api)
    answer = api.post("/api/v1/drafts", {}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "TooManyDrafts")


def test_a_draft_is_no_store_for_anything(api: APIClient) -> None:
    answer = api.post("/api/v1/drafts", {"data": {"x": "y" * 2**20}}, format="json")
    assert answer.status_code == 400
    assert "1048576" in answer.content.decode()
