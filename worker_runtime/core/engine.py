"""The data plane that every front end calls: find the model, check the request, hand it on."""

from collections.abc import Mapping
from pathlib import Path
from time import monotonic_ns
from typing import Any

from worker_runtime.core.manager import Manager
from worker_runtime.core.model import ModelVersion
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import (
    Internal,
    InvalidArgument,
    RuntimeFault,
    ShuttingDown,
)
from worker_runtime.observability.capture.capture import Capture
from worker_runtime.observability.dialect import Dialect
from worker_runtime.observability.logging import LogControl, read_changes, settings_shown
from worker_runtime.observability.requests.watched import ended
from worker_runtime.observability.tracing.config import read_trace_changes
from worker_runtime.observability.tracing.tracer import Shown, Tracer
from worker_runtime.repository.config_json import to_json
from worker_runtime.types.repository import LoadOverride, ModelState, name_of
from worker_runtime.types.request import InferRequest, Plan

SERVER_VERSION = "2.73.0"
EXTENSIONS = (
    "classification",
    "sequence",
    "model_repository",
    "model_repository(unload_dependents)",
    "schedule_policy",
    "model_configuration",
    "system_shared_memory",
    "cuda_shared_memory",
    "binary_tensor_data",
    "parameters",
    "statistics",
    "trace",
    "logging",
)


