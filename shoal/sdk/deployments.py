"""Online deployments: brought up, changed, scaled, read, deleted."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from shoal.client.client import Client
from shoal.client.errors import Problem, ShoalError
from shoal.client.operations import rollout_refused
from shoal.client.types import Deployment, Endpoint, ModelVersion, Operation
from shoal.display.watcher import Watcher
from shoal.entities import Model, OnlineDeployment
from shoal.entities.base import Values
from shoal.entities.errors import EntityInvalid
from shoal.entities.loading import name_fault
from shoal.entities.model import REGISTRY_PREFIX, model_reference
from shoal.entities.settings import ProbeSettings
from shoal.sdk.capturing import collected
from shoal.sdk.endpoints import OnlineEndpointOperations
from shoal.sdk.first_traffic import BROKEN, first_traffic, first_traffic_check, not_local
from shoal.sdk.local_endpoints import LocalEndpoints
from shoal.sdk.models import ModelOperations
from shoal.sdk.poller import LROPoller, Work, finished
from shoal.sdk.scoring_code import ScoringCode, brings_code
from shoal.sdk.shapes import deployment_body, deployment_of, policy_of

PROBE_SETTINGS = frozenset(field.name for field in fields(ProbeSettings))
CONTAINERS = ("inference-server", "storage-initializer")


class OnlineDeploymentOperations:
    """``ml_client.online_deployments``."""

    def __init__(
        self,
        client: Client,
        watcher: Watcher,
        models: ModelOperations,
        endpoints: OnlineEndpointOperations,
        code: ScoringCode,
        local: LocalEndpoints,
    ) -> None:
        self._client, self._watcher, self._local = client, watcher, local
        self._models, self._endpoints = models, endpoints
        self._code = code

    def begin_create_or_update(
        self,
        deployment: OnlineDeployment | LROPoller[OnlineDeployment],
        *,
        all_traffic: bool = False,
        traffic: int | None = None,
        rollout: Mapping[str, Any] | None = None,
        supersede: bool = False,
        skip_golden: bool = False,
        local: bool = False,
        vscode_debug: bool = False,
        **_: Any,
    ) -> LROPoller[OnlineDeployment]:
        """Registers the model first when it is a local one; returns once the change was accepted.

        ``all_traffic``: it gets all of the endpoint's requests once it is ready. ``traffic``: so
        many percent of them; ``rollout``: them step by step, as ``rollouts.start`` takes it; both
        of a new deployment only, and not in Azure's SDK. ``supersede``:
        cancel what is under way there instead of a refusal; not in Azure's SDK. ``skip_golden``:
        it answers requests without being asked golden cases first; neither. ``local``: in a
        runtime of this machine, if its endpoint is a local one; it serves when this returns.
        ``vscode_debug`` lets debuggers attach to that one.
        """
        entity = deployment.result() if isinstance(deployment, LROPoller) else deployment
        first = first_traffic(all_traffic=all_traffic, traffic=traffic, rollout=rollout)
        for note in entity.notes:
            self._watcher.note(note)
        _servable(entity)
        if self._local.means(str(entity.endpoint_name), local=local):
            if first:
                raise not_local(first)
            made = self._local.put_deployment(entity, all_traffic=all_traffic, debug=vscode_debug)
            return LROPoller(finished(made), self._client)
        shown = self._client.get_endpoint(str(entity.endpoint_name))  # before anything is uploaded
        current = _named(shown, entity)
        _counted(entity, current)
        first_traffic_check(entity, current, first)
        entity, version = self._registered(entity, current)
        flags = {"supersede": supersede, "skip_golden": skip_golden}
        work = self._apply(entity, version, first, all_traffic=all_traffic, flags=flags)
        return LROPoller(work, self._client, self._watcher.operation)

    def check(
        self, deployment: OnlineDeployment, version: ModelVersion | None, *, new_endpoint: bool
    ) -> None:
        """Ask what ``begin_create_or_update`` would be asked, and change nothing. Not in Azure's
        SDK. Raises what that raises, as far as it can be told before the model is there.

        ``version``: of the model, None where its files are not registered yet; ``new_endpoint``:
        it is to be made before.
        """
        endpoint, name = str(deployment.endpoint_name), str(deployment.name)
        _servable(deployment)
        shown = None if new_endpoint else self._client.get_endpoint(endpoint)
        current = _named(shown, deployment) if shown else None
        _counted(deployment, current)
        if brings_code(deployment, current):
            self._code.check(_with_model(deployment, current))
        elif isinstance(deployment.model, Model) and deployment.model.path is not None:
            self._models.check(deployment.model)
        else:
            version = self._version(deployment, current)
        new = current is None or current["provisioning_state"] in BROKEN
        if new and version is None:
            return  # whom it would be asked of takes a model that is registered
        body = _body(deployment, version, None if new else current)
        try:
            self._client.ask_deployment(endpoint, name, body, new=new)
        except Problem as problem:
            # the last of the questions
            if not (new_endpoint and problem.code == "EndpointNotFound"):
                raise

    def get(self, name: str, endpoint_name: str, *, local: bool = False) -> OnlineDeployment:
        if self._local.means(endpoint_name, local=local):
            return self._local.get_deployment(name, endpoint_name)
        return deployment_of(self._client.get_deployment(endpoint_name, name))

    def list(self, endpoint_name: str, *, local: bool = False) -> Iterator[OnlineDeployment]:
        if self._local.means(endpoint_name, local=local):
            return iter(self._local.list_deployments(endpoint_name))
        return map(deployment_of, self._client.get_endpoint(endpoint_name)["deployments"])

    def begin_delete(
        self, name: str, endpoint_name: str, *, local: bool = False
    ) -> LROPoller[None]:
        if self._local.means(endpoint_name, local=local):
            self._local.delete_deployment(name, endpoint_name)
            return LROPoller(finished(None), self._client)
        return LROPoller(self._delete(name, endpoint_name), self._client, self._watcher.operation)

    def begin_stop(
        self, name: str, endpoint_name: str, *, force: bool = False, supersede: bool = False
    ) -> LROPoller[OnlineDeployment]:
        """Pause it: no replicas, all else stays. ``force``: even if it answers requests.

        Not in Azure's SDK.
        """
        begun = self._client.stop_deployment(endpoint_name, name, force=force, supersede=supersede)
        work = self._settled(begun, name, endpoint_name)
        return LROPoller(work, self._client, self._watcher.operation)

    def begin_start(
        self, name: str, endpoint_name: str, *, supersede: bool = False
    ) -> LROPoller[OnlineDeployment]:
        """Resume what was stopped, with as many replicas as before. Not in Azure's SDK."""
        begun = self._client.start_deployment(endpoint_name, name, supersede=supersede)
        work = self._settled(begun, name, endpoint_name)
        return LROPoller(work, self._client, self._watcher.operation)

    def begin_restart(self, name: str, endpoint_name: str) -> LROPoller[OnlineDeployment]:
        """Each replica gives way to a fresh one, which answers first. Not in Azure's SDK."""
        begun = self._client.restart_deployment(endpoint_name, name)
        work = self._settled(begun, name, endpoint_name)
        return LROPoller(work, self._client, self._watcher.operation)

    def begin_rollback(
        self, name: str, endpoint_name: str, revision: int | None = None, *, supersede: bool = False
    ) -> LROPoller[OnlineDeployment]:
        """Run an earlier revision again, the last before this one that came up unless said. Not in
        Azure's SDK."""
        begun = self._client.rollback_deployment(endpoint_name, name, revision, supersede=supersede)
        work = self._settled(begun, name, endpoint_name)
        return LROPoller(work, self._client, self._watcher.operation)

    def get_logs(
        self,
        name: str,
        endpoint_name: str,
        lines: int,
        *,
        container_type: str | None = None,
        local: bool = False,
    ) -> str:
        if container_type not in (None, *CONTAINERS):
            raise ShoalError(f"There is no container {container_type}", ", ".join(CONTAINERS))
        if self._local.means(endpoint_name, local=local):
            return self._local.logs(name, endpoint_name, lines)
        found = self._client.get_logs(endpoint_name, name, tail=lines)
        return "\n".join(f"{line['at']} {line['replica_id']} {line['text']}" for line in found)

    def register(self, deployment: OnlineDeployment) -> OnlineDeployment:
        """The same, referring to what it brings: that is registered now. Not in Azure's SDK."""
        model = deployment.model
        if not brings_code(deployment, None):
            if isinstance(model, Model) and model.path is not None:
                version = self._models.register(model)
                deployment.model = f"azureml:{version['model']}:{version['version']}"
            return deployment
        return self._code.register(_with_model(deployment, self._current(deployment)))[0]

    def known(self, deployment: OnlineDeployment) -> ModelVersion | None:
        """The version that has what it brings already, if there is one. Not in Azure's SDK."""
        model = deployment.model
        if brings_code(deployment, None):
            return self._code.known(_with_model(deployment, self._current(deployment)))
        if isinstance(model, Model) and model.path is not None:
            return self._models.known(model)
        return None

    def _current(self, entity: OnlineDeployment) -> Deployment | None:
        try:
            return self._client.get_deployment(str(entity.endpoint_name), str(entity.name))
        except Problem as problem:
            if not problem.is_not_found:
                raise
            return None

    def _registered(
        self, entity: OnlineDeployment, current: Deployment | None
    ) -> tuple[OnlineDeployment, ModelVersion | None]:
        if brings_code(entity, current):
            return self._code.register(_with_model(entity, current))
        return entity, self._version(entity, current)

    def _version(self, entity: OnlineDeployment, current: Deployment | None) -> ModelVersion | None:
        """Of its model, which is registered if need be; None: what ``current`` runs stays."""
        model = entity.model
        if model is None:
            return self._unsaid(entity, current)
        if isinstance(model, Model) and model.path is not None:
            return self._models.register(model)
        if isinstance(model, Model):
            return self._client.get_model_version(str(model.name), model.version or "latest")
        reference = model_reference(str(model or ""))
        if reference is None or str(model).startswith(REGISTRY_PREFIX):
            raise ShoalError(
                f"{model!r} refers to no model", "", ["azureml:<name>:<version>, or <name>@latest."]
            )
        which = reference.version or reference.label or "latest"
        return self._client.get_model_version(reference.name, which)

    def _unsaid(self, entity: OnlineDeployment, current: Deployment | None) -> ModelVersion | None:
        if current is None:
            raise ShoalError(
                f"{entity.name} has no model",
                "model: is missing, and there is no such deployment yet whose model could stay",
                ["azureml:<name>:<version>, or a block with path; `deployment.model = ...`."],
            )
        if current["provisioning_state"] in BROKEN:  # it is made anew, of what it was to run
            return self._client.get_model_version(current["model"], current["version"])
        return None

    def _apply(
        self,
        entity: OnlineDeployment,
        version: ModelVersion | None,
        first: Mapping[str, Any],
        *,
        all_traffic: bool,
        flags: Mapping[str, bool],
    ) -> Work[OnlineDeployment]:
        """One request makes or changes it, so that what is refused has changed nothing."""
        endpoint, name = str(entity.endpoint_name), str(entity.name)
        current = _named(self._client.get_endpoint(endpoint), entity)
        if current is not None and current["provisioning_state"] not in BROKEN:
            body = _body(entity, version, current)
            changed = self._client.change_deployment(endpoint, name, **flags, **body)
            if changed is not None:
                yield self._warned(changed)
            if all_traffic:
                share = {name: 100}
                yield from self._endpoints._share(
                    endpoint, share, None, supersede=flags["supersede"]
                )
        else:
            body = _body(entity, version, None)
            body |= {"name": name, **(first or {"traffic": 100 if all_traffic else 0})}
            made = self._client.create_deployment(endpoint, body, **flags)
            yield self._warned(made)
            done = self._client.get_operation(made["id"]) if "rollout" in first else made
            if refused := rollout_refused(done):
                self._watcher.note(f"Warning: rollout of {name}: {refused}")
        return deployment_of(self._client.get_deployment(endpoint, name))

    def _warned(self, operation: Operation) -> Operation:
        for warning in operation.get("warnings", ()):
            self._watcher.note(f"Warning: {warning}")
        return operation

    def _settled(self, begun: Operation, name: str, endpoint: str) -> Work[OnlineDeployment]:
        yield begun
        return deployment_of(self._client.get_deployment(endpoint, name))

    def _delete(self, name: str, endpoint: str) -> Work[None]:
        operation: Operation = self._client.delete_deployment(endpoint, name)
        yield operation


