"""The client: one method per thing to do to an installation, and ``deploy`` for the whole way."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, cast

import httpx

from shoal.client import downloads, operations
from shoal.client.administration import quoted
from shoal.client.alerts import Alerts
from shoal.client.bottlenecks import Bottlenecks
from shoal.client.capacity import Capacities
from shoal.client.capture import Capture
from shoal.client.concurrency import Concurrency
from shoal.client.deployments import DRY_RUN, Deployments
from shoal.client.discovery import Installation, find_installation
from shoal.client.environments import Environments
from shoal.client.experiments import Experiments
from shoal.client.key_types import EndpointToken, Keys
from shoal.client.logs import Logs
from shoal.client.objectives import Objectives
from shoal.client.packages import Packages
from shoal.client.packing import packaged
from shoal.client.projects import Projects
from shoal.client.rollouts import Rollouts
from shoal.client.saved_cases import SavedCases
from shoal.client.seen_requests import SeenRequests
from shoal.client.sweeps import Sweeps
from shoal.client.transport import Transport
from shoal.client.tunings import Tunings
from shoal.client.types import (
    DeployResult,
    Endpoint,
    Model,
    ModelVersion,
    Operation,
    SessionInfo,
    Signatures,
    TryLoad,
    VersionSummary,
)
from shoal.client.uploads import OnBytes

OPERATION_TIMEOUT_S = 900.0


class Client(
    Packages,
    Environments,
    Projects,
    Alerts,
    Objectives,
    Capture,
    Rollouts,
    SavedCases,
    Bottlenecks,
    Capacities,
    Experiments,
    SeenRequests,
    Sweeps,
    Tunings,
    Logs,
    Deployments,
):
    """``Client()`` finds the installation as the command line does; ``Client(url, token)`` says it.

    Every method raises ``Problem`` when the server refuses (``.code``, ``.detail``, ``.hints``) and
    ``ConnectionFailed`` when it does not answer. Safe to use as a context manager; not thread-safe.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str = "",
        *,
        installation: Installation | None = None,
        project: str = "",
        timeout_s: float = 60.0,
        http_transport: httpx.BaseTransport | None = None,
        concurrency: Concurrency | None = None,
    ) -> None:
        """Raises InstallationNotFound when ``url`` is not given and none can be found.

        ``project``: where new things go, and what lists are of; SHOAL_PROJECT unless said.
        ``http_transport`` replaces the network in tests, ``concurrency`` says how to wait.
        """
        if installation is None:
            installation = Installation(url.rstrip("/"), token) if url else find_installation()
        self.installation = installation
        self.project = project or installation.project
        self._transport = Transport(
            installation, timeout_s=timeout_s, transport=http_transport, concurrency=concurrency
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def session(self) -> SessionInfo:
        """Who we are, and the server's version."""
        return cast(SessionInfo, self._get("/session"))

    # models ---------------------------------------------------------------------------------------

    def list_models(self, q: str | None = None, *, archived: str = "active") -> list[Model]:
        """``archived``: active, archived or all."""
        return list(self._items("/models", q=q, archived=archived, project=self.project or None))

    def get_model(self, name: str) -> Model:
        return cast(Model, self._get(f"/models/{quoted(name)}"))

    def list_model_versions(self, name: str) -> list[VersionSummary]:
        return list(self._items(f"/models/{quoted(name)}/versions"))

    def get_model_version(self, name: str, version: int | str = "latest") -> ModelVersion:
        return cast(ModelVersion, self._get(f"/models/{quoted(name)}/versions/{version}"))

    def register_model(
        self,
        name: str,
        upload_id: str,
        *,
        description: str | None = None,
        configs: Mapping[str, str] | None = None,
        version: int | None = None,
        tags: Mapping[str, str] | None = None,
        declared: Mapping[str, Any] | None = None,
        lineage: Mapping[str, str] | None = None,
        apply_fixes: bool = False,
        same_tensors: bool = False,
    ) -> ModelVersion:
        """A new model, its next version, or the version that has the same content already.

        ``configs`` maps models of the repository to edited config.pbtxt texts; ``version`` asks for
        a number; ``declared`` is kept and given back; ``lineage`` says where it comes from
        (``address``, ``run``, ``run_url``, ``commit``, ``dataset``); ``apply_fixes`` mends wrong
        configurations as the inspection of the upload proposes. With ``same_tensors`` Problem
        ``TensorsDiffer`` is raised where the newest version has other inputs and outputs.
        """
        optional = {
            "description": description,
            "configs": configs,
            "version": version,
            "tags": tags,
            "declared": declared,
            "lineage": lineage,
            "apply_fixes": apply_fixes,
            "same_tensors": same_tensors,
        }
        body: dict[str, Any] = {"name": name, "upload_id": upload_id}
        body |= {key: value for key, value in optional.items() if value}
        # why: equal content gives the same version, so asking twice is harmless
        answer = self._transport.json("POST", "/models", json=body)
        return cast(ModelVersion, answer)

    def update_model_version(self, name: str, version: int | str, **fields: Any) -> ModelVersion:
        """``fields``: description, tags, declared, lineage: each stands for what there was."""
        path = f"/models/{quoted(name)}/versions/{version}"
        return cast(ModelVersion, self._transport.json("PATCH", path, json=fields))

    def set_model_archived(
        self, name: str, version: int | str | None = None, *, archived: bool
    ) -> None:
        """The whole model, or one version: hidden from lists and new deployments, or back."""
        one = "" if version is None else f"/versions/{version}"
        verb = "archive" if archived else "restore"
        self._transport.json("POST", f"/models/{quoted(name)}{one}/{verb}")

    def approve_model_version(
        self, name: str, version: int | str, config_revision: int | None = None
    ) -> ModelVersion:
        """Let the code in a version run; needs the permission ``code:upload``. What revisions of
        its configurations after ``config_revision`` name waits on."""
        path = f"/models/{quoted(name)}/versions/{version}/approve"
        body = {"config_revision": config_revision}
        return cast(ModelVersion, self._transport.json("POST", path, json=body))

    def disapprove_model_version(self, name: str, version: int | str) -> ModelVersion:
        """Take the approval back; needs ``code:upload``. What runs the code runs on."""
        path = f"/models/{quoted(name)}/versions/{version}/approve"
        return cast(ModelVersion, self._transport.json("DELETE", path))

    def get_signatures(
        self, name: str, version: int | str, config_revision: int | None = None
    ) -> Signatures:
        """The statement of what a version runs, and who signed it. ``config_revision``: default
        the newest, 0 the files alone."""
        path = f"/models/{quoted(name)}/versions/{quoted(str(version))}/signatures"
        params = {} if config_revision is None else {"config_revision": config_revision}
        return cast(Signatures, self._transport.json("GET", path, params=params))

    def add_signature(
        self, name: str, version: int | str, signature: str, *, config_revision: int | None = None
    ) -> Signatures:
        """``signature`` is the text of a .minisig file over the statement's bytes."""
        path = f"/models/{quoted(name)}/versions/{quoted(str(version))}/signatures"
        body = {"signature": signature, "config_revision": config_revision}
        return cast(Signatures, self._transport.json("POST", path, json=body))

    def download_model(
        self, name: str, version: int | str, target: Path, *, on_bytes: OnBytes | None = None
    ) -> Path:
        """The version's files below ``target``. Raises UnusableSource when that is not empty."""
        shown = self.get_model_version(name, version)
        return downloads.fetch(self._transport, shown, target, on_bytes=on_bytes)

    def read_model_file(self, name: str, version: int | str, path: str) -> bytes:
        """One file of a version, by its path in the repository."""
        return downloads.read_file(self._transport, name, version, path)

    # endpoints ------------------------------------------------------------------------------------

    def list_endpoints(self, q: str | None = None) -> list[Endpoint]:
        return list(self._items("/endpoints", q=q, project=self.project or None))

    def get_endpoint(self, name: str) -> Endpoint:
        return cast(Endpoint, self._get(f"/endpoints/{quoted(name)}"))

    def create_endpoint(self, name: str, **fields: Any) -> Endpoint:
        """``fields``: description, tags, declared, auth_mode, cors_origins, objectives, ..., as in
        REST."""
        body = {"name": name, **self._in_project(), **fields}
        return cast(Endpoint, self._transport.json("POST", "/endpoints", json=body))

    def update_endpoint(self, name: str, *, supersede: bool = False, **fields: Any) -> Endpoint:
        """``fields``: the same, traffic, mirror_traffic and traffic_rules; what is left out stays.
        All of them are changed or, where the server refuses one, none.

        ``supersede``: cancel what is about to move the traffic."""
        path, params = f"/endpoints/{quoted(name)}", {"supersede": "true"} if supersede else None
        return cast(Endpoint, self._transport.json("PATCH", path, json=fields, params=params))

    def ask_endpoint(self, name: str, *, new: bool, **fields: Any) -> None:
        """Whether ``create_endpoint`` (``new``) or ``update_endpoint`` would be accepted; nothing
        is changed. Raises Problem as they would."""
        if new:
            body = {"name": name, **self._in_project(), **fields}
            self._transport.send("POST", "/endpoints", json=body, params=DRY_RUN)
        else:
            path = f"/endpoints/{quoted(name)}"
            self._transport.send("PATCH", path, json=fields, params=DRY_RUN)

    def set_mirror(
        self, name: str, mirror_traffic: Mapping[str, int], *, supersede: bool = False
    ) -> Endpoint:
        """``mirror_traffic``: one deployment without traffic, and up to 50 percent.

        ``supersede``: cancel what is about to give that deployment traffic."""
        path = f"/endpoints/{quoted(name)}/mirror"
        body = {"mirror_traffic": dict(mirror_traffic)}
        params = {"supersede": "true"} if supersede else None
        return cast(Endpoint, self._transport.json("PUT", path, json=body, params=params))

    def regenerate_key(self, name: str, key_type: str) -> Keys:
        """``key_type``: primary or secondary; the other key goes on working."""
        path = f"/endpoints/{quoted(name)}/keys/regenerate"
        return cast(Keys, self._transport.json("POST", path, json={"key_type": key_type}))

    def delete_endpoint(self, name: str) -> Operation:
        """The running operation; give it to ``wait_operation``."""
        return cast(Operation, self._transport.json("DELETE", f"/endpoints/{quoted(name)}"))

    def get_keys(self, name: str) -> Keys:
        """The endpoint's keys; the server records that they were read."""
        path = f"/endpoints/{quoted(name)}/keys/list"
        return cast(Keys, self._transport.json("POST", path))

    def create_endpoint_token(self, name: str) -> EndpointToken:
        """A token that opens the endpoint until it expires; the server records that it was made."""
        path = f"/endpoints/{quoted(name)}/token"
        return cast(EndpointToken, self._transport.json("POST", path))

    # operations -----------------------------------------------------------------------------------

    def get_operation(self, operation_id: str) -> Operation:
        return cast(Operation, self._get(f"/operations/{quoted(operation_id)}"))

    def list_operations(
        self,
        endpoint: str | None = None,
        *,
        state: str | None = None,
        kind: str | None = None,
        actor: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> list[Operation]:
        """Newest first. ``actor``: who began them; ``since``, ``until``: when, as ISO 8601."""
        filters = {"state": state, "kind": kind, "actor": actor, "since": since, "until": until}
        project = self.project or None
        return list(self._items("/operations", endpoint=endpoint, project=project, **filters))

    def cancel_operation(self, operation_id: str) -> Operation:
        path = f"/operations/{quoted(operation_id)}/cancel"
        return cast(Operation, self._transport.json("POST", path))

    def retry_operation(
        self, operation_id: str, *, supersede: bool = False, skip_golden: bool = False
    ) -> Operation:
        """A new operation that does the same as one that failed or was cancelled.

        ``supersede``: cancel what is under way there first. ``skip_golden``: go on without asking
        golden cases."""
        path = f"/operations/{quoted(operation_id)}/retry"
        given = {"supersede": supersede, "skip_golden": skip_golden}
        params = {name: "true" for name, on in given.items() if on}
        return cast(Operation, self._transport.json("POST", path, params=params))

    def wait_operation(
        self,
        operation: Operation,
        *,
        timeout_s: float = OPERATION_TIMEOUT_S,
        on_change: Callable[[Operation], None] | None = None,
    ) -> Operation:
        """The operation, Succeeded. Raises OperationFailed with its reason, or WaitTimeout."""
        return operations.wait(self._transport, operation, timeout_s=timeout_s, on_change=on_change)

    def validate_config(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """``text``, ``repo_model``, and optionally ``model``, ``version`` to check against."""
        answer = self._transport.json("POST", "/config/validate", json=dict(body))
        return cast(dict[str, Any], answer)

    # trials ---------------------------------------------------------------------------------------

    def start_try_load(
        self,
        model: str,
        version: int | str = "latest",
        *,
        node: str = "",
        instance_type: str = "",
        timeout_s: int | None = None,
        only_approved: bool = False,
    ) -> TryLoad:
        """Loads a version on a node, once, without an endpoint; follow it with ``get_try_load``.

        ``only_approved``: refuses code that nobody has approved, also where you may have it run.
        """
        body: dict[str, Any] = {"model": model, "version": str(version)}
        optional = {
            "node": node,
            "instance_type": instance_type,
            "timeout_s": timeout_s,
            "only_approved": only_approved,
        }
        body |= {key: value for key, value in optional.items() if value}
        return cast(TryLoad, self._transport.json("POST", "/try-loads", json=body))

    def get_try_load(self, trial_id: str) -> TryLoad:
        return cast(TryLoad, self._get(f"/try-loads/{quoted(trial_id)}"))

    def cancel_try_load(self, trial_id: str) -> TryLoad:
        path = f"/try-loads/{quoted(trial_id)}/cancel"
        return cast(TryLoad, self._transport.json("POST", path))

    # the whole way --------------------------------------------------------------------------------

    def deploy(
        self,
        path: str | Path,
        name: str,
        *,
        deployment: str | None = None,
        instance_count: int | None = None,
        traffic: int | None = None,
        rollout: Mapping[str, Any] | None = None,
        skip_golden: bool = False,
        same_tensors: bool = False,
        timeout_s: float = OPERATION_TIMEOUT_S,
        on_bytes: OnBytes | None = None,
    ) -> DeployResult:
        """From an .onnx file, a folder or a zip to a live endpoint called ``name``.

        An endpoint that exists gets the new version beside the old one, then all its traffic, or
        what ``traffic`` or ``rollout`` say, as with ``start_deploy``, which has ``skip_golden``,
        too. ``same_tensors`` is that of ``register_model``.
        Raises UnusableSource, Problem, OperationFailed, WaitTimeout, ConnectionFailed.
        """
        package = packaged(Path(path), serve_as=name)
        upload = self.upload_package(package, timeout_s=timeout_s, on_bytes=on_bytes)
        version = self.register_model(name, upload["id"], same_tensors=same_tensors)
        operation = self.start_deploy(
            version["model"],
            version["version"],
            endpoint=name,
            deployment=deployment,
            instance_count=instance_count,
            traffic=traffic,
            rollout=rollout,
            skip_golden=skip_golden,
        )
        return cast(DeployResult, self.wait_operation(operation, timeout_s=timeout_s)["result"])
