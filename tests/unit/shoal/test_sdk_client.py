"""The SDK in azure-ai-ml's shape: pollers, entities that come back as they went, failures."""

import struct
from pathlib import Path

import pytest

from shoal import MLClient
from shoal.client import Client
from shoal.client.errors import OperationFailed, Problem, ShoalError
from shoal.constants import AssetTypes, ListViewType
from shoal.entities import (
    ManagedOnlineDeployment,
    ManagedOnlineEndpoint,
    Model,
    OnlineRequestSettings,
    load_model,
    load_online_deployment,
)
from shoal.sdk import LROPoller
from tests.support.shoal_server import FakeServer


@pytest.fixture
def ml_client(client: Client) -> MLClient:
    return MLClient(object(), "subscription", "group", "workspace", client=client)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models" / "model_1" / "1" / "model.onnx"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"graph")
    return tmp_path / "models"


def blue(models: Path, **more: object) -> ManagedOnlineDeployment:
    return ManagedOnlineDeployment(
        name="blue",
        endpoint_name="net",
        model=Model(name="net", version=1, path=models, type="triton_model"),  # type: ignore[arg-type]
        instance_type="Standard_NC6s_v3",
        instance_count=1,
        **more,  # type: ignore[arg-type]
    )


def test_the_document_s_lines_run_with_pollers_in_their_results_place(
    ml_client: MLClient, models: Path
) -> None:
    endpoint = ManagedOnlineEndpoint(name="net", auth_mode="key")
    endpoint = ml_client.online_endpoints.begin_create_or_update(endpoint)  # type: ignore[assignment]
    ml_client.online_deployments.begin_create_or_update(blue(models))
    endpoint.traffic = {"blue": 100}
    done = ml_client.online_endpoints.begin_create_or_update(endpoint).result()
    assert done.traffic == {"blue": 100}
    assert ml_client.online_endpoints.list_keys("net").primary_key == "net-1"  # type: ignore[union-attr]
    assert (
        ml_client.online_endpoints.get("net").scoring_uri == "https://gateway.test/endpoints/net/"
    )


def test_what_means_nothing_here_comes_back(ml_client: MLClient, models: Path) -> None:
    endpoint = ManagedOnlineEndpoint(
        name="net", properties={"a": "b"}, tags={"n": 3}, public_network_access="disabled"
    )
    ml_client.begin_create_or_update(endpoint).result()
    shown = ml_client.online_endpoints.get("net")
    assert shown.properties is not None and shown.properties["a"] == "b"
    assert (shown.tags, shown.public_network_access) == ({"n": "3"}, "disabled")
    probe = {"period": 7}
    ml_client.begin_create_or_update(blue(models, liveness_probe=probe)).result()
    deployment = ml_client.online_deployments.get("blue", "net")
    assert deployment.liveness_probe is not None and deployment.liveness_probe.period == 7
    assert deployment.instance_type == "Standard_NC6s_v3"


