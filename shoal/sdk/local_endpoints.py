"""Endpoints of this machine alone: ``--local``, ``local=True``. No installation knows of them.

An endpoint is a folder with ``endpoint.json``, and each of its deployments one with
``deployment.json`` and the runtime that serves it, in a folder of its own: a change starts another
one beside it, which takes its place once it serves.
"""

import contextlib
import fcntl
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar

from shoal.client import names
from shoal.client.absent import is_absent
from shoal.client.client import Client
from shoal.client.discovery import state_folder
from shoal.client.errors import ShoalError
from shoal.dev import DEBUG_PORT
from shoal.dev.background import Background
from shoal.dev.runtime import debug_flag
from shoal.display.watcher import Watcher
from shoal.entities import OnlineDeployment, OnlineEndpoint
from shoal.entities.base import Values
from shoal.entities.loading import load_online_deployment, load_online_endpoint
from shoal.entities.settings import OwnSettings
from shoal.sdk import scoring
from shoal.sdk.local_files import LocalFiles, absolute
from shoal.sdk.shapes import WORKSPACE, texts

T = TypeVar("T")
_TIMEOUT: Final = "SCORING_TIMEOUT_MS"
# What one process on one machine does nothing with.
_UNUSED: Final = (
    "autoscale", "scale_settings", "liveness_probe", "readiness_probe", "resources",
    "instance_type", "data_collector", "capture", *(field.name for field in fields(OwnSettings)),
)  # fmt: skip
_UNUSED_REQUEST: Final = ("max_concurrent_requests_per_instance", "max_queue_wait_ms")


class LocalNotFound(ShoalError):
    code = "EndpointNotFound"


