"""The steps of ``shoal deploy``, with progress, and their result. Imported on use: needs httpx."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from shoal.cli.other_tensors import registered
from shoal.cli.output import print_fields
from shoal.client import Client, Problem
from shoal.client.operations import rollout_refused
from shoal.client.packing import packaged
from shoal.client.types import Endpoint, ModelVersion, Operation
from shoal.display.terminal import Progress


class Deployed(TypedDict):
    """What ``-o json`` prints, in the order a person reads it."""

    endpoint: str
    deployment: str
    scoring_uri: str
    plain_uri: str
    grpc_target: str
    ca_path: str
    primaryKey: str
    provisioning_state: str
    model: str
    version: int
    model_name: str | None
    models: list[str]
    operation: str
    rollout: str | None  # its id, once it has begun


def run(
    path: Path,
    name: str,
    *,
    serve_as: str | None,
    deployment: str | None,
    instance_count: int | None,
    apply_fixes: bool = False,
    allow_other_tensors: bool = False,
    lineage: Mapping[str, str] | None = None,
    traffic: int | None = None,
    rollout: Mapping[str, Any] | None = None,
    supersede: bool = False,
    skip_golden: bool = False,
    wait: bool,
    timeout_s: float,
) -> Deployed:
    """Raises ShoalError in all its kinds. Without ``wait`` the result describes what was begun."""
    with Client() as client, Progress() as progress:
        endpoint = _existing(client, name)
        progress.note(f"Endpoint {name} {_now(endpoint) if endpoint else 'is new'}")
        package = packaged(path, serve_as=serve_as)
        if package.note:
            progress.note(f"Taken as {package.note}")
        upload = client.upload_package(
            package,
            timeout_s=timeout_s,
            on_hashed=progress.hashing,
            on_bytes=progress.sending,
            on_change=progress.upload,
        )
        version = _register(
            client, name, upload["id"], progress, apply_fixes, allow_other_tensors, lineage
        )
        operation = client.start_deploy(
            version["model"],
            version["version"],
            endpoint=name,
            deployment=deployment,
            instance_count=instance_count or _replicas_now(endpoint),
            traffic=traffic,
            rollout=rollout,
            supersede=supersede,
            skip_golden=skip_golden,
        )
        for warning in operation.get("warnings", ()):
            progress.note(f"Warning: {warning}")
        if endpoint:
            gets = _first_traffic(endpoint, traffic, rollout)
            name_given = operation["deployment"]
            progress.note(_what_happens(endpoint, version["version"], name_given, gets))
        if wait:
            operation = client.wait_operation(
                operation, timeout_s=timeout_s, on_change=progress.operation
            )
            if refused := rollout_refused(operation):
                progress.note(f"Warning: rollout of {operation['deployment']}: {refused}")
        return _result(client, name, version, operation)


def print_result(result: Deployed, *, ready: bool) -> None:
    state = result["provisioning_state"] if ready else "not ready yet"
    print_fields(
        {
            "Endpoint": f"{result['endpoint']}, deployment {result['deployment']}, {state}",
            "Model": f"{result['model']} version {result['version']}",
            "Call it as": ", ".join(result["models"]),
            "HTTP": result["scoring_uri"],
            "HTTP, this machine": result["plain_uri"],
            "gRPC": f"{result['grpc_target']}, metadata x-shoal-endpoint: {result['endpoint']}",
            "Key": f"{result['primaryKey']}  (Authorization: Bearer <key>)",
            "CA": result["ca_path"],
            "Rollout": f"shoal rollout watch {result['endpoint']}" if result["rollout"] else None,
            "Follow": None if ready else f"shoal operation show {result['operation']}",
        }
    )


def _existing(client: Client, name: str) -> Endpoint | None:
    try:
        return client.get_endpoint(name)
    except Problem as problem:
        if not problem.is_not_found:
            raise
        return None


def _now(endpoint: Endpoint) -> str:
    serving = [f"{slot} {percent} %" for slot, percent in endpoint["traffic"].items() if percent]
    return f"exists (now {', '.join(serving) or 'without traffic'})"


def _replicas_now(endpoint: Endpoint | None) -> int | None:
    """As many replicas as serve now: fewer might not bear the load that the new one takes over.
    None where none does, also at zero: the control plane chooses."""
    if endpoint is None:
        return None
    serving = [item for item in endpoint["deployments"] if endpoint["traffic"].get(item["name"])]
    return max((item["instance_count"] for item in serving), default=0) or None


def _first_traffic(
    endpoint: Endpoint, traffic: int | None, rollout: Mapping[str, Any] | None
) -> str:
    if rollout is not None:
        return "its rollout begins when it is ready"
    alone = not any(endpoint["traffic"].values())  # there is nobody to share with
    share = 100 if traffic is None or (traffic and alone) else traffic
    return f"gets {share} % of the traffic when ready" if share else "gets no traffic"


def _what_happens(endpoint: Endpoint, version: int, deployment: str, gets: str) -> str:
    for item in endpoint["deployments"]:
        if (item["name"], item["version"]) == (deployment, version):
            return f"Version {version} runs there already as {deployment}"
    return f"Version {version} is deployed beside it as {deployment} and {gets}"


def _register(
    client: Client,
    name: str,
    upload_id: str,
    progress: Progress,
    apply_fixes: bool,
    allow_other_tensors: bool,
    lineage: Mapping[str, str] | None,
) -> ModelVersion:
    try:
        newest = client.get_model(name)["latest_version"]
    except Problem as problem:
        if not problem.is_not_found:
            raise
        newest = 0
    try:
        version = registered(
            lambda same_tensors: client.register_model(
                name, upload_id, apply_fixes=apply_fixes, lineage=lineage, same_tensors=same_tensors
            ),
            allowed=allow_other_tensors,
            aside=progress.aside,
        )
    except Problem as problem:
        problem.hints = tuple(map(_as_option, problem.hints))
        raise
    known = version["version"] <= newest
    progress.note(
        f"Model {name} version {version['version']}"
        + (" has the same content already and is used again" if known else "")
    )
    for warning in version["warnings"]:
        progress.note(f"Note: {warning}")
    return version


def _as_option(hint: str) -> str:
    """The API's hint to send a field, as the option that sends it."""
    if "apply_fixes" in hint:
        return "Deploy it again with --apply-fixes to have it mended as proposed."
    return hint


def _result(client: Client, name: str, version: ModelVersion, operation: Operation) -> Deployed:
    endpoint, done = client.get_endpoint(name), operation["result"]
    deployment = done["deployment"] if done else operation["deployment"]
    states = {item["name"]: item["provisioning_state"] for item in endpoint["deployments"]}
    models = [model["name"] for model in version["repo_models"]]
    if done:
        models = done["models"] or models
    return {
        "endpoint": name,
        "deployment": deployment,
        "scoring_uri": endpoint["scoring_uri"],
        "plain_uri": endpoint["plain_uri"],
        "grpc_target": endpoint["grpc_target"],
        "ca_path": endpoint["ca_path"],
        "primaryKey": client.get_keys(name)["primaryKey"],
        "provisioning_state": states.get(deployment, "Creating"),
        "model": version["model"],
        "version": version["version"],
        "model_name": done["model_name"] if done else (models[0] if models else None),
        "models": models,
        "operation": operation["id"],
        "rollout": done.get("rollout") if done else None,
    }
