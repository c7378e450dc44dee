"""Instance types over REST; placement before a deployment exists; GPUs that replicas are given."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Replica
from controlplane.nodes.models import Node
from controlplane.registry.models import UnpackedFile, Upload
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.messages import GpuInfo

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
GB = 10**9
TYPES = "/api/v1/instance-types"
PREVIEW = "/api/v1/placement/preview"
BLUE = "/api/v1/endpoints/digits/deployments/blue"


def card(index: int, *, used: int = 0) -> GpuInfo:
    return GpuInfo(index, f"GPU-{index}", "Tesla T4", 16 * GB, used)


def post(client: APIClient, path: str, **body: Any) -> Any:
    return client.post(path, body, format="json")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("gpu", "gpu"),
        ("GPU", "gpu"),
        ("STANDARD_NC4AS_T4_V3", "gpu"),
        ("Standard_NC6s_v3", "gpu"),
        ("standard_ds3_v2", "cpu"),
        ("Standard_NC64as_T4_v3", "gpu-4"),
    ],
)
def test_azures_names_are_known_whatever_their_case(api: APIClient, name: str, found: str) -> None:
    assert api.get(f"{TYPES}/{name}").json()["name"] == found


def test_made_changed_and_deleted_by_administrators(admin_api: APIClient) -> None:
    made = post(admin_api, TYPES, name="Large", aliases=["Standard_Big"], gpu_count=2, cpu_count=8)
    assert made.status_code == 201
    body = made.json()
    assert (body["name"], body["gpu_policy"], body["used_by"]) == ("large", "required", 0)
    changed = admin_api.patch(f"{TYPES}/STANDARD_BIG", {"gpu_count": 1}, format="json").json()
    assert (changed["name"], changed["gpu_count"], changed["cpu_count"]) == ("large", 1, 8)
    names = [row["name"] for row in admin_api.get(TYPES).json()["items"]]
    assert names == ["cpu", "gpu", "gpu-2", "gpu-4", "gpu-8", "large"]
    assert admin_api.delete(f"{TYPES}/large").status_code == 204
    assert admin_api.get(f"{TYPES}/large").json()["code"] == "InstanceTypeNotFound"
    changes = Event.objects.filter(subject="instance-type/large").order_by("seq")
    assert [event.verb for event in changes] == [
        "instance_type.created", "instance_type.changed", "instance_type.deleted",
    ]  # fmt: skip
    assert changes[1].data["before"]["gpu_count"] == 2
    assert changes[1].data["after"]["gpu_count"] == 1


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"name": "a b"}, "NameInvalid", "name"),
        ({"name": "GPU"}, "NameTaken", "name"),
        ({"name": "new", "aliases": ["STANDARD_nc6"]}, "NameTaken", "aliases"),
        ({"name": "new", "gpu_count": -1}, "BadArgument", "gpu_count"),
        ({"name": "new", "memory_bytes": 2**70}, "BadArgument", "memory_bytes"),
        ({"name": "new", "gpu_policy": "maybe"}, "BadArgument", "gpu_policy"),
    ],
)
def test_what_is_no_instance_type(
    admin_api: APIClient, body: dict[str, object], code: str, field: str
) -> None:
    answer = admin_api.post(TYPES, body, format="json")
    assert (answer.json()["code"], answer.json()["field"]) == (code, field)
    assert answer.status_code in (400, 409)


def test_a_list_says_which_nodes_would_take_one(api: APIClient) -> None:
    SimulatedNode("plain")
    SimulatedNode("fast", gpus=(card(0),))
    nodes = {row["name"]: row["nodes"] for row in api.get(TYPES).json()["items"]}
    assert nodes["cpu"] == ["plain", "fast"]  # processors first, GPUs are spared
    assert nodes["gpu"] == ["fast", "plain"]


def test_a_preview_tells_of_every_node_and_writes_nothing(api: APIClient) -> None:
    model_register()
    SimulatedNode("plain")
    SimulatedNode("fast", gpus=(card(0), card(1, used=15 * GB)))
    wanted = {"model": "digits", "instance_type": "Standard_NC6s_v3", "instance_count": 2}
    body = post(api, PREVIEW, **wanted).json()
    assert (body["instance_type"], body["placeable"], body["why_not"]) == ("gpu", 2, "")
    assert [row["node"] for row in body["assigned"]] == ["fast", "fast"]
    # the small model fits twice beside what is there, the emptier card first
    assert {uuid for row in body["assigned"] for uuid in row["gpus"]} <= {"GPU-0", "GPU-1"}
    best, other = body["items"]
    assert (best["node"], best["rank"], best["gpus"]) == ("fast", 1, ["GPU-1"])
    assert "it would run on processors" in str(other["checks"])
    assert body["estimate"]["gpu_count"] == 1
    assert body["estimate"]["gpu_memory_bytes"] == int(body["estimate"]["download_bytes"] * 1.5)
    assert (Deployment.objects.count(), Replica.objects.count()) == (0, 0)


def test_a_preview_of_an_upload_that_is_not_registered(api: APIClient, deployer: User) -> None:
    SimulatedNode("fast", gpus=(card(0),))
    upload = Upload.objects.create(
        id="u1",
        filename="digits.onnx",
        size=GB,
        state=Upload.State.READY,
        inspection={"models": [{"name": "digits", "backend": "onnxruntime"}], "problems": []},
        created_by=deployer,
        expires_at=timezone.now() + timedelta(days=1),
    )
    UnpackedFile.objects.create(upload=upload, path="digits/1/net", size=GB, sha256="0" * 64)
    body = post(api, PREVIEW, upload_id=upload.id, instance_type="gpu", instance_count=2).json()
    assert body["estimate"] == {
        "download_bytes": GB, "gpu_count": 1, "gpu_memory_bytes": GB * 3 // 2,
    }  # fmt: skip
    assert [(row["node"], row["gpus"]) for row in body["assigned"]] == [("fast", ["GPU-0"])] * 2
    Upload.objects.update(state=Upload.State.INSPECTING)
    late = post(api, PREVIEW, upload_id=upload.id).json()
    assert (late["code"], late["field"]) == ("BadArgument", "upload_id")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "BadArgument"),
        ({"model": "digits", "upload_id": "u1"}, "BadArgument"),
        ({"upload_id": "u1"}, "UploadNotFound"),
        ({"model": "nothing"}, "ModelNotFound"),
        ({"model": "digits", "instance_type": "Standard_NC6s_v33"}, "InstanceTypeUnknown"),
        ({"model": "digits", "anti_affinity": "strict"}, "BadArgument"),
    ],
)
def test_a_preview_of_what_cannot_be(api: APIClient, body: dict[str, object], code: str) -> None:
    model_register()
    assert api.post(PREVIEW, body, format="json").json()["code"] == code


def test_of_many_nodes_as_many_are_told_of_as_are_asked_for(api: APIClient) -> None:
    model_register()
    for name in ("east-1", "east-2", "west-1", "west-2"):
        SimulatedNode(name)
    Node.objects.filter(name="east-1").update(cordoned=True)
    asked = {"model": "digits", "instance_count": 2}
    whole = post(api, PREVIEW, **asked).json()
    assert (len(whole["items"]), whole["matching"], whole["fitting"]) == (4, 4, 3)
    given = {one["node"] for one in whole["assigned"]}
    short = post(api, PREVIEW, **asked, limit=2).json()
    assert {one["node"] for one in short["items"]} == given  # where it would run comes first
    assert (short["matching"], short["fitting"], short["placeable"]) == (4, 3, 2)
    east = post(api, PREVIEW, **asked, q="EAST", limit=1).json()
    assert ([one["node"] for one in east["items"]], east["matching"]) == (["east-2"], 2)
    seen, cursor = [], ""
    while cursor is not None:
        page = post(api, PREVIEW, **asked, limit=1, cursor=cursor)
        assert "Link" not in page.headers  # the cursor stands in the body
        seen += [one["node"] for one in page.json()["items"]]
        cursor = page.json()["next_cursor"]
    assert seen == [one["node"] for one in whole["items"]]
    assert (set(seen[:2]), seen[-1]) == (given, "east-1")
    wrong = post(api, PREVIEW, **asked, cursor="east-1")
    assert (wrong.status_code, wrong.json()["field"]) == (400, "cursor")
    refused = post(api, PREVIEW, **asked, limit=0)
    assert (refused.status_code, refused.json()["field"]) == (400, "limit")


def test_nodes_are_read_by_their_names(api: APIClient) -> None:
    for name in ("east-1", "east-2", "west-1"):
        SimulatedNode(name)
    answer = api.get("/api/v1/nodes?names=west-1,east-1,gone").json()
    assert ([row["name"] for row in answer["items"]], answer["total"]) == (["east-1", "west-1"], 2)
    many = ",".join(f"n{number}" for number in range(501))
    refused = api.get(f"/api/v1/nodes?names={many}")
    assert (refused.status_code, refused.json()["field"]) == (400, "names")


def test_a_wrong_name_is_told_the_right_one(api: APIClient) -> None:
    model_register()
    answer = post(api, PREVIEW, model="digits", instance_type="Standard_NC4as_T4_v4").json()
    assert answer["field"] == "instance_type"
    assert "Standard_NC4as_T4_v3" in answer["hints"][0]


def test_replicas_see_the_gpus_that_they_were_given(api: APIClient) -> None:
    model_register()
    node = SimulatedNode("fast", gpus=(card(0), card(1)))
    post(api, "/api/v1/deploy", model="digits", instance_count=3, instance_type="gpu")
    visible = sorted(r.environment["CUDA_VISIBLE_DEVICES"] for r in node.desired().replicas)
    assert visible == ["GPU-0", "GPU-0", "GPU-1"]
    node.bring_up()
    gateway_confirms()
    shown = api.get(BLUE).json()
    assert shown["instance_type"] == "gpu"
    assert sorted(replica["gpus"][0] for replica in shown["replicas"]) == visible


def test_a_processor_type_hides_gpus_and_no_type_hides_nothing(api: APIClient) -> None:
    model_register()
    node = SimulatedNode("fast", gpus=(card(0),))
    post(api, "/api/v1/deploy", model="digits", endpoint="one", instance_type="cpu")
    post(api, "/api/v1/deploy", model="digits", endpoint="two")
    by_endpoint = {replica.endpoint: replica.environment for replica in node.desired().replicas}
    assert by_endpoint == {"one": {"CUDA_VISIBLE_DEVICES": ""}, "two": {}}


def test_what_azure_yaml_declares_is_acted_on_when_it_is_known(api: APIClient) -> None:
    model_register()
    SimulatedNode("plain")
    api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    path = "/api/v1/endpoints/digits/deployments"
    for name, declared, found in [
        ("blue", "STANDARD_NC4AS_T4_V3", "gpu"),
        ("green", "Standard_Unheard_Of", None),
    ]:
        made = post(api, path, name=name, model="digits", declared={"instance_type": declared})
        assert made.status_code == 202
        shown = api.get(f"{path}/{name}").json()
        assert (shown["instance_type"], shown["declared"]) == (found, {"instance_type": declared})


def test_a_type_in_use_stays_and_another_one_rolls(api: APIClient, admin_api: APIClient) -> None:
    model_register()
    node = SimulatedNode("plain")
    post(admin_api, TYPES, name="mine")
    post(api, "/api/v1/deploy", model="digits", instance_type="mine")
    node.bring_up()
    gateway_confirms()
    refused = admin_api.delete(f"{TYPES}/mine")
    assert (refused.status_code, refused.json()["used_by"]) == (409, ["digits/blue"])
    assert post(api, f"{BLUE}/update", instance_type="cpu").status_code == 202
    node.bring_up()
    gateway_confirms()
    assert api.get(BLUE).json()["instance_type"] == "cpu"
    revisions = api.get(f"{BLUE}/revisions").json()["items"]
    assert [row["instance_type"] for row in revisions] == ["cpu", "mine"]
    assert admin_api.delete(f"{TYPES}/mine").status_code == 204
    revisions = api.get(f"{BLUE}/revisions").json()["items"]
    assert [row["instance_type"] for row in revisions] == ["cpu", None]


def test_anti_affinity_keeps_replicas_apart_but_lets_updates_pass(api: APIClient) -> None:
    model_register()
    node = SimulatedNode("only")
    post(api, "/api/v1/deploy", model="digits", anti_affinity="required")
    node.bring_up()
    gateway_confirms()
    api.patch(BLUE, {"instance_count": 2}, format="json")
    why = api.get(f"{BLUE}/placement").json()["items"]
    assert why[0]["reason"] == "runs a replica of this deployment already"
    operation = api.get("/api/v1/operations").json()["items"][0]
    assert "runs a replica of this deployment" in operation["stages"][0]["detail"]
    api.post(f"/api/v1/operations/{operation['id']}/cancel")
    assert post(api, f"{BLUE}/update", environment={"APP_A": "1"}).status_code == 202
    node.bring_up()
    gateway_confirms()
    shown = api.get(BLUE).json()
    assert (shown["provisioning_state"], shown["environment"]) == ("Succeeded", {"APP_A": "1"})


def test_a_node_without_the_sandbox_that_is_required_is_avoided(
    api: APIClient, settings: Any
) -> None:
    model_register()
    node = SimulatedNode("open")
    node.info = replace(node.info, sandbox={"files": True, "calls": False, "memory": False})
    node.report()
    (verdict,) = post(api, PREVIEW, model="digits").json()["items"]
    assert verdict["reason"] is None
    settings.SHOAL_SANDBOX = "require"
    (verdict,) = post(api, PREVIEW, model="digits").json()["items"]
    assert verdict["reason"] == "it has no sandbox for calls, network, which is required"
    assert api.get("/api/v1/nodes/open").json()["info"]["sandbox"]["calls"] is False
    node.info = replace(node.info, sandbox={"files": True, "calls": True, "network": True})
    node.report()
    (verdict,) = post(api, PREVIEW, model="digits").json()["items"]
    assert verdict["reason"] is None


def test_a_full_disk_is_shown_and_avoided(api: APIClient) -> None:
    model_register()
    node = SimulatedNode("full")
    node.info = replace(node.info, disk_pressure=True)
    node.report()
    (verdict,) = post(api, PREVIEW, model="digits").json()["items"]
    assert "nearly full" in verdict["reason"]
    assert api.get("/api/v1/nodes/full").json()["info"]["disk_pressure"] is True