class LocalEndpoints:
    """``files`` makes repositories; ``root`` is where all of it is kept."""

    def __init__(
        self, client: Client, watcher: Watcher, files: LocalFiles, root: Path | None = None
    ) -> None:
        self._client, self._watcher, self._files = client, watcher, files
        self._root = root or state_folder()
        self._told: set[str] = set()

    # --- which endpoints are meant ---------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return names.is_valid(name) and (self._root / name / "endpoint.json").is_file()

    def means(self, name: str, *, local: bool) -> bool:
        """Whether ``local`` means an endpoint here: else, where there is an installation, its one.

        Scripts that said --local to an installation before it meant anything go on so.
        """
        if not local:
            return False
        if name in self or is_absent(self._client):
            return True
        if name not in self._told:
            self._told.add(name)
            self._watcher.note(f"There is no local endpoint {name}; the installation is asked")
        return False

    # --- endpoints -------------------------------------------------------------------------------

    def put_endpoint(self, entity: OnlineEndpoint) -> OnlineEndpoint:
        name = str(entity.name)
        if not names.is_valid(name):
            raise ShoalError(f"{name!r} cannot be a name", f"name: {names.RULE}")
        deployments = {item.name for item in self.list_deployments(name)} if name in self else ()
        for field in ("traffic", "mirror_traffic"):
            unknown = sorted(set(getattr(entity, field) or {}) - set(deployments))
            if unknown:
                known = ", ".join(sorted(map(str, deployments))) or "none"
                raise ShoalError(
                    f"{field} names deployments that there are not",
                    f"{', '.join(unknown)}; the local endpoint {name} has {known}",
                )
        folder = self._root / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(folder / "endpoint.json", {"entity": entity._to_dict()})
        return self.get_endpoint(name)

    def get_endpoint(self, name: str) -> OnlineEndpoint:
        """Raises LocalNotFound."""
        entity = load_online_endpoint(self._read_endpoint(name)["entity"])
        entity.location = "local"
        entity.id = f"{WORKSPACE}/onlineEndpoints/{name}"
        deployments = self.list_deployments(name)
        alive = [item for item in deployments if item.shown["scoring_uri"]]
        entity.provisioning_state = "Succeeded"
        entity.shown = {"serving_state": _serving(bool(alive), bool(deployments))}
        with contextlib.suppress(ShoalError):  # nobody answers, or one of several would
            entity.scoring_uri = self._answering(name, None).shown["scoring_uri"]
        return entity

    def list_endpoints(self) -> list[OnlineEndpoint]:
        found = sorted(path.name for path in self._root.glob("*") if path.name in self)
        return [self.get_endpoint(name) for name in found]

    def delete_endpoint(self, name: str) -> None:
        self._read_endpoint(name)
        with self._changing(name):
            # those too that a command which was killed had begun
            for deployment in (self._root / name / "deployments").glob("*"):
                self._remove(deployment)
            shutil.rmtree(self._root / name)

    # --- deployments -----------------------------------------------------------------------------

    def put_deployment(
        self, entity: OnlineDeployment, *, all_traffic: bool, debug: bool = False
    ) -> OnlineDeployment:
        """Returns once it serves; with ``debug``, debuggers may attach to its code. Where it does
        not start, one that ran before serves on, or else its log is kept."""
        endpoint, name = str(entity.endpoint_name), str(entity.name)
        stored = self._read_endpoint(endpoint)
        self._tell_unused(entity)
        absolute(entity)
        with self._changing(endpoint):
            folder = self._root / endpoint / "deployments" / name
            before = _document(folder / "deployment.json")
            run = self._next_run(folder)
            try:
                self._files.write(entity, run.models, debug=debug)
                run.start((debug_flag(DEBUG_PORT),) if debug else (), _variables(entity))
                if debug:
                    self._watcher.note(f"Attach a debugger (debugpy) at 127.0.0.1:{DEBUG_PORT}")
                self._watcher.note(f"Starting {name} on this machine; its log: {run.log}")
                self._aside(run.wait_ready)
            except ShoalError as error:
                self._failed(folder, entity, run, before, error)
                raise
            except BaseException:  # Ctrl-C among them
                run.remove()
                raise
            _write(
                folder / "deployment.json", {"entity": entity._to_dict(), "run": run.folder.name}
            )
            if before is not None:
                self._aside(Background(folder / before["run"]).remove)
            if all_traffic:
                stored["entity"]["traffic"] = {name: 100}
                _write(self._root / endpoint / "endpoint.json", stored)
        return self.get_deployment(name, endpoint)

    def get_deployment(self, name: str, endpoint: str) -> OnlineDeployment:
        """Raises LocalNotFound."""
        document, run = self._read_deployment(name, endpoint)
        entity = load_online_deployment(document["entity"])
        entity.id = f"{WORKSPACE}/onlineEndpoints/{endpoint}/deployments/{name}"
        alive = run.is_alive()
        entity.instance_count = 1  # whatever is asked for: one process
        entity.provisioning_state = "Succeeded" if alive else "Failed"
        entity.shown = {
            "serving_state": _serving(alive, True),
            "scoring_uri": run.address if alive else None,
        }
        return entity

    def list_deployments(self, endpoint: str) -> list[OnlineDeployment]:
        self._read_endpoint(endpoint)
        return [self.get_deployment(folder.name, endpoint) for folder in self._folders(endpoint)]

    def delete_deployment(self, name: str, endpoint: str) -> None:
        self._read_deployment(name, endpoint)
        with self._changing(endpoint):
            self._remove(self._root / endpoint / "deployments" / name)
            stored = self._read_endpoint(endpoint)
            for field in ("traffic", "mirror_traffic"):
                stored["entity"].get(field, {}).pop(name, None)
            _write(self._root / endpoint / "endpoint.json", stored)

    def logs(self, name: str, endpoint: str, lines: int) -> str:
        _, run = self._read_deployment(name, endpoint)
        return run.last_lines(lines)

    def invoke(self, endpoint: str, deployment: str | None, content: bytes) -> str:
        """Raises scoring.ScoringFailed with the deployment's own words."""
        found = self._answering(endpoint, deployment)
        transport = self._client.concurrency.http_transport(found.shown["scoring_uri"], None)
        return scoring.post_local(found.shown["scoring_uri"], content, transport)

    # --- what is on the disk ---------------------------------------------------------------------

    def _answering(self, endpoint: str, deployment: str | None) -> OnlineDeployment:
        """The one that is named, or else has the traffic, or else is the only one."""
        deployments = {str(item.name): item for item in self.list_deployments(endpoint)}
        traffic = self._read_endpoint(endpoint)["entity"].get("traffic") or {}
        candidates = [name for name, share in traffic.items() if share] or list(deployments)
        if deployment is None and len(candidates) != 1:
            raise ShoalError(
                f"Several local deployments of {endpoint} could answer"
                if candidates
                else f"The local endpoint {endpoint} has no deployment",
                f"deployments: {', '.join(sorted(candidates)) or 'none'}",
                ["Name one with --deployment-name (deployment_name=)."]
                if candidates
                else ["`shoal online-deployment create --local -f FILE` makes one."],
            )
        name = deployment or candidates[0]
        found = deployments.get(name) or self.get_deployment(name, endpoint)
        if not found.shown["scoring_uri"]:
            raise ShoalError(
                f"The local deployment {name} does not run",
                "it failed, or the machine was started anew since",
                [
                    f"shoal online-deployment get-logs --local -e {endpoint} -n {name}",
                    f"shoal online-deployment update --local -e {endpoint} -n {name} starts it.",
                ],
            )
        return found

    def _read_endpoint(self, name: str) -> dict[str, Any]:
        document = _document(self._root / name / "endpoint.json") if name in self else None
        if document is None:
            raise LocalNotFound(
                f"There is no local endpoint {name}",
                f"in {self._root}",
                [f"shoal online-endpoint create --local -n {name}"],
            )
        return document

    def _read_deployment(self, name: str, endpoint: str) -> tuple[dict[str, Any], Background]:
        self._read_endpoint(endpoint)
        folder = self._root / endpoint / "deployments" / name
        document = _document(folder / "deployment.json") if names.is_valid(name) else None
        if document is None:
            known = ", ".join(path.name for path in self._folders(endpoint)) or "none"
            raise LocalNotFound(
                f"The local endpoint {endpoint} has no deployment {name}", f"it has {known}"
            )
        return document, Background(folder / document["run"])

    def _folders(self, endpoint: str) -> list[Path]:
        found = (self._root / endpoint / "deployments").glob("*/deployment.json")
        return sorted(path.parent for path in found)

    def _next_run(self, folder: Path) -> Background:
        """An empty folder; what an interrupted change left is removed."""
        folder.mkdir(parents=True, exist_ok=True)
        document = _document(folder / "deployment.json")
        numbers = [0]
        for left in folder.glob("run-*"):
            numbers.append(int(left.name.removeprefix("run-")))
            if document is None or document["run"] != left.name:
                self._aside(Background(left).remove)
        run = folder / f"run-{max(numbers) + 1}"
        run.mkdir(mode=0o700)
        return Background(run)

    def _failed(
        self,
        folder: Path,
        entity: OnlineDeployment,
        run: Background,
        before: Mapping[str, Any] | None,
        error: ShoalError,
    ) -> None:
        if before is not None and Background(folder / before["run"]).is_alive():
            error.hints = (*error.hints, f"{entity.name} serves on as it was.")
            run.remove()
        elif not run.log.exists():  # it was refused before it began
            run.remove()
            if before is None:
                shutil.rmtree(folder)
        else:
            run.stop()
            _write(
                folder / "deployment.json", {"entity": entity._to_dict(), "run": run.folder.name}
            )

    def _remove(self, folder: Path) -> None:
        for run in folder.glob("run-*"):
            self._aside(Background(run).remove)
        shutil.rmtree(folder)

    def _tell_unused(self, entity: OnlineDeployment) -> None:
        given = [name for name in _UNUSED if getattr(entity, name)]
        given += [name for name in _UNUSED_REQUEST if getattr(entity.request_settings, name, None)]
        given += ["instance_count"] if (entity.instance_count or 1) > 1 else []
        if given:
            self._watcher.note(f"One process on this machine does nothing with {', '.join(given)}")

    def _aside(self, work: Callable[[], T]) -> T:
        return self._client.concurrency.aside(work)

    @contextlib.contextmanager
    def _changing(self, endpoint: str) -> Iterator[None]:
        """One change of an endpoint at a time. Raises ShoalError while there is another."""
        with (self._root / f".{endpoint}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ShoalError(
                    f"The local endpoint {endpoint} is being changed", "by another command"
                ) from None
            yield


def _variables(entity: OnlineDeployment) -> dict[str, str]:
    found = texts(entity.environment_variables)
    bounds = [entity.request_timeout_ms, found.get(_TIMEOUT)]
    given = [int(bound) for bound in bounds if bound is not None and str(bound).isdecimal()]
    return {**found, **({_TIMEOUT: str(min(given))} if given else {})}


def _serving(answers: bool, there: bool) -> str:
    """In the words of installations."""
    if answers:
        return "Healthy"
    return "Unavailable" if there else "Stopped"


def _document(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found


def _write(path: Path, document: Values) -> None:
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(document, indent=2), encoding="utf-8")
    unfinished.replace(path)
