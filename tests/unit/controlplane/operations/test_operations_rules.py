"""Rules by header and what clients are told apart by, over REST: written, refused, and let go."""

from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import Rule, Sticky, routing_view
from tests.support.placed_replicas import blue_and_green
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
TRAFFIC = f"{DIGITS}/traffic"
TESTERS = {"header": "X-Group", "exact": "testers", "deployment": "green"}
KEPT = {**TESTERS, "header": "x-group"}


@pytest.fixture
def ready(db: None) -> None:
    blue_and_green()


def put(api: APIClient, **body: Any) -> Any:
    return api.put(TRAFFIC, body, format="json")


def test_rules_are_kept_shown_routed_and_recorded(api: APIClient, ready: None) -> None:
    before = Endpoint.objects.get()
    tag = api.get(TRAFFIC)["ETag"]
    answer = put(api, traffic_rules=[TESTERS])
    shown = answer.json()
    assert answer.status_code == 200, answer.content
    assert (shown["traffic_rules"], shown["traffic"]) == ([KEPT], before.traffic)
    assert (shown["routed"], shown["moved_percent"]) == (False, 0)
    assert api.get(TRAFFIC).json()["traffic_rules"] == [KEPT]
    assert answer["ETag"] != tag
    assert Endpoint.objects.get().generation == before.generation + 1
    (routed,) = routing_view().endpoints
    assert routed.rules == (Rule("x-group", "exact", "testers", "green"),)
    event = Event.objects.get(verb="endpoint.rules_changed")
    assert "x-group = testers -> green" in event.message
    assert (event.data["traffic_rules"], event.data["before"]) == ([KEPT], [])
    assert put(api, traffic_rules=[TESTERS]).json()["etag"] == shown["etag"]
    assert Event.objects.filter(verb="endpoint.rules_changed").count() == 1


def test_who_has_seen_another_state_changes_nothing(api: APIClient, ready: None) -> None:
    tag = api.get(TRAFFIC)["ETag"]
    put(api, traffic_rules=[TESTERS])
    stale = api.put(TRAFFIC, {"traffic_rules": []}, format="json", HTTP_IF_MATCH=tag)
    assert (stale.status_code, stale.json()["code"]) == (412, "PreconditionFailed")
    assert "Traffic rules of digits" in stale.json()["detail"]
    assert Endpoint.objects.get().traffic_rules == [KEPT]


def test_all_that_is_said_happens_or_nothing(api: APIClient, ready: None) -> None:
    half = {"blue": 50, "green": 50}
    wrong = put(api, traffic_rules=[TESTERS], sticky={"header": "x-user"}, traffic={"blue": 7})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "TrafficInvalid")
    row = Endpoint.objects.get()
    assert (row.traffic_rules, row.sticky) == ([], None)
    right = put(api, traffic_rules=[TESTERS], sticky={"header": "X-User"}, traffic=half).json()
    assert right["sticky"] == {"header": "x-user"}
    assert (right["traffic"], right["traffic_rules"]) == (half, [KEPT])
    patched = api.patch(DIGITS, {"traffic_rules": [], "sticky": None}, format="json").json()
    assert (patched["traffic_rules"], patched["sticky"], patched["traffic"]) == ([], None, half)


