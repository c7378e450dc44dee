"""How to call an endpoint: the programs that its users paste."""

from typing import Any

from controlplane.deployments.endpoint_openapi import ServedModel, document
from controlplane.deployments.errors import DeploymentNotFound
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.selectors.rows import endpoint_get
from controlplane.deployments.selectors.shown import addresses
from controlplane.deployments.snippets import Target, snippets, tensor
from controlplane.deployments.snippets_json import json_snippets
from controlplane.registry.selectors import models_called


def endpoint_snippets(name: str) -> dict[str, str]:
    """For the deployment with the most traffic. Raises EndpointNotFound, DeploymentNotFound."""
    deployment = _consumed(name)
    model = models_called(deployment.revision.model_version)[0]
    place = addresses(name)
    target = Target(
        endpoint=name,
        scoring_uri=place["scoring_uri"],
        grpc_target=place["grpc_target"],
        ca_path=place["ca_path"],
        model=model.name,
        inputs=tuple(
            tensor(spec, model.max_batch_size) for spec in model.inputs if not spec.get("optional")
        ),
        outputs=tuple(str(spec["name"]) for spec in model.outputs),
    )
    return snippets(target) | json_snippets(target)


def endpoint_openapi(name: str) -> dict[str, Any]:
    """Of the deployment with the most traffic. Raises EndpointNotFound, DeploymentNotFound."""
    deployment = _consumed(name)
    version = deployment.revision.model_version
    models = [
        ServedModel(row.name, row.max_batch_size, tuple(row.inputs), tuple(row.outputs))
        for row in models_called(version)
    ]
    place = addresses(name)["scoring_uri"]
    return document(name, place, f"{version.model.name}:{version.version}", models)


def _consumed(name: str) -> Deployment:
    deployment = main_deployment(endpoint_get(name))
    if deployment is None:
        raise DeploymentNotFound(
            f"{name} has no deployment yet.", hints=("Deploy a model to it first.",)
        )
    return deployment


def main_deployment(endpoint: Endpoint) -> Deployment | None:
    """The one with the most traffic; of several without any, the latest."""
    rows = list(endpoint.deployments.all())
    return max(
        rows, key=lambda row: (endpoint.traffic.get(row.name, 0), row.created_at), default=None
    )
