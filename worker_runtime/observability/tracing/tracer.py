"""Which requests are traced: settings for all and for single models, and traces under way."""

from collections.abc import Mapping
from itertools import count
from typing import Any, Protocol

from worker_runtime.errors import InvalidArgument
from worker_runtime.observability.access import AccessLog, Watched
from worker_runtime.observability.requests.keeper import RequestKeeper
from worker_runtime.observability.tracing.config import BATCHING, Changes, Level, Mode, TraceConfig
from worker_runtime.observability.tracing.setting import TraceFile, TraceSetting, Wanted
from worker_runtime.observability.tracing.trace import Group, Trace, elements
from worker_runtime.types.request import InferRequest

# as clients call them, and the attributes of Wanted
_FIELDS = {
    "trace_level": "levels",
    "trace_rate": "rate",
    "trace_count": "count",
    "log_frequency": "log_frequency",
}
_NO_HEADERS: Mapping[str, str] = {}
_PARTS, _FLAGS = 4, 3  # of a traceparent

Shown = dict[str, list[str] | str]


def _recorded(traceparent: str) -> bool:
    """Whether the caller has recorded its span (W3C Trace Context, 3.2.2.5): the flag's last bit.

    What cannot be read is no context, and so decides nothing.
    """
    parts = traceparent.split("-")
    try:
        return len(parts) >= _PARTS and bool(int(parts[_FLAGS], 16) & 1)
    except ValueError:
        return False


class Export(Protocol):
    def trace_id(self, headers: Mapping[str, str]) -> int: ...

    def export(self, group: Group) -> None: ...

    def take(self) -> bytes: ...

    def close(self) -> None: ...


class AccessEntry:
    """What a request carries that is written to the access log and not traced."""

    __slots__ = ("_watched",)
    context = ""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    def follow(self, request: InferRequest) -> None:
        """Only what clients ask for is in the access log."""

    def abandon(self, request: InferRequest, error: Exception) -> None:
        self._watched.refused(request, error)


class Tracer:
    """``active`` is what the hot path looks at: False while nobody wants to know of requests.

    ``requests`` are kept for people who look at single ones, traced or not.
    """

    def __init__(self, config: TraceConfig | None = None, access: AccessLog | None = None) -> None:
        self._access = access
        self._config = config = config or TraceConfig()
        self._file = TraceFile(config.file)
        self._default = Wanted(config.levels, config.rate, config.count, config.log_frequency)
        self._global = TraceSetting(self._default, config.mode, self._file)
        self._models: dict[str, TraceSetting] = {}
        self._ids = count(1)
        self._export: Export | None = None
        if config.mode is Mode.OPENTELEMETRY:
            # why here: the SDK is heavy, and most servers never trace.
            from worker_runtime.observability.tracing.spans import SpanExport  # noqa: PLC0415

            self._export = SpanExport(config)
        self.active = False
        self.requests = RequestKeeper()
        self._look()

    # --- requests ----------------------------------------------------------------------------

    def start(
        self,
        request: InferRequest,
        model: Any,
        prefix: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        received: tuple[int, int] = (0, 0),
    ) -> None:
        """Trace this request if it is its turn. To be called right before it is submitted.

        The request's sink is replaced by one that takes notes. ``prefix`` is HTTP or GRPC;
        ``received`` are the times at which reading began and ended, in monotonic nanoseconds;
        ``headers`` (names in lower case) may carry a trace context.
        """
        request.model = model
        if self._access is not None:
            request.trace = AccessEntry(self._access.watch(request, prefix))
        setting = self._models.get(model.name, self._global)
        called = self._export is not None and _recorded(headers.get("traceparent", ""))
        if not (setting.force() if called else setting.sample()):
            return
        self._look()
        trace_id = self._export.trace_id(headers) if self._export is not None else 0
        group = Group(setting, self._ids.__next__, self._complete, headers, trace_id)
        access_entry = request.trace
        trace = Trace(group, request, 0, prefix)
        trace.access_entry = access_entry
        begun, ended = received
        if begun:
            read = "RECV" if prefix == "HTTP" else "WAITREAD"
            trace.frontend.insert(0, (f"{prefix}_{read}_START", begun))
            trace.frontend.insert(1, (f"{prefix}_{read}_END", ended or begun))

    def _complete(self, group: Group) -> None:
        if self._export is None:
            group.setting.collect(elements(group))
        else:
            self._export.export(group)
            group.setting.collect([])

    def take_spans(self) -> bytes:
        """Some that wait for the node's agent, as a request of OTLP; nothing where none do."""
        return b"" if self._export is None else self._export.take()

    def _look(self) -> None:
        """``count`` may be used up, or a change may have turned tracing on or off."""
        settings = (self._global, *self._models.values())
        if self._access is not None:
            self.active = True
        elif self._export is not None:
            # why not active alone: traced callers are followed whatever rate and count say.
            self.active = any(not setting.reason for setting in settings)
        else:
            self.active = any(setting.active for setting in settings)

    # --- settings ----------------------------------------------------------------------------

    def settings(self, model: str = "") -> Shown:
        """The setting in force for a model ("" = for all), as both protocols show it."""
        setting = self._models.get(model, self._global)
        shown: Shown = {
            "trace_level": [str(level) for level in Level if level in setting.levels] or ["OFF"],
            "trace_rate": str(setting.rate),
            "trace_count": str(setting.count),
        }
        if self._export is None:
            shown["log_frequency"] = str(setting.log_frequency)
            shown["trace_file"] = self._config.file
        shown["trace_mode"] = str(self._config.mode)
        if self._export is not None:
            shown.update(self._config.options)
            shown.update(pair for pair in BATCHING if pair[0] not in shown)
        return shown

    def update(self, model: str, changes: Changes) -> None:
        """Change the setting of a model ("" = of all). Raises InvalidArgument.

        What a model does not set itself follows the setting of all.
        """
        if model:
            self._update_model(model, changes)
        else:
            self._global = self._changed(self._global, changes, self._default)
            nothing = Changes({}, frozenset())
            for name in list(self._models):
                self._update_model(name, nothing)
        self._look()

    def _update_model(self, model: str, changes: Changes) -> None:
        current = self._models.get(model)
        own = (current.own if current else frozenset()) | changes.values.keys()
        if not own - changes.clear:
            if current is not None:
                del self._models[model]
                current.retire()
            return
        self._models[model] = self._changed(current, changes, self._global.wanted)

    def _changed(
        self, current: TraceSetting | None, changes: Changes, fallback: Wanted
    ) -> TraceSetting:
        own = ((current.own if current else frozenset()) | changes.values.keys()) - changes.clear
        old = current.wanted if current else fallback
        values = {
            name: changes.values.get(name, getattr(old if name in own else fallback, attribute))
            for name, attribute in _FIELDS.items()
        }
        wanted = Wanted(
            levels=values["trace_level"],
            rate=values["trace_rate"],
            count=values["trace_count"],
            log_frequency=values["log_frequency"],
            own=frozenset(own),
        )
        setting = TraceSetting(wanted, self._config.mode, self._file)
        # why a count of 0, too: in Triton it makes a setting invalid, with no reason to tell.
        if setting.levels and not setting.active:
            raise InvalidArgument(f"Attempting to set invalid trace setting :{setting.reason}")
        if current is not None:
            current.retire()
        return setting

    def close(self) -> None:
        """Write what was collected; to be called when no request runs any more."""
        self.active = False
        for setting in (self._global, *self._models.values()):
            setting.retire()
        self._file.close()
        if self._export is not None:
            self._export.close()
        if self._access is not None:
            self._access.close()