@pytest.mark.parametrize(
    ("rule", "field", "why"),
    [
        ({"header": "authorization"}, "traffic_rules.0.header", "keys or sessions"),
        ({"header": "x-shoal-endpoint"}, "traffic_rules.0.header", "gateway's own"),
        ({"header": "transfer-encoding"}, "traffic_rules.0.header", "of the connection"),
        ({"exact": "a\r\nb"}, "traffic_rules.0.exact", "printable ASCII"),
        ({"regex": "(?=a)", "exact": None}, "traffic_rules.0.regex", "RE2"),
        ({"regex": "a{1000}", "exact": None}, "traffic_rules.0.regex", "counts"),
        ({"prefix": "a"}, "traffic_rules.0", "one of exact, prefix, regex, or present: true"),
        ({"exact": None}, "traffic_rules.0", "none of them"),
        ({"present": False, "exact": None}, "traffic_rules.0", "present: false"),
        ({"deployment": "red"}, "traffic_rules", "no deployment red"),
        ({"weight": 3}, "traffic_rules.0.weight", "weight"),
    ],
)
def test_a_refusal_says_which_field_and_why(
    api: APIClient, ready: None, rule: dict[str, Any], field: str, why: str
) -> None:
    asked = {name: value for name, value in {**TESTERS, **rule}.items() if value is not None}
    answer = put(api, traffic_rules=[asked])
    told = answer.json()
    assert answer.status_code == 400, told
    assert told["field"] == field
    assert why.lower() in told["detail"].lower()
    assert Endpoint.objects.get().traffic_rules == []


def test_more_rules_than_a_gateway_shall_ask_are_refused(api: APIClient, ready: None) -> None:
    many = [{**TESTERS, "exact": f"t{number}"} for number in range(17)]
    assert put(api, traffic_rules=many).json()["field"] == "traffic_rules"
    assert put(api, traffic_rules=many[:16]).status_code == 200
    assert put(api).status_code == 400


