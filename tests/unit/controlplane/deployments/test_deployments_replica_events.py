"""The log of events says what becomes of replicas, and why."""

import pytest
from rest_framework.test import APIClient

from controlplane.core.models import Event
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ("was killed by SIGKILL", "no longer ready: its runtime was killed by SIGKILL; it starts"),
        ("", "no longer ready: it starts"),  # the agent is older than the field
    ],
)
def test_a_replica_that_is_started_again_says_why(api: APIClient, ended: str, told: str) -> None:
    node = SimulatedNode()
    model_register("digits")
    api.post("/api/v1/deploy", {"model": "digits", "instance_count": 1}, format="json")
    node.bring_up()
    node.say("starting", ended=ended)
    event = Event.objects.filter(verb="replica.starting").latest("seq")
    assert (event.message, event.severity) == (f"Replica 0 of blue is {told}", "warning")
