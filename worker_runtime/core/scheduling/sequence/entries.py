"""One request of a sequence on its way through a slot, and what is executed in its name.

What goes to the instance is a request of its own: the client's inputs plus controls and state. Its
sink is the entry, which keeps the state back and hands the rest to the client's sink.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from worker_runtime.core.execution.answers import Answers, Times
from worker_runtime.core.execution.sequence_tensors import Controls, SequenceState, Shapes, States
from worker_runtime.core.statistics import FailureReason
from worker_runtime.errors import RuntimeFault
from worker_runtime.observability.requests.watched import answered, ended
from worker_runtime.types.request import Arrays, InferRequest, Plan, Response
from worker_runtime.types.signature import Signature, TensorSpec

_MAX_PLANS = 256


class Entry(Struct, eq=False):
    """A request taken from a slot; without ``ready`` a stand-in for a slot that has none.

    A stand-in borrows the form of the request of another slot, and answers nobody.
    """

    request: InferRequest
    slot: int
    ready: bool = True
    state: SequenceState | None = None
    turn: InferRequest | None = None  # what is executed, until it has ended
    again: bool = False  # the model wants to see the request once more
    factory: "EntryFactory | None" = None

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        """Called with the outputs of the turn's plan."""
        if self.ready and self.factory is not None:
            own = self.factory.kept(self, request.plan.outputs, outputs)
            self.end()
            self.request.timings = request.timings
            self.request.sink.deliver(self.request, own)
            ended(self.request)

    def fail(self, request: InferRequest, error: Exception) -> None:  # noqa: ARG002 # a Sink's
        if self.ready:
            self.end()
            self.request.sink.fail(self.request, error)
            ended(self.request, error)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if not self.ready or self.factory is None:
            return
        if response is not None and response.error is None:
            response = self.factory.filtered(self, response)
        if final:
            self.end()
        self.request.timings = request.timings
        self.request.sink.respond(self.request, response, final=final)
        answered(self.request, response, final=final)

    def end(self) -> None:
        """Nothing more comes from this turn."""
        # why: requests are not seen by the garbage collector, and the turn's sink is this entry.
        self.turn = None
        if self.factory is not None:
            self.factory.ended(self)


class EntryFactory:
    """Makes what is executed from entries. ``signature`` is then that of what is executed."""

    def __init__(self, signature: Signature, controls: Controls, states: States) -> None:
        self._controls = controls
        self._states = states
        self._configured = tuple(spec.name for spec in signature.outputs)
        self._hidden = tuple(
            spec.output_name for spec in states.specs if spec.output_name not in self._configured
        )
        self._plans: dict[tuple[int, Shapes], tuple[Plan, Plan]] = {}
        self._under_way: dict[int, Entry] = {}  # by the identity of the client's request
        self.signature = replace(
            signature, outputs=(*signature.outputs, *_hidden_specs(states, self._hidden))
        )

    def fresh_state(self) -> SequenceState | None:
        return self._states.fresh() if self._states else None

    def turns(self, entries: Sequence[Entry]) -> list[InferRequest]:
        """What to execute, in the order of the entries."""
        return [self._turn(entry) for entry in entries]

    def cancel(self, request: InferRequest) -> None:
        """Tell the turn of a request, if there is one, that the client has gone."""
        entry = self._under_way.get(id(request))
        if entry is not None and entry.turn is not None:
            entry.turn.cancelled = True

    def ended(self, entry: Entry) -> None:
        if self._under_way.get(id(entry.request)) is entry:
            del self._under_way[id(entry.request)]

    def kept(self, entry: Entry, names: tuple[str, ...], outputs: Arrays) -> Arrays:
        """Keep the state outputs; what the client asked for, in its order."""
        wanted = entry.request.plan.outputs
        if names is wanted and not self._states:
            return outputs
        by_name = dict(zip(names, outputs, strict=True))
        self._keep(entry, by_name)
        return [by_name[name] for name in wanted]

    def filtered(self, entry: Entry, response: Response) -> Response:
        """The same for an answer that names its outputs, and may lack some."""
        if not self._states:
            return response
        by_name = dict(zip(response.names, response.arrays, strict=True))
        self._keep(entry, by_name)
        names = tuple(name for name in response.names if name in entry.request.plan.outputs)
        return Response(names, [by_name[name] for name in names], response.parameters)

    def _keep(self, entry: Entry, outputs: dict[str, Any]) -> None:
        if entry.state is not None:
            self._states.keep(entry.state, outputs)

    def _turn(self, entry: Entry) -> InferRequest:
        request, state = entry.request, entry.state
        if state is not None and not entry.ready:
            state = state.blank()
        plan = self._plan(request.plan, state.shapes if state is not None else ())
        own = request.inputs if entry.ready else _blanks(request.plan)
        control = self._controls.buffers(request.sequence if entry.ready else None)
        turn = InferRequest(
            plan=plan,
            inputs=[*own, *control, *(state.arrays if state is not None else ())],
            sink=entry,
            id=request.id,
            arrived_ns=request.arrived_ns,
            queued_ns=request.queued_ns,
            timeout_ns=request.timeout_ns,
            priority=request.priority,
            model=request.model,
        )
        if entry.ready:
            turn.sequence = request.sequence
            turn.parameters = request.parameters
            turn.trace = request.trace
            entry.turn, entry.factory = turn, self
            self._under_way[id(request)] = entry
        return turn

    def _plan(self, plan: Plan, shapes: Shapes) -> Plan:
        key = (id(plan), shapes)
        known = self._plans.get(key)
        if known is not None:
            return known[1]
        wanted = plan.outputs
        if self._states:
            seen = {name for name in self._configured if name in wanted or name in self._states}
            wanted = tuple(name for name in self._configured if name in seen) + self._hidden
        made = msgspec.structs.replace(
            plan,
            inputs=(*plan.inputs, *self._controls.planned, *self._states.planned(shapes)),
            outputs=wanted,
        )
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        self._plans[key] = (plan, made)  # why the old one too: its identity is the key
        return made


class SequenceAnswers(Answers):
    """Stand-ins fill up batches; they are neither counted nor told anything."""

    def awaits(self, request: InferRequest) -> bool:
        sink = request.sink
        return not isinstance(sink, Entry) or sink.ready

    def count(self, done: Sequence[InferRequest], times: Times, batch_rows: int = 0) -> None:
        rows = batch_rows or sum([request.plan.rows for request in done])
        super().count([request for request in done if self.awaits(request)], times, rows)

    def fail(self, request: InferRequest, fault: RuntimeFault, reason: FailureReason) -> None:
        if self.awaits(request):
            super().fail(request, fault, reason)


def _blanks(plan: Plan) -> list[Any]:
    """Inputs of the plan's form without a meaning."""
    return [
        bytes(item.byte_size)
        if item.datatype.item_size
        else np.full(item.wire_shape, b"", dtype=object)
        for item in plan.inputs
    ]


def _hidden_specs(states: States, hidden: tuple[str, ...]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(spec.output_name, spec.datatype, spec.dims)
        for spec in states.specs
        if spec.output_name in hidden
    )
