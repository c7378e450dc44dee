"""How to call an endpoint: the programs that its users paste."""

from collections.abc import Sequence
from typing import Any, Final

from controlplane.deployments.endpoint_openapi import ServedModel, document
from controlplane.deployments.errors import DeploymentNotFound
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.selectors.rows import endpoint_get
from controlplane.deployments.selectors.shown import addresses
from controlplane.deployments.snippets import Target, snippets, tensor
from controlplane.deployments.snippets_json import json_snippets
from controlplane.registry.selectors import models_called

Spec = dict[str, Any]  # of a tensor: name, datatype, shape, optional
# The tensors of a scoring script: a whole HTTP request, and its answer.
_OF_SCRIPTS: Final = frozenset({"REQUEST", "REQUEST_HEAD", "RESPONSE", "RESPONSE_HEAD"})


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
        inputs=tuple(tensor(spec, model.max_batch_size) for spec in sent(model.inputs)),
        outputs=tuple(str(spec["name"]) for spec in answered(model.inputs, model.outputs)),
    )
    return snippets(target) | json_snippets(target)


def sent(inputs: Sequence[Spec]) -> list[Spec]:
    """What a call has to bring. Where that is nothing, the tensors that may stand for the body of a
    request: those of a signature of MLflow."""
    required = [spec for spec in inputs if not spec.get("optional")]
    return required or [spec for spec in inputs if spec["name"] not in _OF_SCRIPTS]


def answered(inputs: Sequence[Spec], outputs: Sequence[Spec]) -> list[Spec]:
    """What such a call is answered with."""
    if any(not spec.get("optional") for spec in inputs):
        return list(outputs)
    return [spec for spec in outputs if spec["name"] not in _OF_SCRIPTS] or list(outputs)


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
