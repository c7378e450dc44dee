"""A deployment's row with its first revision, without an operation that starts it."""

from typing import Any

from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.services.revisions import ReplicaTemplate, deployment_record
from controlplane.deployments.spec import RunSettings
from controlplane.registry.models import ModelVersion


def deployment_add(
    endpoint: Endpoint, version: ModelVersion, name: str = "blue", **values: Any
) -> Deployment:
    """``values``: columns of the deployment."""
    template = ReplicaTemplate(
        model_version=version,
        config_revision=None,
        instance_type=None,
        secrets={},
        allow_code=None,
        settings=RunSettings(),
    )
    return deployment_record(endpoint, name, template, author="dora", **values)
