"""The seam: everything that protocols ask of the engine, and in which messages.

In goes an ``InferRequest``, whose form a ``Plan`` has settled; out come calls of the ``Sink`` that
it carries (types/request.py). Everything else is plain data. Protocols know no other way to a
model: who keeps these promises, whether in this process or not, can stand behind them, and a
further protocol needs no more than this file.

Everything is called in one event loop. Refusals are RuntimeFaults (errors.py), without a word of
HTTP or gRPC in them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.core.statistics import Statistics
from worker_runtime.observability.dialect import Dialect
from worker_runtime.observability.tracing.tracer import Tracer
from worker_runtime.types.repository import LoadOverride
from worker_runtime.types.request import InferRequest, Plan
from worker_runtime.types.signature import Signature

InputForm = tuple[str, str, tuple[int, ...]]  # name, wire data type, shape
LogSettings = Mapping[str, bool | int | str]
TraceSettings = Mapping[str, list[str] | str]


class Model(Protocol):
    """A READY model version: what is known of it before a request is made for it.

    ``config`` is its complete ``inference.ModelConfig``. ``forms`` and ``wire_forms`` are for
    HTTP's and gRPC's own notes on request heads, by their bytes; who adds to them keeps them
    bounded. Two, because clients choose the bytes, so one could ask for the other's. ``on_device``:
    it takes inputs that lie on a device.
    """

    name: str
    version: int
    signature: Signature
    config: Any
    decoupled: bool
    statistics: Statistics
    forms: dict[bytes, Any]
    wire_forms: dict[bytes, Any]
    on_device: bool


M = TypeVar("M", bound=Model)


class TakesRequests(Protocol[M]):
    """Requests in, answers out. ``M`` is what the engine knows a model by.

    All that an inference needs, and nothing else: what stands in another process keeps this half.
    """

    def resolve(self, name: str, version: str = "") -> M:
        """The READY version asked for ("" = the highest). Raises NotFound or Unavailable."""
        ...

    def only_model(self) -> M:
        """The one READY model. Raises Unavailable, InvalidArgument when there are several."""
        ...

    def plan(
        self,
        model: M,
        request_id: str,
        inputs: tuple[InputForm, ...],
        outputs: tuple[str, ...] | None,
    ) -> Plan:
        """Settle a request's form; outputs None: all of them. Raises InvalidArgument."""
        ...

    def submit(self, model: M, request: InferRequest) -> None:
        """Accept a request. Raises a RuntimeFault at once; else its sink is called later."""
        ...

    def cancel(self, request: InferRequest) -> None:
        """The client has gone: drop the request if it still waits."""
        ...

    @property
    def shared_memory(self) -> SharedMemory:
        """The regions that clients share: tensors of requests and answers may lie there."""
        ...

    @property
    def tracer(self) -> Tracer: ...

    stopping: bool  # takes nothing new any more


class ServesModels(TakesRequests[M], Protocol[M]):
    """What the engine promises: requests, and control."""

    # --- health and metadata -------------------------------------------------------------------

    draining: bool  # not ready any more, but still serving

    @property
    def live(self) -> bool: ...

    @property
    def ready(self) -> bool: ...

    def model_ready(self, name: str, version: str = "") -> bool:
        """True when it can answer. Raises NotFound or Unavailable."""
        ...

    def server_metadata(self) -> dict[str, Any]: ...

    def model_metadata(self, name: str, version: str = "") -> dict[str, Any]:
        """KServe v2 model metadata. Raises NotFound or Unavailable."""
        ...

    def model_config(self, name: str, version: str = "") -> dict[str, Any]:
        """The configuration as JSON has it. Raises NotFound or Unavailable."""
        ...

    def statistics(self, name: str = "", version: str = "") -> Sequence[M]:
        """The versions asked for, all READY ones without a name. Raises InvalidArgument."""
        ...

    # --- control -------------------------------------------------------------------------------

    def index(self, *, ready_only: bool = False, failures: bool = False) -> list[dict[str, Any]]:
        """The models on disk, a row for each version; ``failures`` adds those that no one reads.

        Raises Internal when a repository cannot be read.
        """
        ...

    async def load(self, name: str, override: LoadOverride | None = None) -> None:
        """Load or reload; returns when every version is READY. Raises a RuntimeFault."""
        ...

    async def unload(self, name: str, unload_dependents: bool = False) -> None:
        """Returns when no version is READY any more. Raises a RuntimeFault."""
        ...

    def register_repository(self, path: Path, names: Mapping[str, str]) -> None:
        """Load from ``path``, too; ``names`` of models by folder, where they have others.

        Raises Unsupported, InvalidArgument or AlreadyExists.
        """
        ...

    def unregister_repository(self, path: Path) -> None:
        """What was loaded from there serves on. Raises Unsupported or InvalidArgument."""
        ...

    def trace_settings(self, model: str = "") -> TraceSettings:
        """Those of a model ("" = of all). Raises InvalidArgument: unknown model."""
        ...

    def update_trace_settings(
        self, model: str, changes: Mapping[str, Any], dialect: Dialect = Dialect.JSON
    ) -> TraceSettings:
        """What is in force after ``changes``. Raises InvalidArgument, Unsupported or Internal."""
        ...

    def log_settings(self) -> LogSettings: ...

    def update_log_settings(
        self, changes: Mapping[str, Any], dialect: Dialect = Dialect.JSON
    ) -> LogSettings:
        """What is in force after ``changes``. Raises a RuntimeFault in Triton's words."""
        ...


# What a front end is given: it hands models back as it got them, whatever they are.
Engine: TypeAlias = ServesModels[Any]