@pytest.mark.parametrize(
    ("sticky", "kept"),
    [
        ({"cookie": "arm"}, {"cookie": "arm", "max_age_s": 86_400}),
        ({"cookie": "arm", "max_age_s": 60}, {"cookie": "arm", "max_age_s": 60}),
        ({"header": "X-User"}, {"header": "x-user"}),
    ],
)
def test_what_clients_are_told_apart_by(
    api: APIClient, ready: None, sticky: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert put(api, sticky=sticky).json()["sticky"] == kept
    (routed,) = routing_view().endpoints
    kind = next(iter(kept))
    assert routed.sticky == Sticky(kind, kept[kind], kept.get("max_age_s", 0), (("blue", 100),))
    assert put(api, sticky=None).json()["sticky"] is None


@pytest.mark.parametrize(
    ("sticky", "field"),
    [
        ({}, "sticky"),
        ({"header": "x-user", "cookie": "arm"}, "sticky"),
        ({"header": "authorization"}, "sticky.header"),
        ({"header": "cookie"}, "sticky.header"),
        ({"cookie": "a; Domain=evil.example"}, "sticky.cookie"),
        ({"cookie": "arm", "max_age_s": 0}, "sticky.max_age_s"),
        ({"header": "x-user", "max_age_s": 60}, "sticky.max_age_s"),
    ],
)
def test_what_nobody_is_told_apart_by(
    api: APIClient, ready: None, sticky: dict[str, Any], field: str
) -> None:
    answer = put(api, sticky=sticky)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


def test_each_split_keeps_the_slots_of_the_one_before(api: APIClient, ready: None) -> None:
    put(api, sticky={"header": "x-user"}, traffic={"blue": 70, "green": 30})
    assert Endpoint.objects.get().sticky_slots == [["blue", 70], ["green", 30]]
    put(api, traffic={"blue": 60, "green": 40})
    put(api, traffic={"blue": 100})
    put(api, traffic={"blue": 40, "green": 60})
    (routed,) = routing_view().endpoints
    assert routed.sticky is not None
    assert routed.sticky.slots == (("blue", 40), ("green", 60))
    # what writes the shares alone, as a control plane of before does
    Endpoint.objects.update(traffic={"blue": 50, "green": 50})
    (routed,) = routing_view().endpoints
    assert routed.sticky is not None
    assert routed.sticky.slots == (("blue", 40), ("green", 50), ("blue", 10))


def test_a_deployment_that_a_rule_names_is_not_deleted_unless_forced(api: APIClient) -> None:
    blue_and_green()
    put(api, traffic_rules=[TESTERS, {**TESTERS, "exact": "b", "deployment": "blue"}])
    refused = api.delete(f"{DIGITS}/deployments/green")
    assert (refused.status_code, refused.json()["code"]) == (409, "DeploymentHasTraffic")
    assert "x-group = testers -> green" in refused.json()["detail"]
    assert api.delete(f"{DIGITS}/deployments/green?force=true").status_code == 202
    (left,) = Endpoint.objects.get().traffic_rules
    assert left["deployment"] == "blue"
    event = Event.objects.filter(verb="endpoint.rules_changed").latest("seq")
    assert len(event.data["before"]) == 2
    (routed,) = routing_view().endpoints
    assert [rule.deployment for rule in routed.rules] == ["blue"]
    # on its way out it gets no new ones
    late = put(api, traffic_rules=[TESTERS])
    assert (late.status_code, late.json()["code"]) == (400, "RuleInvalid")


def test_who_answers_by_rule_is_neither_paused_nor_replaced(api: APIClient, ready: None) -> None:
    put(api, traffic_rules=[TESTERS])
    paused = api.post(f"{DIGITS}/deployments/green/stop")
    assert (paused.status_code, paused.json()["code"]) == (409, "DeploymentHasTraffic")
    assert "x-group = testers -> green" in paused.json()["detail"]
    model_register(content=b"another")
    body = {"model": "digits", "endpoint": "digits"}
    taken = api.post("/api/v1/deploy", body, format="json")
    assert (taken.status_code, taken.json()["code"]) == (409, "NameTaken")
    assert "by a share or a rule" in taken.json()["detail"]
    named = api.post("/api/v1/deploy", {**body, "deployment": "green"}, format="json")
    assert (named.status_code, named.json()["code"]) == (409, "DeploymentHasTraffic")
    put(api, traffic_rules=[])
    assert api.post("/api/v1/deploy", body, format="json").json()["deployment"] == "green"


def test_a_rollout_moves_shares_and_leaves_rules(api: APIClient, ready: None) -> None:
    put(api, traffic_rules=[TESTERS], sticky={"header": "x-user"})
    plan = {"deployment": "green", "steps": [{"percent": 10, "hold_s": 60}, {"percent": 100}]}
    assert api.post(f"{DIGITS}/rollouts", plan, format="json").status_code == 201
    row = Endpoint.objects.get()
    assert (row.traffic_rules, row.sticky_slots) == ([KEPT], [["blue", 90], ["green", 10]])
    assert put(api, traffic={"blue": 100}).json()["code"] == "RolloutInProgress"
    both = put(api, traffic_rules=[], traffic={"blue": 100})
    assert both.json()["code"] == "RolloutInProgress"
    assert Endpoint.objects.get().traffic_rules == [KEPT]
    assert put(api, traffic_rules=[]).status_code == 200
    assert api.get(f"{DIGITS}/rollouts").json()["items"][0]["state"] not in ("aborted",)


def test_endpoints_of_before_have_neither(api: APIClient) -> None:
    SimulatedNode()
    api.post("/api/v1/endpoints", {"name": "digits", "sticky": {"header": "x-a"}}, format="json")
    gateway_confirms()
    assert api.get(DIGITS).json()["sticky"] == {"header": "x-a"}
    sent_back = api.put(DIGITS, api.get(DIGITS).json(), format="json")
    assert (sent_back.status_code, sent_back.json()["sticky"]) == (200, {"header": "x-a"})
    assert api.put(DIGITS, {"tags": {}}, format="json").json()["sticky"] is None


def test_control_planes_of_before_make_endpoints_beside_this_one(ready: None) -> None:
    """Their INSERT does not name the new columns."""
    known = [field.column for field in Endpoint._meta.concrete_fields]
    new = {"id", "traffic_rules", "sticky", "sticky_slots"}
    columns = [column for column in known if column not in new]
    values = ["'older'" if column == "name" else column for column in columns]
    table = Endpoint._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM {table}"
        )
    made = Endpoint.objects.get(name="older")
    assert (made.traffic_rules, made.sticky, made.sticky_slots) == ([], None, [])
