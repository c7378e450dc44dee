"""Capacity over REST: what is told, to whom, and what it costs the database."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import Project, User
from controlplane.core.models import Event
from controlplane.deployments.models import (
    Deployment,
    Endpoint,
    InstanceType,
    LoadSweep,
    Replica,
)
from controlplane.metrics.models import RollUp
from controlplane.nodes.models import Node
from controlplane.registry.models import Model
from tests.support.deployment_rows import deployment_add
from tests.support.project_world import member
from tests.support.registered_models import model_register
from tests.support.rows_read import rows_read

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
GB = 10**9
URL = "/api/v1"
HOUR = 3600
INFO = {
    "backends": ["onnxruntime"], "cpu_count": 8, "cpu_utilization": 0.25,
    "memory_total_bytes": 32 * GB, "memory_used_bytes": 8 * GB,
    "disk_total_bytes": 10**12, "disk_free_bytes": 10**11,
}  # fmt: skip


def nodes_add(*names: str, **info: Any) -> None:
    now = timezone.now()
    Node.objects.bulk_create(
        Node(id=name, name=name, last_seen_at=now, online_since=now, info={**INFO, **info})
        for name in names
    )


def deployed(name: str, *places: str, project: str = "default", **values: Any) -> Deployment:
    """An endpoint with one deployment, made two days ago, whose replicas are ready."""
    model = Model.objects.create(name=f"{name}-net", project_id=project)
    endpoint = Endpoint.objects.create(
        name=name, created_by="dora", project_id=project, traffic={"blue": 100}
    )
    row = deployment_add(endpoint, model_register(model.name), instance_count=len(places), **values)
    Deployment.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(days=2))
    Replica.objects.bulk_create(
        Replica(
            id=f"{name}-{number}", deployment=row, revision=row.revision, ordinal=number,
            node_id=place, state="ready",
        )
        for number, place in enumerate(places)
    )  # fmt: skip
    return row


def hour(scope: str, ago: int, **data: Any) -> None:
    end = int(time.time() // HOUR * HOUR) - HOUR * ago
    RollUp.objects.create(scope=scope, span_s=HOUR, at=end, data=data)


def busy_hours(endpoint: str) -> None:
    """A quiet hour, and one of 3,600 requests whose instances were at work a quarter of it."""
    for ago, share in ((1, 0.05), (2, 0.25)):
        sums = {"busy_us": share * HOUR * 1e6, "success": 14_400 * share, "cpu_s": HOUR * share}
        answered = int(14_400 * share)
        hour(
            f"deployment/{endpoint}/blue", ago, s=HOUR, sums=sums,
            gauge={"instances": 1.0, "memory_bytes": 1.0 * GB}, gw={"s": HOUR, "n": answered},
        )  # fmt: skip


def get(client: APIClient, path: str, status: int = 200) -> Any:
    answer = client.get(f"{URL}/{path}")
    assert answer.status_code == status, answer.json()
    return answer.json()


def test_nodes_come_with_what_is_promised_used_and_idle(viewer_api: APIClient) -> None:
    gpu = {"uuid": "g1", "name": "T4", "memory_total_bytes": 16 * GB, "memory_used_bytes": GB}
    nodes_add("plain")
    nodes_add("gpu", gpus=[{**gpu, "index": 0, "utilization": 0.1}])
    deployed("digits", "gpu")
    Replica.objects.update(gpus=["g1"])
    page = get(viewer_api, "capacity/nodes")
    assert [(one["name"], one["replicas"]) for one in page["items"]] == [("plain", 0), ("gpu", 1)]
    assert page["items"][1]["gpus"] == {"total": 1.0, "promised": 1.0, "used": 0.1, "idle": 0.0}
    assert page["items"][0]["processors"] == {
        "total": 8.0, "promised": 0.0, "used": 2.0, "idle": 6.0,
    }  # fmt: skip
    glance = get(viewer_api, "capacity")
    assert glance["totals"]["memory"]["total"] == 64 * GB
    assert glance["priced"] is False
    assert glance["projects"][0]["per_hour"] is None


def test_nodes_come_in_pages_in_one_order(viewer_api: APIClient) -> None:
    for number in range(5):
        nodes_add(f"n{number}", cpu_utilization=(7 * number % 5) / 10)
    whole = [one["name"] for one in get(viewer_api, "capacity/nodes")["items"]]
    first = get(viewer_api, "capacity/nodes?limit=3")
    rest = get(viewer_api, f"capacity/nodes?limit=3&cursor={first['next_cursor']}")
    assert [one["name"] for one in first["items"] + rest["items"]] == whole
    assert rest["next_cursor"] is None
    assert get(viewer_api, "capacity/nodes?q=N3")["total"] == 1


def test_headroom_is_told_from_the_busiest_hour(viewer_api: APIClient) -> None:
    nodes_add("a")
    deployed("digits", "a")
    deployed("quiet", "a")
    busy_hours("digits")
    hour("node/a", 1, gauge={"host_cpu": 0.5})
    known, unknown = get(viewer_api, "capacity/deployments")["items"]
    assert known["headroom"]["times"] == pytest.approx(4.0)
    assert known["headroom"]["limit"] == "instances"
    assert known["measured"]["requests"] == 4320
    assert known["measured"]["request_rate"] == pytest.approx(1.0)
    assert unknown["headroom"] == {
        "times": None, "limit": "", "because": "Nothing of it was measured in the last day.",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("slo_us", "times", "where"),
    [(5000.0, 200.0, "within p95 ≤ 5 ms"), (0.0, 220.0, "at its knee"), (1.0, 4.0, "at work")],
)
def test_a_load_sweep_of_what_runs_now_tells_more(
    viewer_api: APIClient, slo_us: float, times: float, where: str
) -> None:
    nodes_add("a")
    row = deployed("digits", "a")
    busy_hours("digits")
    hour("node/a", 1, gauge={"host_cpu": 0.5})
    plan = {"model": "m", "mode": "concurrency", "levels": [1, 2, 4], "seconds": 1,
            "slo_percentile": 95 if slo_us else 0, "slo_us": slo_us}  # fmt: skip
    points = [
        {"level": level, "seconds": 1.0, "good": 9, "throughput": rate, "mean_us": mean,
         "p95_us": mean, "p99_us": mean}
        for level, rate, mean in ((1, 100.0, 3000.0), (2, 200.0, 5000.0), (4, 220.0, 5100.0))
    ]  # fmt: skip
    for key, measured in (("first", points[:1]), ("last", points), ("empty", [])):
        LoadSweep.objects.create(
            id=key, deployment=row, revision=row.revision, replica="digits-0", node_name="a",
            plan=plan, points=measured, state="Succeeded", deadline_at=timezone.now(),
            created_by="dora",
        )  # fmt: skip
    (item,) = get(viewer_api, "capacity/deployments")["items"]
    assert item["headroom"]["times"] == pytest.approx(times)
    assert where in item["headroom"]["because"]
    assert item["headroom"]["limit"] == ("sweep" if times > 4 else "instances")


def test_what_a_sweep_asked_is_no_request_of_clients(viewer_api: APIClient) -> None:
    """Nor are copies: gateways count neither, and the runtime counts both."""
    nodes_add("a")
    deployed("digits", "a")
    busy_hours("digits")
    taken = {"busy_us": 0.1 * HOUR * 1e6, "success": 500_000.0, "failure": 90.0, "cpu_s": 1.0}
    hour("deployment/digits/blue", 3, s=HOUR, sums=taken, gauge={"instances": 1.0})
    (item,) = get(viewer_api, "capacity/deployments")["items"]
    assert item["measured"]["request_rate"] == pytest.approx(1.0)


def test_figures_from_before_a_deployment_are_not_its_own(viewer_api: APIClient) -> None:
    nodes_add("a")
    deployed("digits", "a")
    busy_hours("digits")
    Deployment.objects.update(created_at=timezone.now())
    (item,) = get(viewer_api, "capacity/deployments")["items"]
    assert item["measured"] is None


def test_of_what_is_younger_than_an_hour_the_minutes_count(viewer_api: APIClient) -> None:
    nodes_add("a")
    row = deployed("digits", "a")
    Deployment.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(minutes=9))
    end = int(time.time() // 60 * 60)
    for ago, busy in ((1, 6e6), (2, 18e6)):
        RollUp.objects.create(
            scope="deployment/digits/blue", span_s=60, at=end - 60 * ago,
            data={
                "s": 60, "sums": {"busy_us": busy, "success": 60}, "gauge": {"instances": 1.0},
                "gw": {"s": 60, "n": 60},
            },
        )  # fmt: skip
    (item,) = get(viewer_api, "capacity/deployments")["items"]
    assert item["headroom"]["times"] == pytest.approx(5.0)
    assert item["measured"]["seconds"] == 120
    assert item["measured"]["request_rate"] == pytest.approx(1.0)


def test_a_lost_node_is_told_with_what_it_does_to_endpoints(viewer_api: APIClient) -> None:
    nodes_add("a", "b", "c")
    deployed("alone", "a")
    deployed("pair", "a", "b")
    found = get(viewer_api, "capacity/what-if?lost=a")
    assert {(one["replica"], one["to"]) for one in found["replicas"]} == {
        ("alone-0", "c"), ("pair-0", "c"),
    }  # fmt: skip
    assert found["endpoints"] == [{"endpoint": "alone", "traffic_lost": 100, "comes_back": True}]
    both = get(viewer_api, "capacity/what-if?lost=a&lost=b&lost=c")
    assert [one["to"] for one in both["replicas"]] == [None, None, None]
    assert {one["endpoint"]: one["comes_back"] for one in both["endpoints"]} == {
        "alone": False, "pair": False,
    }  # fmt: skip
    assert Replica.objects.filter(node="a").count() == 2  # nothing was changed


def test_the_loss_places_replicas_where_a_drain_does(admin_api: APIClient) -> None:
    nodes_add("a", "b", "c")
    for number in range(4):
        deployed(f"e{number}", "a", "b")
    lost = get(admin_api, "capacity/what-if?lost=a")["replicas"]
    drain = admin_api.post(f"{URL}/nodes/a/drain", {"dry_run": True}, format="json").json()
    assert {(one["replica"], one["to"]) for one in lost} == {
        (one["replica"], one["to"]) for one in drain["moves"]
    }


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [("", 400, "lost"), ("lost=nobody", 404, "nobody"), ("lost=", 400, "lost")],
)
def test_a_question_about_no_node_is_refused(
    viewer_api: APIClient, query: str, status: int, told: str
) -> None:
    assert told in str(get(viewer_api, f"capacity/what-if?{query}", status))


def test_room_for_more_is_what_placement_finds(viewer_api: APIClient) -> None:
    gpus = [
        {"uuid": f"g{n}", "index": n, "name": "T4", "memory_total_bytes": 16 * GB} for n in range(3)
    ]
    nodes_add("a", gpus=gpus)
    nodes_add("b")
    kind = InstanceType.objects.create(name="gpu-t4", gpu_count=2, gpu_memory_bytes=GB)
    row = deployed("digits", "a")
    unlimited = get(viewer_api, "endpoints/digits/deployments/blue/room")
    assert (unlimited["more"], unlimited["at_least"]) == (100, True)
    assert "101 replicas on 16 processors" in unlimited["note"]
    row.revision.instance_type = kind
    row.revision.save()
    Node.objects.filter(name="a").update(cordoned=True)
    found = get(viewer_api, "endpoints/digits/deployments/blue/room")
    assert (found["more"], found["at_least"], found["nodes"]) == (0, False, [])
    assert {"reason": "cordoned: it takes no new replicas", "nodes": 1} in found["reasons"]


PRICES = {
    "currency": "EUR", "instance_types": {"GPU-T4": 2}, "nodes": {"a": 0.5},
    "labels": [{"key": "zone", "value": "x", "per_hour": 1.25}],
}  # fmt: skip


def test_prices_make_costs(admin_api: APIClient) -> None:
    nodes_add("a")
    InstanceType.objects.create(name="gpu-t4")
    deployed("digits", "a", "a")
    busy_hours("digits")
    answer = admin_api.put(f"{URL}/prices", PRICES, format="json")
    assert answer.status_code == 200, answer.json()
    assert answer.json()["instance_types"] == {"gpu-t4": 2.0}  # by its own name
    (item,) = get(admin_api, "capacity/deployments")["items"]
    assert item["cost"] == {
        "per_hour": 0.5, "per_day": 12.0, "unpriced": 0,
        "per_1000_requests": pytest.approx(0.5 * 2 / 4.32),
    }  # fmt: skip
    assert get(admin_api, "capacity")["projects"][0]["per_hour"] == 0.5
    event = Event.objects.get(verb="prices.changed")
    assert event.data["after"]["nodes"] == {"a": 0.5}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"currency": ""}, "currency"),
        ({"instance_types": {"nothing": 1}}, "'nothing' is no instance type"),
        ({"nodes": {"a": -1}}, "nodes.a: -1, expected a number 0 to 1000000"),
        ({"nodes": {"a": "nan"}}, "expected a number 0"),
        ({"nodes": {"a": "Infinity"}}, "expected a number 0"),
        ({"labels": [{"key": "zone"}]}, "per_hour"),
        ({"price": 1}, "price is not known here"),
    ],
)
def test_prices_that_make_no_sense_are_refused(
    admin_api: APIClient, change: dict[str, Any], told: str
) -> None:
    InstanceType.objects.create(name="gpu-t4")
    answer = admin_api.put(f"{URL}/prices", {**PRICES, **change}, format="json")
    assert answer.status_code == 400
    assert told in str(answer.json())
    assert get(admin_api, "prices")["currency"] == ""


def test_who_has_seen_other_prices_does_not_overwrite_them(admin_api: APIClient) -> None:
    InstanceType.objects.create(name="gpu-t4")
    seen = admin_api.get(f"{URL}/prices")["ETag"]
    assert admin_api.put(f"{URL}/prices", PRICES, headers={"If-Match": seen}).status_code == 200
    again = admin_api.put(f"{URL}/prices", {"currency": "USD"}, headers={"If-Match": seen})
    assert again.status_code == 412
    assert get(admin_api, "prices")["currency"] == "EUR"


def test_waste_names_nodes_that_could_be_emptied(viewer_api: APIClient) -> None:
    nodes_add("a", "b")
    deployed("digits", "a")
    found = get(viewer_api, "capacity/waste")
    assert [(one["code"], one["subject"]) for one in found["items"]] == [
        ("node-empty", "b"), ("node-can-be-emptied", "a"),
    ]  # fmt: skip
    assert found["looked_at"] == 1


@pytest.fixture
def worlds(client_of: Callable[[User], APIClient]) -> APIClient:
    """Two projects on one node; the client of somebody who has a role in ``alpha`` alone."""
    nodes_add("secret-node")
    for name in ("alpha", "bravo"):
        Project.objects.create(name=name, created_by="ada")
        deployed(f"{name}-endpoint", "secret-node", project=name)
        for ago in (1, 2):
            hour(f"deployment/{name}-endpoint/blue", ago, s=HOUR, sums={}, gauge={})
    return client_of(member("alpha", "deployer"))


def test_a_member_sees_its_own_deployments_and_no_name_of_others(worlds: APIClient) -> None:
    for path in ("capacity", "capacity/deployments", "capacity/waste"):
        text = str(get(worlds, path))
        assert "alpha" in text
        assert "bravo" not in text, path
        assert "secret-node" not in text, path
    assert get(worlds, "capacity")["totals"]["replicas"] == 2  # how full it is, in sums
    assert len(get(worlds, "capacity/deployments")["items"]) == 1
    assert get(worlds, "capacity/deployments?q=bravo")["items"] == []
    get(worlds, "endpoints/alpha-endpoint/deployments/blue/room")
    get(worlds, "endpoints/bravo-endpoint/deployments/blue/room", 404)


def test_a_member_learns_nothing_of_nodes_and_prices(worlds: APIClient) -> None:
    for path in ("capacity/nodes", "capacity/what-if?lost=secret-node", "prices"):
        get(worlds, path, 403)
    assert worlds.put(f"{URL}/prices", {"currency": "EUR"}, format="json").status_code == 403


def test_a_viewer_sets_no_prices(viewer_api: APIClient) -> None:
    assert get(viewer_api, "prices")["currency"] == ""
    answer = viewer_api.put(f"{URL}/prices", {"currency": "EUR"}, format="json")
    assert answer.status_code == 403


NODES, DEPLOYMENTS = 1000, 200


@pytest.fixture
def many(viewer_api: APIClient) -> APIClient:
    """1,000 nodes, 200 deployments of ten replicas each, and their last day."""
    names = [f"n{number:04}" for number in range(NODES)]
    nodes_add(*names)
    version = model_register("digits")
    replicas, hours = [], []
    end = int(time.time() // HOUR * HOUR)
    for number in range(DEPLOYMENTS):
        endpoint = Endpoint.objects.create(name=f"e{number:03}", created_by="dora")
        row = deployment_add(endpoint, version)
        for ordinal in range(10):
            place = names[(number * 10 + ordinal) % NODES]
            replicas.append(
                Replica(
                    id=f"r{number}-{ordinal}", deployment=row, revision=row.revision,
                    ordinal=ordinal, node_id=place, state="ready",
                )
            )  # fmt: skip
        hours += [
            RollUp(
                scope=f"deployment/e{number:03}/blue", span_s=HOUR, at=end - HOUR * ago,
                data={"s": HOUR, "sums": {"busy_us": 1e9}, "gauge": {"instances": 1}},
            )
            for ago in range(24)
        ]  # fmt: skip
    hours += [
        RollUp(
            scope=f"node/{name}", span_s=HOUR, at=end - HOUR * ago,
            data={"gauge": {"host_cpu": 0.5}},
        )
        for name in names
        for ago in range(24)
    ]  # fmt: skip
    Replica.objects.bulk_create(replicas)
    RollUp.objects.bulk_create(hours)
    Deployment.objects.update(created_at=timezone.now() - timedelta(days=2))
    return viewer_api


def test_a_large_fleet_is_read_once(many: APIClient) -> None:
    """Nodes and replicas once each; of roll-ups 24 rows for each deployment that is shown, and one
    for each node."""
    replicas = 10 * DEPLOYMENTS
    budgets = {
        "capacity": (8, NODES + replicas + DEPLOYMENTS),
        "capacity/nodes?limit=100": (6, NODES + replicas),
        "capacity/deployments?limit=50": (10, NODES + replicas + 25 * 50 + NODES // 2),
        "capacity/what-if?lost=n0000": (13, 2 * (NODES + replicas) + 10),
        "endpoints/e000/deployments/blue/room": (16, NODES + replicas + 120),  # processors of 101
        "capacity/waste": (16, 2 * (NODES + replicas) + 26 * DEPLOYMENTS + DEPLOYMENTS + NODES),
    }
    for path, (queries, rows) in budgets.items():
        get(many, path)
        with rows_read("default", "metrics") as read:
            get(many, path)
        assert read.queries <= queries, path
        assert read.rows <= rows + 20, path
