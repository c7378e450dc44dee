"""`dataCollector` of deployments: what is captured by it, what is shown of it, what stays."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from tests.support.azure_paths import WORKSPACE
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from tests.unit.controlplane.azure.test_azure_blobs import code_of
from tests.unit.controlplane.azure.test_azure_deployments import (
    BLUE,
    node,  # noqa: F401 # a fixture of theirs
    put,
    serving,  # noqa: F401
    status_of,
)

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
OWN = "/api/v1/endpoints/shop/deployments/blue"


@pytest.fixture
def shop(api: APIClient, serving: SimulatedNode) -> "Shop":  # noqa: F811
    return Shop(api, serving)


class Shop:
    """Changes its deployment, and waits until that is done."""

    def __init__(self, api: APIClient, node: SimulatedNode) -> None:  # noqa: F811
        self.api, self._node = api, node

    def put(self, **properties: Any) -> Any:
        answer = put(self.api, **properties)
        assert answer.status_code == 200, answer.content
        if "Azure-AsyncOperation" in answer:
            self._wait()
            assert status_of(self.api, answer).json()["status"] == "Succeeded"
        return self.shown()

    def patch(self, path: str, values: dict[str, Any]) -> None:
        answer = self.api.patch(path, values, format="json")
        assert answer.status_code < 300, answer.content
        self._wait()

    def shown(self) -> Any:
        return self.api.get(BLUE).json()["properties"].get("dataCollector")

    def own(self) -> Any:
        return self.api.get(OWN).json()

    def _wait(self) -> None:
        for _ in range(6):
            self._node.bring_up()
            gateway_confirms()
            if self.own()["provisioning_state"] == "Succeeded":
                return


def collector(rate: float | None, **modes: str) -> dict[str, Any]:
    """As the package sends it."""
    said = {} if rate is None else {"samplingRate": rate}
    parts = {name: {"dataCollectionMode": mode, **said} for name, mode in modes.items()}
    return {"collections": parts}


def test_what_is_collected_is_captured_and_shown(shop: Shop) -> None:
    given = collector(0.5, model_inputs="enabled", request="disabled") | {"rollingRate": "hour"}
    given["collections"]["model_inputs"] |= {"dataId": "azureml:d:1", "clientId": "x"}
    told = shop.put(dataCollector=given)
    assert told == {
        "collections": {
            "model_inputs": {"dataCollectionMode": "Enabled", "samplingRate": 0.5,
                             "clientId": "x"},
            "request": {"dataCollectionMode": "Disabled", "samplingRate": 0.5},
        },
        "rollingRate": "Hour",
    }  # fmt: skip
    own = shop.own()
    capture = own["capture"]
    assert (capture["sampling_rate"], capture["roll_seconds"]) == (0.5, 3600)
    assert capture["collections"] == ["model_inputs"]
    assert own["declared"]["data_collector"]["collections"]["request"] == {"enabled": "false"}
    assert shop.put(dataCollector=told) == told, "sent again as it was read"
    assert shop.put(dataCollector=collector(None, model_outputs="Enabled")) == {
        "collections": {"model_outputs": {"dataCollectionMode": "Enabled", "samplingRate": 1.0}},
        "rollingRate": "Hour",
    }
    assert shop.put(dataCollector={}) == {"collections": {}}
    assert shop.own()["capture"] is None


def test_what_is_said_no_more_ends_and_redaction_stays(shop: Shop) -> None:
    """What Shoal alone has is not lost where the package sends what it has read."""
    shop.patch(OWN, {"capture": {"sampling_rate": 0.25, "hash": ["x"]}})
    told = shop.put(description="says nothing of it")
    assert shop.own()["capture"]["hash"] == ["x"]
    assert told["collections"]["model_outputs"]["samplingRate"] == 0.25
    told["collections"]["model_outputs"]["dataCollectionMode"] = "disabled"
    shop.put(dataCollector=told)
    capture = shop.own()["capture"]
    assert (capture["hash"], capture["collections"]) == (["x"], ["model_inputs"])
    shop.patch(BLUE, {"tags": {"a": "b"}})
    assert shop.own()["capture"] == capture
    assert shop.put(description="ends it") is None
    assert shop.own()["capture"] is None


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ([1], ""),
        ({"collections": [1]}, ".collections"),
        ({"collections": {"model_inputs": 1}}, ".collections.model_inputs"),
        ({"collections": {"model_inputs": {}}}, ".collections.model_inputs.dataCollectionMode"),
        (collector(0.5, request="enabled"), ".collections.request"),
        (collector("all", model_inputs="enabled"),  # type: ignore[arg-type]
         ".collections.model_inputs.samplingRate"),
        ({"collections": collector(0.5, model_inputs="enabled")["collections"]
          | collector(None, model_outputs="enabled")["collections"]}, ".collections"),
        ({"collections": {}, "rollingRate": "Day"}, ".rollingRate"),
        ({"collections": {}, "rollingRate": 5}, ".rollingRate"),
        ({"collections": {}, "requestLogging": {"captureHeaders": ["x-id"]}},
         ".requestLogging.captureHeaders"),
        ({"collections": {}, "requestLogging": "x"}, ".requestLogging"),
        ({"collections": {str(number): {} for number in range(17)}}, ".collections"),
    ],
)  # fmt: skip
def test_what_is_not_collected_is_refused_by_name(
    api: APIClient,
    node: SimulatedNode,  # noqa: F811
    given: Any,
    where: str,
) -> None:
    answer = put(api, dataCollector=given)
    assert code_of(answer) == (400, "BadArgument"), answer.content
    assert answer.json()["error"]["target"] == f"properties.dataCollector{where}"


def test_places_of_collected_data_are_said_and_no_others(api: APIClient) -> None:
    path = f"{WORKSPACE}/data/shop-blue-model_inputs/versions/1"
    datastore = "azureml://datastores/workspaceblobstore/paths"
    place = f"{datastore}/modelDataCollector/shop/blue/model_inputs"
    answer = api.put(path, {"properties": {"dataUri": place}}, format="json")
    assert (answer.status_code, answer.json()["id"]) == (201, path)
    assert answer.json()["properties"]["dataUri"] == place
    for other in (f"{datastore}/mine", "", f"{place}/more/of/it", 5):
        wrong = api.put(path, {"properties": {"dataUri": other}}, format="json")
        assert (*code_of(wrong), wrong.json()["error"]["target"]) == (
            400, "BadArgument", "properties.dataUri",
        )  # fmt: skip


def test_a_rate_is_the_same_everywhere(api: APIClient, node: SimulatedNode) -> None:  # noqa: F811
    for rate in (0, 1.5):
        wrong = put(api, dataCollector=collector(rate, model_inputs="enabled"))
        assert code_of(wrong) == (400, "BadArgument")
        assert "expected a number above 0, 1 at most" in wrong.json()["error"]["message"]