class Engine:
    """``strict_readiness``: ready only when every model is; ``started`` once loading has ended.

    ``broken``: there is no usable repository, so the server is up but not even live. Nor is it once
    a device is lost: only another process can use it again, and who watches this one restarts it.
    """

    def __init__(
        self,
        manager: Manager,
        server_id: str,
        *,
        strict_readiness: bool = True,
        tracer: Tracer | None = None,
        log: LogControl | None = None,
        shared_memory: SharedMemory | None = None,
        capture: Capture | None = None,
    ) -> None:
        self._manager = manager
        self._ready = manager.ready
        self._strict = strict_readiness
        self.server_id = server_id
        self.shared_memory = shared_memory or SharedMemory()
        self.tracer = tracer or Tracer()
        self._capture = capture
        self.log = log or LogControl()
        self.started = False
        self.broken = False
        self.stopping = False
        self.draining = False  # not ready any more, but still serving

    # --- inference -------------------------------------------------------------------------

    def resolve(self, name: str, version: str = "") -> ModelVersion:
        """The READY version asked for ("" = the highest). Raises NotFound or Unavailable."""
        model = self._ready.get((name, version))
        return model if model is not None else self._manager.resolve(name, version)

    def plan(
        self,
        model: ModelVersion,
        request_id: str,
        inputs: tuple[tuple[str, str, tuple[int, ...]], ...],
        outputs: tuple[str, ...] | None,
    ) -> Plan:
        """Check a request's form. Raises InvalidArgument in the core's words."""
        try:
            return model.planner.plan(inputs, outputs)
        except RuntimeFault as error:
            raise error.for_request(request_id) from None

    def submit(self, model: ModelVersion, request: InferRequest) -> None:
        """Accept a request; raises at once or calls its sink later, in this loop."""
        if self.stopping and not model.scheduler.goes_on:
            raise ShuttingDown("the server is shutting down")
        request.model = model
        if not request.arrived_ns:
            request.arrived_ns = monotonic_ns()
        capture = self._capture
        # why so: each request is drawn for once, and who is not captured pays for one look
        if request.trace is None and (capture is None or not capture.due()):
            try:
                model.scheduler.submit(request)
            except RuntimeFault as error:
                ended(request, error)
                raise
            return
        sink = request.sink
        if capture is not None and (request.trace is None or capture.due()):
            capture.watch(request)
        try:
            model.scheduler.submit(request)
        except RuntimeFault as error:
            request.sink = sink
            if request.trace is not None:
                request.trace.abandon(request, error)
            ended(request, error)
            raise

    def cancel(self, request: InferRequest) -> None:
        """The client has gone: drop the request if it still waits."""
        if request.model is not None:
            request.model.scheduler.cancel(request)

    def only_model(self) -> ModelVersion:
        """The one READY model. Raises InvalidArgument listing the models when there are several."""
        return self._manager.directory.only()

    # --- health and metadata -----------------------------------------------------------------

    @property
    def live(self) -> bool:
        lost = any(model.device_lost for model in self._manager.versions)
        return not (self.stopping or self.broken or lost)

    @property
    def ready(self) -> bool:
        if not self.started or self.stopping or self.draining:
            return False
        return not self._strict or (
            self._manager.all_ready and all(model.healthy for model in self._manager.versions)
        )

    def model_ready(self, name: str, version: str = "") -> bool:
        """True when it can answer. Raises NotFound or Unavailable like ``resolve``."""
        model = self.resolve(name, version)
        return model.healthy and not self.stopping

    def server_metadata(self) -> dict[str, Any]:
        return {"name": self.server_id, "version": SERVER_VERSION, "extensions": list(EXTENSIONS)}

    def model_metadata(self, name: str, version: str = "") -> dict[str, Any]:
        """KServe v2 model metadata as plain data."""
        model = self.resolve(name, version)
        ready = self._manager.records[self._manager.key(name)].ready
        limit = model.signature.max_batch_size

        def shown(specs: Any) -> list[dict[str, Any]]:
            return [
                {"name": s.name, "datatype": s.datatype.name, "shape": s.wire_shape(limit)}
                for s in specs
            ]

        return {
            "name": model.name,
            "versions": [version] if version else [str(v) for v in ready],
            "platform": model.config.platform or model.config.backend,
            "inputs": shown(model.signature.inputs),
            "outputs": shown(model.signature.outputs),
        }

    def model_config(self, name: str, version: str = "") -> dict[str, Any]:
        return to_json(self.resolve(name, version).config)

    def statistics(self, name: str = "", version: str = "") -> list[ModelVersion]:
        """The versions whose statistics were asked for; all READY ones without a name.

        Raises InvalidArgument for what is not there, unlike its siblings.
        """
        if not name:
            return self._manager.versions
        name = name_of(self._manager.key(name))
        found = [model for model in self._manager.versions if model.name == name]
        if not found:
            raise InvalidArgument(f"requested model '{name}' is not available")
        if version:
            found = [model for model in found if str(model.version) == version]
        if not found:
            raise InvalidArgument(f"requested model version is not available for model '{name}'")
        return found

    # --- traces and logs -----------------------------------------------------------------------

    def trace_settings(self, model: str = "") -> Shown:
        """The trace setting of a model ("" = of all). Raises InvalidArgument: unknown model."""
        self._check_traced(model)
        return self.tracer.settings(model)

    def update_trace_settings(
        self, model: str, changes: Mapping[str, Any], dialect: Dialect = Dialect.JSON
    ) -> Shown:
        """Change it as a client asks and give back what is in force then.

        ``changes`` as in a JSON body; with ``Dialect.LISTS`` a list of texts for each name.
        Raises InvalidArgument, Unsupported or Internal in Triton's words.
        """
        self._check_traced(model)
        self.tracer.update(model, read_trace_changes(changes, dialect))
        return self.tracer.settings(model)

    def _check_traced(self, model: str) -> None:
        if model and (self._manager.key(model), "") not in self._ready:
            raise InvalidArgument(f"Request for unknown model : {model}")

    def log_settings(self) -> dict[str, bool | int | str]:
        return settings_shown(self.log.options)

    def update_log_settings(
        self, changes: Mapping[str, Any], dialect: Dialect = Dialect.JSON
    ) -> dict[str, bool | int | str]:
        """Change them as a client asks and give back what is in force then.

        ``changes`` as in a JSON body; with ``Dialect.LISTS`` the typed value that was set for each
        name. Raises Unsupported, InvalidArgument, Unavailable or Internal in Triton's words.
        """
        self.log.change(**read_changes(changes, dialect))
        return settings_shown(self.log.options)

    # --- repository --------------------------------------------------------------------------

    def index(self, *, ready_only: bool = False, failures: bool = False) -> list[dict[str, Any]]:
        """The models on disk with their versions' states and reasons; the keys that are known.

        ``failures`` adds why models could not be read at all, which Triton keeps to its log.
        Raises Internal when a repository cannot be read.
        """
        try:
            rows = self._manager.index(failures=failures)
        except OSError as error:
            raise Internal(f"failed to read the model repository: {error}") from error
        return [row for row in rows if not ready_only or row.get("state") == ModelState.READY]

    async def load(self, name: str, override: LoadOverride | None = None) -> None:
        """Load or reload; returns when every version is READY. Raises a RuntimeFault."""
        await self._manager.load(name, override)

    async def unload(self, name: str, unload_dependents: bool = False) -> None:
        """Returns when no version is READY any more; running requests end behind our back."""
        await self._manager.unload(name, unload_dependents=unload_dependents)

    def register_repository(self, path: Path, names: Mapping[str, str]) -> None:
        """Load from ``path``, too; ``names`` of models by folder. Raises a RuntimeFault."""
        self._manager.register(path, names)

    def unregister_repository(self, path: Path) -> None:
        """What was loaded from there serves on. Raises a RuntimeFault."""
        self._manager.unregister(path)
