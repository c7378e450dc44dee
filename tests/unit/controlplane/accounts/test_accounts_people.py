"""Who may not read people learns nothing of them from the event log, by whatever resource."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts import services
from controlplane.accounts.models import User
from controlplane.accounts.policy import PEOPLE, Role, permissions_of
from controlplane.console import reads
from controlplane.core import events
from controlplane.core.models import Event
from controlplane.overview.selectors import overview

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ADDRESS = "203.0.113.77"


@pytest.fixture
def told(db: None, deployer: User) -> int:
    """Events of both kinds; the number of the newest that everybody may see."""
    services.user_create(username="secretive", role="viewer", password="x" * 12, actor="ada")
    seen = events.record(
        actor="dora", verb="endpoint.created", subject="endpoint/digits", message="made"
    )
    body = {"username": "secretive", "password": "x" * 12}
    for password in ("wrong", body["password"]):
        Client(REMOTE_ADDR=ADDRESS).post(
            "/api/v1/session", {**body, "password": password}, content_type="application/json"
        )
    return seen.seq


def everything(client: APIClient, **query: Any) -> str:
    answer = client.get("/api/v1/events", query)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize(
    "role", [role for role in Role.values if role not in (Role.MEMBER, Role.ADMIN)]
)
def test_no_list_filter_or_cursor_tells_of_people(
    told: int, role: str, client_of: Callable[[User], APIClient]
) -> None:
    assert PEOPLE not in permissions_of(role)
    client = client_of(User.objects.create_user("rita", password="x", role=role))
    Event.objects.filter(subject="user/rita").delete()
    for query in (
        {}, {"after_seq": 0}, {"kind": "user"}, {"verb": "session."}, {"q": "secretive"},
        {"subject": "user/secretive"}, {"actor": "secretive"}, {"severity": "warning"},
        {"limit": 1}, {"cursor": told + 100}, {"q": "USER/"}, {"kind": "user/secretive"},
    ):  # fmt: skip
        found = everything(client, **query)
        assert "secretive" not in found, query
        assert ADDRESS not in found, query
    page = client.get("/api/v1/events", {"limit": 1}).json()
    assert [item["seq"] for item in page["items"]] == [told]
    assert client.get("/api/v1/events", {"after_seq": told}).json()["items"] == []
    only = client.get("/api/v1/events", {"limit": 1, "cursor": told}).json()
    assert only == {"items": [], "next_cursor": None}  # nothing is hinted at
    assert client.get("/api/v1/system").json()["newest_event_seq"] == told
    assert f"shoal_events_total {told}.0" in client.get("/api/v1/metrics").content.decode()
    shown = client.get("/api/v1/overview").json()["recent_events"]
    assert [event["seq"] for event in shown] == [told]


def test_administrators_see_it_and_their_narrower_tokens_do_not(
    told: int, admin: User, admin_api: APIClient
) -> None:
    assert ADDRESS in everything(admin_api, verb="session.")
    assert "secretive" in str(admin_api.get("/api/v1/overview").json()["recent_events"])
    assert admin_api.get("/api/v1/system").json()["newest_event_seq"] > told
    _, clear = services.token_create(user=admin, name="ci", actor="ada", scopes=["deploy"])
    narrow = APIClient()
    narrow.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert "secretive" not in everything(narrow)


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous")
def test_an_operators_export_leaves_people_out(
    told: int, client_of: Callable[[User], APIClient], admin_api: APIClient
) -> None:
    operator = client_of(User.objects.create_user("olga", password="x", role=Role.OPERATOR))
    for client, sees in ((operator, False), (admin_api, True)):
        exported: Any = client.get("/api/v1/events/export")
        text = b"".join(exported).decode()
        assert (ADDRESS in text) is sees
        assert "endpoint.created" in text


def test_what_sockets_read_is_filtered_too(told: int) -> None:
    assert reads.events_newest(people=False) == told
    assert reads.events_newest(people=True) > told
    for people in (False, True):
        for found in (
            reads.events_after(0, people=people),
            reads.events_missed(0, people=people)[0],
            reads.overview_state(people=people),
            overview(timezone.now(), people=people),
        ):
            assert ("secretive" in str(found)) is people