def test_request_settings_reach_the_gateway(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    first = OnlineRequestSettings(request_timeout_ms=3000, max_concurrent_requests_per_instance=2)
    ml_client.begin_create_or_update(blue(models, request_settings=first)).result()
    row = server.endpoints["net"]["deployments"][0]
    assert (row["request_timeout_ms"], row["max_concurrent_requests_per_instance"]) == (3000, 2)
    second = OnlineRequestSettings(max_concurrent_requests_per_instance=5)
    ml_client.begin_create_or_update(blue(models, request_settings=second)).result()
    shown = ml_client.online_deployments.get("blue", "net")
    assert shown.request_settings is not None
    assert shown.request_settings.max_concurrent_requests_per_instance == 5
    assert shown.request_settings.request_timeout_ms == 3000  # said before, not taken back


def test_a_queue_wait_goes_in_with_new_replicas(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()

    def put(**said: int) -> tuple[int | None, int]:
        settings = OnlineRequestSettings(**said)
        ml_client.begin_create_or_update(blue(models, request_settings=settings)).result()
        shown = ml_client.online_deployments.get("blue", "net")
        assert shown.request_settings is not None
        rolled = sum(row["kind"] == "deploy" for row in server.operations.values()) - 1
        return shown.request_settings.max_queue_wait_ms, rolled

    assert put(max_queue_wait_ms=200) == (200, 0)
    assert put(max_queue_wait_ms=200) == (200, 0)
    assert put(max_queue_wait_ms=300) == (300, 1)
    assert put(request_timeout_ms=5) == (300, 1)  # what is left out stays
    assert put(max_queue_wait_ms=0) == (None, 2)
    assert put(max_queue_wait_ms=0) == (None, 2)


def test_a_response_cache_goes_in_with_new_replicas(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()

    def put(size: int | None) -> tuple[int | None, int]:
        ml_client.begin_create_or_update(blue(models, response_cache_bytes=size)).result()
        rolled = sum(row["kind"] == "deploy" for row in server.operations.values()) - 1
        shown = ml_client.online_deployments.get("blue", "net")
        assert "response_cache_bytes" not in server.endpoints["net"]["deployments"][0]["declared"]
        return shown.response_cache_bytes, rolled

    assert put(65_536) == (65_536, 0)
    assert put(None) == (65_536, 0)  # what is left out stays
    assert put(131_072) == (131_072, 1)
    assert put(0) == (None, 2)
    assert put(0) == (None, 2)


def test_a_deployment_names_its_model(ml_client: MLClient, models: Path) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    ml_client.begin_create_or_update(blue(models)).result()
    deployment = ml_client.online_deployments.get("blue", "net")
    assert deployment.model == "azureml:net:1"


def test_a_poller_tells_stages_and_state(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    seen: list[str] = []
    poller: LROPoller[object] = ml_client.online_deployments.begin_create_or_update(blue(models))  # type: ignore[assignment]
    poller.on_progress = lambda operation: seen.append(operation["state"])
    assert [stage["title"] for stage in poller.stages] == ["Load"]
    assert poller.operation == "o1"
    assert poller.done()
    assert poller.status() == "Succeeded"
    assert seen[-1] == "Succeeded"


def test_a_failed_operation_raises_with_code_and_hints_each_time(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    server.operation_error = {"code": "ModelLoadFailed", "message": "no", "hints": ["Do."]}
    poller = ml_client.begin_create_or_update(blue(models))
    for _ in range(2):
        with pytest.raises(OperationFailed) as caught:
            poller.result()
        assert (caught.value.code, caught.value.hints) == ("ModelLoadFailed", ("Do.",))
    assert poller.status() == "Failed"


def test_an_endpoint_that_is_not_there_costs_no_upload(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    with pytest.raises(Problem) as caught:
        ml_client.online_deployments.begin_create_or_update(blue(models))
    assert caught.value.is_not_found
    assert server.uploads == {}


def test_a_model_without_a_name_is_called_by_its_content(ml_client: MLClient, models: Path) -> None:
    made = ml_client.models.create_or_update(Model(path=models))
    assert made.name is not None and len(made.name) == 64
    assert made.version == "1"


def test_archived_models_are_hidden_and_come_back(ml_client: MLClient, models: Path) -> None:
    ml_client.models.create_or_update(Model(name="net", path=models))
    ml_client.models.archive(name="net", version="1")
    assert list(ml_client.models.list("net")) == []
    (archived,) = ml_client.models.list("net", list_view_type="ArchivedOnly")
    assert archived.version == "1"
    again = ml_client.models.create_or_update(Model(name="net", path=models))
    assert (again.version, len(list(ml_client.models.list("net")))) == ("1", 1)


@pytest.mark.parametrize("disks", [1, 2])
def test_a_damaged_archive_is_for_the_server_to_judge(
    ml_client: MLClient, server: FakeServer, models: Path, tmp_path: Path, disks: int
) -> None:
    ml_client.models.create_or_update(Model(name="net", path=models))
    end = b"PK\5\6" + bytes(4) + struct.pack("<HHLLH", 1, 1, 46, 0, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 1, 0, disks)
    (tmp_path / "net.zip").write_bytes(b"torn" * 20 + locator + end)
    made = ml_client.models.create_or_update(Model(name="net", path=tmp_path / "net.zip"))
    assert made.version == "2"


@pytest.mark.parametrize(
    ("path", "said"), [("azureml://datastores/x", "local"), ("./nothing", "No such file")]
)
def test_paths_that_cannot_be_registered(ml_client: MLClient, path: str, said: str) -> None:
    with pytest.raises(ShoalError, match=said):
        ml_client.models.create_or_update(load_model({"name": "net", "path": path}))


def test_another_model_goes_in_without_a_gap(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    ml_client.begin_create_or_update(blue(models)).result()
    (models / "model_1" / "1" / "model.onnx").write_bytes(b"better graph")
    better = blue(models, tags={"tier": "gold"})
    better.model.version = "2"  # type: ignore[union-attr]
    made = ml_client.begin_create_or_update(better).result()
    assert (made.model, made.tags) == ("azureml:net:2", {"tier": "gold"})
    assert [row["kind"] for row in server.operations.values()] == ["deploy", "deploy"]
    assert server.calls.count("POST /endpoints/net/deployments") == 1


def test_a_changed_probe_goes_in_with_new_replicas(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    ml_client.begin_create_or_update(blue(models, liveness_probe={"period": 7})).result()
    row = server.endpoints["net"]["deployments"][0]
    row["liveness_probe"] = {"period": 7, "timeout": 2}  # completed by the installation
    ml_client.begin_create_or_update(blue(models, liveness_probe={"period": 7})).result()
    assert len(server.operations) == 1
    ml_client.begin_create_or_update(blue(models, liveness_probe={"period": 3})).result()
    assert len(server.operations) == 2
    assert row["liveness_probe"] == {"period": 3, "timeout": 2}
    ml_client.begin_create_or_update(blue(models)).result()
    assert len(server.operations) == 2


def test_a_change_is_one_request_so_that_none_is_half_applied(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    ml_client.begin_create_or_update(blue(models, tags={"whose": "winner"})).result()
    row = server.endpoints["net"]["deployments"][0]
    row["provisioning_state"] = "Creating"  # as who comes second, or updates meanwhile, sees it
    second = blue(models, tags={"whose": "loser"}, description="again")
    second.instance_count = 2
    before = len(server.calls)
    with pytest.raises(Problem, match="Another change") as refused:
        ml_client.begin_create_or_update(second)
    assert refused.value.code == "OperationInProgress"
    assert (row["tags"], row["description"]) == ({"whose": "winner"}, "")
    writes = [call for call in server.calls[before:] if not call.startswith("GET")]
    assert [call for call in writes if "endpoints" in call] == [
        "PATCH /endpoints/net/deployments/blue"
    ]


def test_an_endpoint_s_change_is_one_request(ml_client: MLClient, server: FakeServer) -> None:
    shared = ManagedOnlineEndpoint(name="net", traffic={"blue": 100})
    with pytest.raises(ShoalError, match="no endpoint net yet"):
        ml_client.begin_create_or_update(shared)
    assert server.endpoints == {}
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    shared.tags, before = {"a": "b"}, len(server.calls)
    ml_client.begin_create_or_update(shared).result()
    writes = [call for call in server.calls[before:] if not call.startswith("GET")]
    assert writes == ["PATCH /endpoints/net"]


def test_a_model_may_be_given_later_than_the_file(
    ml_client: MLClient, server: FakeServer, models: Path, tmp_path: Path
) -> None:
    file = tmp_path / "deployment.yml"
    file.write_text("name: blue\nendpoint_name: net\ninstance_count: 2\n")
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    deployment = load_online_deployment(file)
    with pytest.raises(ShoalError, match="blue has no model"):
        ml_client.begin_create_or_update(deployment)
    assert server.endpoints["net"]["deployments"] == []
    deployment.model = Model(name="net", path=models)
    assert ml_client.begin_create_or_update(deployment).result().instance_count == 2
    (row,) = server.endpoints["net"]["deployments"]
    for state, count in (("Succeeded", 3), ("Failed", 4)):
        row["provisioning_state"] = state
        again = load_online_deployment(file, params_override=[{"instance_count": count}])
        made = ml_client.begin_create_or_update(again).result()  # the model stays as it is
        assert (made.model, made.instance_count) == ("azureml:net:1", count)


def test_a_name_that_only_azure_takes_loads_and_is_refused_before_anything_is_sent(
    ml_client: MLClient, server: FakeServer, models: Path
) -> None:
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="net")).result()
    deployment = blue(models)
    deployment.name = "my_blue"
    with pytest.raises(ShoalError, match="'my_blue' cannot be a name") as refused:
        ml_client.begin_create_or_update(deployment)
    assert "my-blue" in refused.value.hints[0]
    assert (server.uploads, server.models) == ({}, {})


def test_the_workspace_answers(ml_client: MLClient, server: FakeServer) -> None:
    found = ml_client.workspaces.get("workspace")
    assert (found.name, found.location, found.resource_group) == ("shoal", "local", "shoal")
    assert found.id is not None and found.id.endswith("/workspaces/shoal")
    assert [one.name for one in ml_client.workspaces.list()] == ["shoal"]
    assert server.calls == []


def test_versions_are_listed_as_the_constant_says(ml_client: MLClient, models: Path) -> None:
    kind = AssetTypes.TRITON_MODEL
    ml_client.models.create_or_update(Model(name="net", path=models, type=kind))
    ml_client.models.archive("net", version="1")
    for view, expected in ((ListViewType.ACTIVE_ONLY, 0), (ListViewType.ALL, 1)):
        assert len(list(ml_client.models.list("net", list_view_type=view))) == expected
