"""`PATCH` with null takes a setting away; where nothing can be, null is refused by name."""

from typing import Any

import pytest
from rest_framework import serializers

from controlplane.core.requests import Change
from controlplane.deployments.serializers.deployment_inputs import (
    DeploymentPatchSerializer,
    DeploymentPutSerializer,
    DeploymentRollSerializer,
)
from controlplane.deployments.serializers.endpoints import (
    EndpointPatchSerializer,
    EndpointPutSerializer,
)
from controlplane.deployments.serializers.placement import InstanceTypePatchSerializer
from controlplane.overview.serializers import NodePatchSerializer
from controlplane.registry.serializers.models import (
    ModelPatchSerializer,
    ModelVersionPatchSerializer,
)

WORDS: dict[str, Any] = {
    "description": "", "tags": {}, "declared": {}, "request_timeout_ms": 60_000,
    "retries": True, "max_concurrent_requests_per_instance": None, "autoscale": None,
}  # fmt: skip
RUNS: dict[str, Any] = {
    "instance_type": "", "node_labels": {}, "anti_affinity": "preferred",
    "environment": {}, "config_revision": 0, "liveness_probe": None, "readiness_probe": None,
    "max_queue_wait_ms": None, "response_cache_bytes": None, "capture": None,
}  # fmt: skip
# What there is without a setting; names that are not here must have a value.
TABLE: dict[type[Change], dict[str, Any]] = {
    EndpointPatchSerializer: {
        "description": "", "tags": {}, "declared": {}, "cors_origins": [],
        "max_request_bytes": None, "rate_limit": None, "sticky": None,
    },
    EndpointPutSerializer: {
        "description": "", "tags": {}, "declared": {}, "cors_origins": [],
        "max_request_bytes": None, "rate_limit": None, "sticky": None,
    },
    DeploymentPatchSerializer: {**WORDS, **RUNS},
    DeploymentPutSerializer: {**WORDS, **RUNS},
    DeploymentRollSerializer: RUNS,
    InstanceTypePatchSerializer: {
        "aliases": [], "description": "", "gpu_count": 0, "gpu_policy": "required",
        "gpu_model": "", "gpu_memory_bytes": 0, "cpu_count": 0, "memory_bytes": 0,
        "node_labels": {},
    },
    ModelPatchSerializer: {"description": "", "tags": {}},
    ModelVersionPatchSerializer: {
        "description": "", "tags": {}, "declared": {},
        "lineage": {"address": "", "run": "", "run_url": "", "commit": "", "dataset": ""},
    },
    NodePatchSerializer: {"labels": {}},
}  # fmt: skip
FILLED = {"model": "digits"}
CASES = [(kind, name) for kind in TABLE for name in kind().fields]


def checked(kind: type[Change], body: dict[str, Any]) -> serializers.Serializer[Any]:
    needed = {
        name: FILLED[name]
        for name, field in kind().fields.items()
        if field.required and name in FILLED
    }
    return kind(data={**needed, **body})


@pytest.mark.parametrize(
    ("kind", "name"), CASES, ids=[f"{kind.__name__}.{name}" for kind, name in CASES]
)
def test_null_takes_it_away_or_is_refused(kind: type[Change], name: str) -> None:
    form = checked(kind, {name: None})
    if name in TABLE[kind]:
        assert form.is_valid(), form.errors
        assert form.validated_data[name] == TABLE[kind][name]
    else:
        assert not form.is_valid()
        assert list(form.errors) == [name]


def test_two_forms_share_nothing() -> None:
    first = checked(ModelPatchSerializer, {"tags": None})
    first.is_valid(raise_exception=True)
    first.validated_data["tags"]["a"] = "b"
    second = checked(ModelPatchSerializer, {"tags": None})
    second.is_valid(raise_exception=True)
    assert second.validated_data == {"tags": {}}