def _named(shown: Endpoint, entity: OnlineDeployment) -> Deployment | None:
    return next((item for item in shown["deployments"] if item["name"] == entity.name), None)


def _with_model(entity: OnlineDeployment, current: Deployment | None) -> OnlineDeployment:
    """A file without a model keeps the one that runs."""
    if entity.model is not None or current is None:
        return entity
    kept = copy.copy(entity)
    kept.model = f"azureml:{current['model']}:{current['version']}"
    return kept


def _counted(entity: OnlineDeployment, current: Deployment | None) -> None:
    """Raises ShoalError for no replicas, unless it is paused and stays so."""
    count = entity.instance_count
    if count is None or count > 0 or (current and count == current["instance_count"]):
        return
    raise ShoalError(
        f"{entity.name} cannot have so few replicas",
        f"instance_count: {count}, expected 1 or more",
        ["Pause one that is there with `shoal online-deployment stop`."],
    )


def _body(
    entity: OnlineDeployment, version: ModelVersion | None, current: Deployment | None
) -> Values:
    """What REST is sent to make it, or to change ``current``."""
    body = deployment_body(entity)
    if version is not None:
        body |= {"model": version["model"], "version": str(version["version"])}
    if current is not None:
        body |= _probes(current, body)
        before = deployment_of(current)
        # why: what was changed goes before what was read beside it
        if entity.autoscale == before.autoscale and entity.scale_settings != before.scale_settings:
            body["autoscale"] = policy_of(entity)
        if entity.capture == before.capture and entity.data_collector != before.data_collector:
            body["capture"] = collected(entity.data_collector) or None
    if entity.instance_count is not None:
        body["instance_count"] = entity.instance_count
    return body


