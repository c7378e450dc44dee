"""What an endpoint's models take and give: as registered, corrected by the running server."""

from dataclasses import dataclass
from typing import Any

import httpx

from controlplane.console.inference import Target, model_path
from controlplane.core.answers import PLAIN, AnswerRefused, aread_answer, json_answer
from controlplane.core.errors import NotFound
from controlplane.deployments.selectors import deployment_get, endpoint_get
from controlplane.registry.selectors import models_called

Specification = dict[str, Any]
LARGEST_DESCRIPTION = 4 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Served:
    """``deployment`` is described here; ``alone`` when no other can answer the same call."""

    deployment: str
    alone: bool
    replicas: int
    request_timeout_ms: int
    models: tuple[Specification, ...]


def served(endpoint: str, deployment: str) -> Served:
    """From the registry. ``deployment`` empty means the one with the most traffic.

    Raises EndpointNotFound, DeploymentNotFound.
    """
    row = endpoint_get(endpoint)
    if deployment:
        chosen, alone = deployment_get(endpoint, deployment), True
    else:
        rows = list(row.deployments.all())
        if not rows:
            raise NotFound(
                f"Endpoint {endpoint} has no deployment yet.",
                code="NoDeployment",
                hints=("Deploy a model to it first.",),
            )
        chosen = max(rows, key=lambda item: row.traffic.get(item.name, 0))
        alone = sum(bool(row.traffic.get(item.name, 0)) for item in rows) == 1
    models = models_called(chosen.revision.model_version)
    return Served(
        deployment=chosen.name,
        alone=alone,
        replicas=chosen.instance_count,
        request_timeout_ms=chosen.request_timeout_ms,
        models=tuple(
            {
                "name": model.name,
                "versions": model.versions,
                "max_batch_size": model.max_batch_size,
                "decoupled": model.decoupled,
                "sequence": None,
                "warmup": [],
                "inputs": model.inputs,
                "outputs": model.outputs,
                "labels": {
                    output["name"]: output["labels"]
                    for output in model.outputs
                    if output.get("labels")
                },
            }
            for model in models
        ),
    )


async def as_running(
    client: httpx.AsyncClient, target: Target, specification: Specification
) -> Specification:
    """``specification`` by the words of the running server; unchanged when that is silent.

    A configuration revision may have changed them since registration.
    """
    name = specification["name"]
    metadata = await _get(client, target, model_path(name))
    config = await _get(client, target, model_path(name, "config"))
    if metadata is None or config is None:
        return specification
    try:
        max_batch_size = int(config.get("max_batch_size", 0))
        optional = {item["name"] for item in config.get("input", []) if item.get("optional")}
        return {
            **specification,
            "versions": metadata["versions"],
            "max_batch_size": max_batch_size,
            "decoupled": bool(config.get("model_transaction_policy", {}).get("decoupled")),
            "sequence": sequence(config),
            "warmup": warmup(config),
            "inputs": [
                {**_tensor(item, max_batch_size), "optional": item["name"] in optional}
                for item in metadata["inputs"]
            ],
            "outputs": [_tensor(item, max_batch_size) for item in metadata["outputs"]],
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        return specification


def sequence(config: dict[str, Any]) -> str | None:
    """What names a sequence: "number" or "text"; None for models without sequences."""
    batching = config.get("sequence_batching")
    if batching is None:
        return None
    for control_input in batching.get("control_input", []):
        for control in control_input.get("control", []):
            if control.get("kind") == "CONTROL_SEQUENCE_CORRID":
                return "text" if control.get("data_type") == "TYPE_STRING" else "number"
    return "number"


def warmup(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The warm-up requests that a browser can make itself: those of zeros and random values."""
    return [
        {
            "name": sample.get("name", ""),
            "batch_size": int(sample.get("batch_size", 1)),
            "inputs": {
                name: {
                    "shape": [int(axis) for axis in item.get("dims", [])],
                    "kind": "random" if item.get("random_data") else "zeros",
                }
                for name, item in sample.get("inputs", {}).items()
            },
        }
        for sample in config.get("model_warmup", [])
        if not any(item.get("input_data_file") for item in sample.get("inputs", {}).values())
    ]


def _tensor(item: dict[str, Any], max_batch_size: int) -> dict[str, Any]:
    """The protocol's shapes have the batch axis in front; ours have not."""
    shape = [int(axis) for axis in item["shape"]]
    return {
        "name": item["name"],
        "datatype": item["datatype"],
        "shape": shape[1:] if max_batch_size > 0 else shape,
    }


async def _get(client: httpx.AsyncClient, target: Target, path: str) -> dict[str, Any] | None:
    try:
        headers = {**target.headers(), **PLAIN}
        async with client.stream("GET", target.url(path), headers=headers) as response:
            body = await aread_answer(response, most=LARGEST_DESCRIPTION)
        data = json_answer(body) if response.status_code == httpx.codes.OK else None
    except (httpx.HTTPError, AnswerRefused):
        return None
    return data if isinstance(data, dict) else None
