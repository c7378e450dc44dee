"""Probes of a deployment: with Azure's names and defaults, told to agents and to gateways."""

from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.deployments.errors import ProbeInvalid
from controlplane.deployments.probes import DEFAULTS, allowance_s, probe_declared, rule_of
from controlplane.deployments.selectors import RoutedDeployment, routing_view
from controlplane.gateway.clusters import cluster
from controlplane.operations import services
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from wire.messages import ProbeRule

BLUE = "/api/v1/endpoints/digits/deployments/blue"
AZURE = {
    "initial_delay": 10, "period": 10, "timeout": 2, "success_threshold": 1, "failure_threshold": 30
}  # fmt: skip


@pytest.mark.parametrize(
    ("declared", "probe"),
    [
        (None, None),
        ({}, None),
        ({"liveness_probe": {}}, None),
        ({"liveness_probe": "often"}, None),
        ({"readiness_probe": {"period": 5}}, None),
        ({"liveness_probe": {"period": 5}}, {**AZURE, "period": 5}),
        ({"liveness_probe": {"initial_delay": 0, "timeout": None}}, {**AZURE, "initial_delay": 0}),
    ],
)
def test_what_a_file_for_azure_declares(
    declared: dict[str, object] | None, probe: dict[str, int] | None
) -> None:
    assert probe_declared(declared, "liveness_probe") == probe


@pytest.mark.parametrize(
    ("key", "value"),
    [("period", 0), ("period", 3601), ("timeout", "PT2S"), ("success_threshold", True)],
)
def test_a_value_that_is_none_is_named(key: str, value: object) -> None:
    with pytest.raises(ProbeInvalid) as caught:
        probe_declared({"liveness_probe": {key: value}}, "liveness_probe")
    assert caught.value.field == f"declared.liveness_probe.{key}"


def test_azures_defaults_are_those_of_the_wire() -> None:
    assert DEFAULTS == AZURE
    assert rule_of(AZURE) == ProbeRule()
    assert rule_of(None) is None
    assert (allowance_s(None), allowance_s(ProbeRule())) == (0, 22)


def test_gateways_ask_as_often_as_the_probe_says() -> None:
    asked = RoutedDeployment(
        "blue", 100, 0, 5000, True, (), readiness_probe={**AZURE, "failure_threshold": 3}
    )
    (check,) = cluster("e--d--http", "http", asked)["health_checks"]
    assert (check["interval"], check["timeout"]) == ("10s", "2s")
    assert (check["healthy_threshold"], check["unhealthy_threshold"]) == (1, 3)
    assert "unhealthy_interval" not in check
    (own,) = cluster("e--d--http", "http", replace(asked, readiness_probe=None))["health_checks"]
    assert own["interval"] == "0.5s"


def create(api: APIClient, **body: Any) -> Any:
    api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    path = "/api/v1/endpoints/digits/deployments"
    return api.post(path, {"name": "blue", "model": "digits", **body}, format="json")


@pytest.mark.django_db(databases=["default", "metrics"])
def test_they_reach_agents_gateways_and_revisions(api: APIClient) -> None:
    model_register()
    node = SimulatedNode()
    probe = {"period": 3, "failure_threshold": 2}
    made = create(api, liveness_probe=probe, declared={"readiness_probe": {"timeout": 7}})
    assert made.status_code == 202
    (wanted,) = node.desired().replicas
    assert wanted.liveness == ProbeRule(period_s=3, failure_threshold=2)
    assert wanted.readiness == ProbeRule(timeout_s=7)
    assert wanted.load_timeout_s == 300 + 10 + 17
    node.bring_up()
    gateway_confirms()
    (routed,) = routing_view().endpoints
    assert routed.deployments[0].readiness_probe == {**AZURE, "timeout": 7}
    shown = api.get(BLUE).json()
    assert shown["liveness_probe"] == {**AZURE, **probe}

    update = {"liveness_probe": None}
    assert api.post(f"{BLUE}/update", update, format="json").status_code == 202
    node.bring_up()
    gateway_confirms()
    shown = api.get(BLUE).json()
    assert (shown["liveness_probe"], shown["readiness_probe"]["timeout"]) == (None, 7)
    gateway_confirms()
    services.operations_tick(now=timezone.now())
    (wanted,) = node.desired().replicas
    assert wanted.liveness is None

    assert api.post(f"{BLUE}/rollback", {"revision": 1}, format="json").status_code == 202
    assert api.get(BLUE).json()["liveness_probe"] == {**AZURE, **probe}


@pytest.mark.django_db(databases=["default", "metrics"])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"liveness_probe": {"period": 0}}, "liveness_probe.period"),
        ({"readiness_probe": {"timeout": "soon"}}, "readiness_probe.timeout"),
        (
            {"declared": {"liveness_probe": {"period": "PT1S"}}},
            "declared.liveness_probe.period",
        ),
    ],
)
def test_what_is_no_probe(api: APIClient, body: dict[str, object], field: str) -> None:
    model_register()
    answer = create(api, **body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
