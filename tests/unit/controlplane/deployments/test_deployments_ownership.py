"""What a node says of replicas that are not its own is left out."""

import logging
import time
from dataclasses import replace

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.deployments.models import Replica, TryLoad
from controlplane.deployments.selectors.trials import LOG_OWNER
from controlplane.deployments.services.replicas import replicas_remove
from controlplane.metrics.models import LogLine, ReplicaSample
from tests.support.placed_replicas import replica_place
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode
from wire import codec
from wire.messages import ReportReply
from wire.samples import LogBatch, LogEntry, SampleBatch
from wire.samples import ReplicaSample as WireSample

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


def line(key: str, *, endpoint: str = "digits", deployment: str = "blue") -> LogEntry:
    return LogEntry(key, endpoint, deployment, 1.0, "inference-server", f"of {key}", 1)


def sample(key: str, *, endpoint: str = "digits", deployment: str = "blue") -> WireSample:
    return WireSample(key, endpoint, deployment, time.time())


def kept() -> tuple[list[str], list[str]]:
    lines = LogLine.objects.values_list("replica_id", flat=True)
    return sorted(lines), sorted(ReplicaSample.objects.values_list("replica_id", flat=True))


def test_only_what_is_of_a_nodes_own_replicas_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    node, other = SimulatedNode("a"), SimulatedNode("b")
    replica_place(node.row(), "mine")
    replica_place(other.row(), "theirs")
    with caplog.at_level(logging.WARNING):
        logs = node.post("logs", LogBatch((line("theirs"), line("mine"), line("made-up"))))
        samples = SampleBatch((sample("theirs"), sample("mine"), sample("made-up")), node.info)
        sampled = node.post("samples", samples)
    # an agent that is refused sends the same again for ever
    assert (logs.status_code, sampled.status_code) == (200, 200)
    # why at least: a control plane on a busy machine asks for fewer
    assert codec.decode(ReportReply, sampled.content).sample_interval_s >= 2.0
    assert kept() == (["mine"], ["mine"])
    told = [record.getMessage() for record in caplog.records if "not its own" in record.message]
    assert len(told) == 2
    assert all("Node a" in each and "'theirs'" in each and "'mine'" not in each for each in told)


@pytest.mark.parametrize("claim", [{"endpoint": "other"}, {"deployment": "green"}])
def test_its_own_replica_under_anothers_name_is_left_out(claim: dict[str, str]) -> None:
    node = SimulatedNode()
    replica_place(node.row(), "mine")
    node.post("logs", LogBatch((line("mine", **claim),)))
    node.post("samples", SampleBatch((sample("mine", **claim),)))
    assert kept() == ([], [])


def test_the_last_words_of_a_replica_that_was_removed_are_kept(api: APIClient) -> None:
    """A lost node returns after its replica's row is gone: only it may still speak for it."""
    model_register()
    node = SimulatedNode("a")
    assert api.post("/api/v1/deploy", {"model": "digits"}, format="json").status_code == 202
    (row,) = Replica.objects.select_related("deployment")
    other = SimulatedNode("b")
    replicas_remove([row.pk])
    theirs = line(row.pk, deployment=row.deployment.name)
    other.post("logs", LogBatch((theirs,)))
    node.post("logs", LogBatch((replace(theirs, endpoint="other"),)))
    assert kept() == ([], [])
    node.post("logs", LogBatch((theirs,)))
    assert kept() == ([row.pk], [])


def test_a_trial_speaks_through_its_own_node() -> None:
    node, other = SimulatedNode("a"), SimulatedNode("b")
    trial = TryLoad.objects.create(
        id="trial", node=node.row(), node_name="a", deadline_at=timezone.now(), created_by="dora"
    )
    said = LogBatch((line(trial.pk, endpoint=LOG_OWNER, deployment=trial.pk),))
    other.post("logs", said)
    node.post("logs", LogBatch((line("another", endpoint=LOG_OWNER, deployment=trial.pk),)))
    assert kept() == ([], [])
    node.post("logs", said)
    assert kept() == ([trial.pk], [])


@pytest.mark.parametrize("resource", ["logs", "samples"])
def test_many_replicas_cost_no_more_queries_than_one(resource: str) -> None:
    node = SimulatedNode()
    keys = [f"r{number}" for number in range(20)]
    for key in keys:
        replica_place(node.row(), key, deployment=f"d{key}")

    def queries(these: list[str]) -> int:
        lines = tuple(line(key, deployment=f"d{key}") for key in these)
        samples = tuple(sample(key, deployment=f"d{key}") for key in these)
        with CaptureQueriesContext(connections["default"]) as captured:
            node.post(resource, LogBatch(lines) if resource == "logs" else SampleBatch(samples))
        return len(captured)

    assert queries(keys[:1]) == queries(keys)