def _probes(current: Mapping[str, Any], body: Values) -> Values:
    """Those that are given, laid over what runs: what is left out of one stays."""
    found: Values = {}
    for name in ("liveness_probe", "readiness_probe"):
        # REST refuses names that it does not know; what else a file says stays declared
        given = body["declared"].get(name) or {}
        given = {key: value for key, value in given.items() if key in PROBE_SETTINGS}
        if given:
            found[name] = {**(current.get(name) or {}), **given}
    return found


def _of_triton(routes: Mapping[str, Any] | None) -> bool:
    """Whether a container with these routes would answer as the runtime does."""
    probes = [(routes or {}).get(name) or {} for name in ("liveness_route", "readiness_route")]
    return any(str(probe.get("path", "")).startswith("/v2/") for probe in probes)


def _servable(entity: OnlineDeployment) -> None:
    """Raises ShoalError for a name that cannot be, and for what would need something else than the
    runtime."""
    if fault := name_fault(str(entity.name), "name"):
        raise EntityInvalid("The deployment", [fault])
    image = getattr(entity.environment, "image", None)
    routes = getattr(entity.environment, "inference_config", None)
    if image and not _of_triton(routes) and entity.code_configuration is None:
        raise ShoalError(
            "Images are not run",
            f"environment.image of {entity.name}: {image}",
            [
                "Take the environment out: Triton models are served by Shoal's own runtime.",
                "Code of your own is served by a scoring script: `code_configuration`.",
            ],
        )
