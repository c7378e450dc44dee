"""Traces as OpenTelemetry spans, sent by OTLP over HTTP, or kept until the node's agent, which does
that, has asked: a replica in its sandbox reaches nobody. Imported only when the mode asks for it.

One span for the request at the front end, below it one for each model, below that one for its
execution; a step's model span stands below that of its ensemble.
"""

import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

from opentelemetry import context as contexts
from opentelemetry import trace as api
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from worker_runtime.observability.tracing.config import BATCHING, TraceConfig
from worker_runtime.observability.tracing.trace import Group, Trace

DEFAULT_URL = "http://localhost:4318/v1/traces"
AGENT: Final = "agent"  # instead of a URL
MOST_TOLD: Final = 100  # at a time: a few milliseconds of the event loop
_EXECUTION = ("COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END")

Stamps = Iterable[tuple[str, int]]


class PlannedIds(RandomIdGenerator):
    """Random ids, except for the next span's where it was given before."""

    def __init__(self) -> None:
        self.trace = 0
        self.span = 0

    def generate_trace_id(self) -> int:
        found, self.trace = self.trace, 0
        return found or super().generate_trace_id()

    def generate_span_id(self) -> int:
        found, self.span = self.span, 0
        return found or super().generate_span_id()


class WaitingSpans(SpanProcessor):
    """Those that nobody has taken yet, the latest ``most``."""

    def __init__(self, most: int) -> None:
        self._spans: deque[ReadableSpan] = deque(maxlen=most)

    def on_end(self, span: ReadableSpan) -> None:
        self._spans.append(span)

    def take(self) -> bytes:
        """Some, as a request of OTLP; nothing where there are none."""
        some = [self._spans.popleft() for _ in range(min(MOST_TOLD, len(self._spans)))]
        return bytes(encode_spans(some).SerializeToString()) if some else b""


class SpanExport:
    """Builds the spans when a trace is complete; a thread of the SDK sends them, or they wait."""

    def __init__(self, config: TraceConfig) -> None:
        options = dict(config.options)
        attributes = {"service.name": "triton-inference-server"}
        for name, value in config.options:
            if name == "resource":
                key, _, text = value.partition("=")
                attributes[key] = text
        size, delay, queue = (int(options.get(name, default)) for name, default in BATCHING)
        self._ids = PlannedIds()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource(attributes),
            shutdown_on_exit=False,
            id_generator=self._ids,
        )
        url = options.get("url", DEFAULT_URL)
        self._waiting = WaitingSpans(queue)
        self._provider.add_span_processor(
            self._waiting
            if url == AGENT
            else BatchSpanProcessor(
                OTLPSpanExporter(endpoint=_url(url)),
                max_queue_size=queue,
                schedule_delay_millis=delay,
                max_export_batch_size=min(size, queue),
            )
        )
        self._tracer = self._provider.get_tracer("triton-server")
        self._propagator = TraceContextTextMapPropagator()

    def trace_id(self, headers: Mapping[str, str]) -> int:
        """The caller's, or a new one."""
        above = api.get_current_span(self._above(headers)).get_span_context()
        return above.trace_id if above.is_valid else self._ids.generate_trace_id()

    def _above(self, headers: Mapping[str, str]) -> contexts.Context:
        return self._propagator.extract(headers, context=contexts.Context())

    def export(self, group: Group) -> None:
        """The spans of a complete trace; monotonic times become wall-clock ones."""
        offset = time.time_ns() - time.monotonic_ns()
        first = group.members[0]
        above = self._above(group.headers)
        stamps = first.frontend or first.core
        self._ids.trace = group.trace_id
        root = self._span("InferRequest", stamps, offset, above)
        below = {0: api.set_span_in_context(root, above)}
        for trace in group.members:
            self._model(trace, offset, below)
        root.end(offset + max(ns for _, ns in (*stamps, *first.core)))

    def _model(self, trace: Trace, offset: int, below: dict[int, contexts.Context]) -> None:
        attributes: dict[str, str | int] = {
            "triton.model_name": trace.model,
            "triton.model_version": trace.version,
            "triton.trace_id": trace.id,
            "triton.trace_parent_id": trace.parent,
        }
        if trace.request_id:
            attributes["triton.request_id"] = trace.request_id
        stamps = [stamp for stamp in trace.core if stamp[0] not in _EXECUTION]
        self._ids.span = trace.span_id
        span = self._span(trace.model, stamps, offset, below[trace.parent], attributes)
        inside = below[trace.id] = api.set_span_in_context(span, below[trace.parent])
        execution = [stamp for stamp in trace.core if stamp[0] in _EXECUTION]
        if execution:
            compute = self._span("compute", execution, offset, inside)
            compute.end(offset + execution[-1][1])
        span.end(offset + max(ns for _, ns in stamps))

    def _span(
        self,
        name: str,
        stamps: Stamps,
        offset: int,
        above: contexts.Context,
        attributes: Mapping[str, str | int] | None = None,
    ) -> api.Span:
        ordered = sorted(stamps, key=lambda stamp: stamp[1])
        span = self._tracer.start_span(
            name,
            context=above,
            kind=api.SpanKind.SERVER,
            attributes=attributes,
            start_time=offset + ordered[0][1],
        )
        for event, ns in ordered:
            span.add_event(event, timestamp=offset + ns)
        return span

    def take(self) -> bytes:
        """Some of those that wait for the agent, as a request of OTLP; nothing where none do."""
        return self._waiting.take()

    def close(self) -> None:
        """Send what is left, for a few seconds at most."""
        self._provider.shutdown()


def _url(url: str) -> str:
    return url if "://" in url else f"http://{url}"
