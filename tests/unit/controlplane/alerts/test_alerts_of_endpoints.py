"""An endpoint is made and changed together with its objectives, or not at all."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.alerts.models import ObjectiveRow
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from tests.support.people import make_user

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
URL = "/api/v1/endpoints/quote"
ANSWERED = {"name": "answered", "kind": "availability", "target_percent": 99.9}
QUICK = {"name": "quick", "kind": "latency", "target_percent": 99, "threshold_ms": 250}
SHOWN = [
    {**ANSWERED, "window_days": 28, "threshold_ms": None},
    {**QUICK, "window_days": 28},
]


def patch(api: APIClient, objectives: Any, **more: Any) -> Any:
    return api.patch(URL, {"objectives": objectives, **more}, format="json")


@pytest.fixture
def quote(api: APIClient) -> Endpoint:
    body = {"name": "quote", "objectives": [QUICK, ANSWERED]}
    made = api.post("/api/v1/endpoints", body, format="json")
    assert (made.status_code, made.json()["objectives"]) == (201, SHOWN)
    return Endpoint.objects.get()


def test_they_are_shown_by_name_and_may_be_sent_back(api: APIClient, quote: Endpoint) -> None:
    seen = api.get(URL)
    assert seen.json()["objectives"] == SHOWN
    assert api.get("/api/v1/endpoints").json()["items"][0]["objectives"] == SHOWN
    events = Event.objects.count()
    again = api.put(URL, seen.json(), format="json", headers={"If-Match": seen["ETag"]})
    assert (again.status_code, again["ETag"]) == (200, seen["ETag"])
    assert Event.objects.count() == events, "nothing changed"


def test_the_list_replaces_what_there_was(api: APIClient, quote: Endpoint) -> None:
    stricter = {**ANSWERED, "target_percent": 99.99}
    changed = patch(api, [stricter], description="prices")
    assert [one["target_percent"] for one in changed.json()["objectives"]] == [99.99]
    verbs = Event.objects.order_by("seq").values_list("verb", flat=True)
    assert list(verbs)[-3:] == ["endpoint.updated", "objective.deleted", "objective.set"]
    assert patch(api, None).json()["objectives"] == []


def test_what_is_left_out_stays(api: APIClient, quote: Endpoint) -> None:
    assert api.patch(URL, {"description": "x"}, format="json").json()["objectives"] == SHOWN
    assert api.put(URL, {}, format="json").json()["objectives"] == SHOWN


@pytest.mark.parametrize(
    ("objectives", "field"),
    [
        ([QUICK, {**ANSWERED, "target_percent": 100}], "objectives.1.target_percent"),
        ([{**QUICK, "threshold_ms": 123}], "objectives.0.threshold_ms"),
        ([{**QUICK, "name": "a b"}], "objectives.0.name"),
        ([QUICK, ANSWERED, QUICK], "objectives.2.name"),
        ([{"name": "fast", "kind": "latency"}], "objectives.0.target_percent"),
        ([{**QUICK, "treshold_ms": 1}], "objectives.0.treshold_ms"),
        ({"name": "fast"}, "objectives"),
    ],
)
@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_a_refused_objective_changes_nothing_of_the_endpoint(
    api: APIClient, quote: Endpoint, objectives: Any, field: str, query: str
) -> None:
    before = (api.get(URL).json(), Event.objects.count())
    body = {"description": "new", "objectives": objectives}
    refused = api.patch(f"{URL}{query}", body, format="json")
    assert refused.status_code == 400
    assert refused.json()["field"] == field
    assert field in refused.json()["detail"]
    assert (api.get(URL).json(), Event.objects.count()) == before


def test_a_refused_endpoint_brings_no_objective(api: APIClient, quote: Endpoint) -> None:
    refused = patch(api, [], traffic={"nobody": 100})
    assert refused.status_code == 400
    assert ObjectiveRow.objects.count() == 2


def test_no_endpoint_is_made_where_an_objective_is_refused(api: APIClient) -> None:
    body = {"name": "other", "objectives": [{**ANSWERED, "window_days": 90}]}
    assert api.post("/api/v1/endpoints", body, format="json").status_code == 400
    assert not Endpoint.objects.exists()


def test_more_than_ten_are_refused(api: APIClient, quote: Endpoint) -> None:
    many = [{**ANSWERED, "name": f"one-{number}"} for number in range(11)]
    refused = patch(api, many)
    assert (refused.status_code, refused.json()["code"]) == (409, "TooManyObjectives")
    assert api.get(URL).json()["objectives"] == SHOWN


def test_a_dry_run_keeps_what_there_is(api: APIClient, quote: Endpoint) -> None:
    asked = api.patch(f"{URL}?dry_run=true", {"objectives": []}, format="json")
    assert asked.status_code == 204
    assert ObjectiveRow.objects.count() == 2


def test_who_saw_other_objectives_is_told_who_changed_them(api: APIClient, quote: Endpoint) -> None:
    seen = api.get(URL)["ETag"]
    api.delete(f"{URL}/objectives/quick")
    late = api.patch(URL, {"objectives": []}, format="json", headers={"If-Match": seen})
    assert late.status_code == 412
    assert late.json()["changed"]["what"] == "Objective quick was removed"


def test_viewers_change_none(quote: Endpoint) -> None:
    viewer = APIClient()
    viewer.force_authenticate(make_user("vera", User.Role.VIEWER))
    assert patch(viewer, []).status_code == 403
    assert ObjectiveRow.objects.count() == 2
