"""model_warmup: every instance runs every sample before its model turns READY. Blocking."""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic_ns
from typing import Any

import numpy as np

from worker_runtime.backends.base import LoadedModel
from worker_runtime.core.execution.answers import Answers
from worker_runtime.core.execution.choice import takes_requests, whole_batches
from worker_runtime.core.execution.requests import ActiveRequest
from worker_runtime.core.plans import Planner
from worker_runtime.core.statistics import Statistics
from worker_runtime.errors import FileUnreadable, InvalidArgument, LoadFailed, RuntimeFault
from worker_runtime.files.inside import inside
from worker_runtime.types.instances import places_of
from worker_runtime.types.request import Arrays, InferRequest, Plan, PlannedInput, Response
from worker_runtime.types.signature import Signature, batch_tensors_of
from worker_runtime.types.tensor import BY_NUMBER, element_count, parse_strings

FOLDER = "warmup"


def warm_up(
    config: Any,
    signature: Signature,
    loaded: LoadedModel,
    folder: Path,
) -> None:
    """Run the samples of a complete configuration; ``folder`` is the model's directory.

    Passive instances run nothing, here either. Raises LoadFailed.
    """
    if not config.model_warmup:
        return
    samples = [
        (sample, _requests(config, signature, sample, folder)) for sample in config.model_warmup
    ]
    for place, instance in zip(places_of(config), loaded.instances, strict=True):
        if place.passive:
            continue
        for sample, requests in samples:
            for _ in range(max(1, sample.count)):
                errors = _run(config, signature, loaded, instance, requests)
                if errors:
                    failures = "".join(f"{error}; " for error in errors)
                    raise LoadFailed(f"failed to run warmup sample '{sample.name}': {failures}")


def _run(
    config: Any,
    signature: Signature,
    loaded: LoadedModel,
    instance: Any,
    requests: list[InferRequest],
) -> list[str]:
    """One execution; the texts of what failed."""
    if takes_requests(loaded):
        return _run_requests(instance, requests)
    # why statistics of its own: samples do not count as requests.
    executor = whole_batches(signature, Answers(Statistics()), batch_tensors_of(config))
    _, fault, _ = executor.attempt(instance, requests)
    return [] if fault is None else [str(fault)]


class _Collector:
    """Hears the answers to the requests of one execution, from whatever thread."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._changed = threading.Condition()
        self._ended = 0

    def answered(
        self,
        call: ActiveRequest,  # noqa: ARG002 # as an Owner hears it
        response: Response | None,
        *,
        final: bool,
        started_ns: int,  # noqa: ARG002 # samples do not count
        output_ns: int,  # noqa: ARG002
    ) -> None:
        with self._changed:
            if response is not None and response.error is not None:
                self.errors.append(str(response.error))
            self._ended += final
            self._changed.notify()

    def skipped(self, call: ActiveRequest, started_ns: int) -> None: ...

    def wait(self, count: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._ended >= count)


def _run_requests(instance: Any, requests: list[InferRequest]) -> list[str]:
    collector, now = _Collector(), monotonic_ns()
    calls = [ActiveRequest(request, collector, now) for request in requests]
    try:
        instance.execute_requests(calls)
    except Exception as error:  # why so wide: whatever a model raises is a reason not to serve it
        return [str(error) or type(error).__name__]
    collector.wait(len(calls))
    return collector.errors


class _Nobody:
    """Samples are answered to nobody."""

    def deliver(self, request: InferRequest, outputs: Arrays) -> None: ...

    def fail(self, request: InferRequest, error: Exception) -> None: ...

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None: ...


def _requests(config: Any, signature: Signature, sample: Any, folder: Path) -> list[InferRequest]:
    """A sample is as many equal requests of one row as its batch size. Raises LoadFailed."""
    batched = signature.max_batch_size > 0
    known = {spec.name for spec in signature.inputs}
    forms, extra, data = [], [], {}
    for name, item in sorted(sample.inputs.items()):
        datatype = BY_NUMBER[item.data_type]
        dims = tuple(item.dims)
        shape = (1, *dims) if batched and name in known else dims
        if name in known:
            forms.append((name, datatype.name, shape))
        else:  # controls of a sequence, which no client sends
            size = element_count(shape) * datatype.item_size if datatype.item_size else -1
            extra.append(PlannedInput(name, datatype, shape, shape, size))
        data[name] = _data(name, item, shape, folder)
    try:
        plan = Planner(signature).plan(tuple(forms), None)
    except InvalidArgument as error:
        raise LoadFailed(str(error.for_request(""))) from None
    for name, item, zeros in _states(config, data, batched=batched):
        extra.append(item)
        data[name] = zeros
    inputs = (*plan.inputs, *extra)
    whole = Plan(inputs, None, plan.rows, plan.batch_key, plan.outputs)
    return [
        InferRequest(plan=whole, inputs=[data[item.name] for item in inputs], sink=_Nobody())
        for _ in range(max(1, sample.batch_size) if batched else 1)
    ]


def _data(name: str, item: Any, shape: tuple[int, ...], folder: Path) -> Any:
    """The values of one input, as the wire brings them. Raises LoadFailed."""
    datatype, count = BY_NUMBER[item.data_type], element_count(shape)
    kind = item.WhichOneof("input_data_type")
    if kind == "input_data_file":
        return _from_file(name, item, shape, folder)
    if not datatype.item_size:
        return np.full(shape, b"", object)  # also what Triton makes of random text
    if kind == "zero_data":
        return bytes(count * datatype.item_size)
    random = np.random.default_rng()
    if datatype.name.startswith("FP"):
        return random.random(count).astype(datatype.dtype).tobytes()
    if datatype.name == "BOOL":
        return random.integers(0, 2, count, np.uint8).tobytes()
    return random.bytes(count * datatype.item_size)


def _from_file(name: str, item: Any, shape: tuple[int, ...], folder: Path) -> Any:
    path = inside(folder, item.input_data_file, f"model_warmup.{name}", base=FOLDER)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise FileUnreadable(path, error.strerror or str(error)) from error
    datatype, count = BY_NUMBER[item.data_type], element_count(shape)
    if not datatype.item_size:
        try:
            return parse_strings(raw, count, name, "").reshape(shape)
        except RuntimeFault as error:
            raise LoadFailed(str(error)) from error
    size = count * datatype.item_size
    if len(raw) < size:
        raise LoadFailed(
            f"[request id: <id_unknown>] warmup setting expects {size} bytes, but the data "
            f"provided from {item.input_data_file}only has {len(raw)} bytes"
        )
    return raw[:size]


def _states(
    config: Any, given: Mapping[str, Any], *, batched: bool
) -> Iterator[tuple[str, PlannedInput, Any]]:
    """Zeros for the state inputs of a sequence model that the sample leaves out."""
    for state in config.sequence_batching.state:
        if state.input_name in given:
            continue
        datatype = BY_NUMBER[state.data_type]
        dims = tuple(1 if dim == -1 else dim for dim in state.dims)
        shape = (1, *dims) if batched else dims
        size = element_count(shape) * datatype.item_size if datatype.item_size else -1
        zeros = bytes(size) if datatype.item_size else np.full(shape, b"", object)
        yield state.input_name, PlannedInput(state.input_name, datatype, shape, shape, size), zeros
