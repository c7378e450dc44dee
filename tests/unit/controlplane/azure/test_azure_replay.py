"""What the genuine package asks, as `make azure RECORD=...` wrote it down, against the routes.

The package itself is in an environment of its own, which CI has not.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from rest_framework.test import APIClient

from tests.support.azure_paths import workspace
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
RECORDED = Path(__file__).parents[3] / "support" / "azure_requests.json"
WORKSPACE = workspace("my-workspace").replace("/s/", "/my-subscription/").replace(
    "resourceGroups/r", "resourceGroups/my-group"
)  # fmt: skip
MOST_TICKS = 6


class Package:
    """Sends what was recorded; what the installation names anew each time is put in its place."""

    def __init__(self, client: APIClient, node: SimulatedNode) -> None:
        self.client, self.node, self.signature = client, node, ""

    def send(self, row: dict[str, Any]) -> Any:
        path = row["path"].replace("~", WORKSPACE)
        query = re.sub(r"sig=[^&]*", lambda _: f"sig={self.signature}", row["query"])
        body = base64.b64decode(row["base64"]) if "base64" in row else _json(row)
        kind = row["headers"].get("content-type", "application/octet-stream")
        # one that was handed out comes without a token
        client = APIClient() if "sig=" in query else self.client
        return client.generic(
            row["method"], f"{path}?{query}", body, content_type=kind, headers=row["headers"]
        )

    def follow(self, answer: Any) -> None:
        """As a poller does, while the node does its part."""
        if answer.status_code < 300 and b"sasUri" in answer.content:
            found = answer.json()["blobReferenceForConsumption"]["credential"]["sasUri"]
            self.signature = found.rpartition("sig=")[2]
        gateway_confirms()
        if "Azure-AsyncOperation" not in answer:
            return
        for _ in range(MOST_TICKS):
            self.node.bring_up()
            gateway_confirms()
            found = self.client.get(urlsplit(answer["Azure-AsyncOperation"]).path).json()
            if found["status"] != "InProgress":
                break
        assert found["status"] == "Succeeded", found
        assert found["percentComplete"] == 100


def _json(row: dict[str, Any]) -> bytes:
    # a model's files are stand-ins here, which nobody could call by the tensors of the true ones
    return json.dumps(row["json"]).encode() if "json" in row else b""


def test_every_request_is_answered_as_it_was(admin_api: APIClient) -> None:
    package = Package(admin_api, SimulatedNode())
    wrong = []
    for number, row in enumerate(json.loads(RECORDED.read_text())):
        answer = package.send(row)
        if answer.status_code != row["status"]:
            wrong.append((number, row["call"], row["method"], row["path"], answer.status_code,
                          row["status"], answer.content[:300]))  # fmt: skip
        package.follow(answer)
    assert wrong == []
