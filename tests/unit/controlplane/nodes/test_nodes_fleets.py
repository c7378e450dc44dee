"""Fleets whose machines come and go by themselves: one token for all, and labels of the agent's."""

import secrets

import pytest
from django.db import connection
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.nodes import selectors
from controlplane.nodes.models import Node
from tests.support.simulated_node import SimulatedNode
from wire import codec
from wire.messages import NodeInfo, RegisterRequest

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


def joined(name: str, token: str) -> int:
    """The status of a join by an agent with a folder of its own."""
    node = NodeInfo(name=name, agent_version="test", folder_id=secrets.token_hex(16))
    body = codec.encode(RegisterRequest(token=token, node=node))
    answer = APIClient().generic(
        "POST", "/agent/v1/register", body, content_type="application/json"
    )
    return int(answer.status_code)


def test_the_token_of_all_nodes_lets_in_many_and_no_other_text_does(settings: Settings) -> None:
    token = "t" * 32
    assert joined("one", token) == 401
    assert joined("one", "") == 401  # none is set, so an empty one is none either
    settings.SHOAL_NODE_TOKEN = token
    assert [joined(name, token) for name in ("one", "two", "three")] == [200, 200, 200]
    assert joined("four", token[:-1]) == 401
    assert joined("four", "") == 401
    assert joined("two", token) == 409  # it does not take the name of one that reports
    assert Node.objects.count() == 3
    event = Event.objects.filter(verb="node.joined").latest("seq")
    assert event.data["by"] == "SHOAL_NODE_TOKEN"


def test_labels_that_the_agent_says_hold_until_somebody_sets_others(admin_api: APIClient) -> None:
    node = SimulatedNode("a", labels={"pool": "gpu", "zone": "b"})
    node.report()
    assert selectors.labels_of(node.row()) == {"pool": "gpu", "zone": "b"}
    admin_api.patch("/api/v1/nodes/a", {"labels": {"zone": "c"}}, format="json")
    assert selectors.labels_of(node.row()) == {"pool": "gpu", "zone": "c"}


def test_who_else_has_an_address_is_looked_up_and_not_read_from_all_reports() -> None:
    Node.objects.create(id="a", name="one", info={"address": "10.0.0.1"})
    if connection.vendor == "postgresql":  # of a small table it reads all by itself
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    rows = Node.objects.filter(address="10.0.0.1")
    assert [row.name for row in rows] == ["one"]
    assert "node_address" in rows.explain()
    assert "node_draining" in Node.objects.filter(drain_deadline_at__isnull=False).explain()
