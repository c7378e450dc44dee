"""What front ends and the core say to each other, beside the bytes of tensors.

One message goes each way per turn of a loop: a Bundle to the core, a Block back. Both are arrays
of MessagePack, in which the fields keep their places; both sides are always of one release.
"""

from typing import Any

import msgspec

from worker_runtime import errors
from worker_runtime.config.settings import HttpOptions, Listener
from worker_runtime.errors import Internal, RuntimeFault
from worker_runtime.observability.logging import LogOptions
from worker_runtime.observability.metrics.latency import MetricsConfig
from worker_runtime.types.listening import ConnectionLimits, GrpcOptions
from worker_runtime.types.request import InferRequest, ParameterValue

InputForm = tuple[str, str, tuple[int, ...]]
Place = tuple[str, int, int]  # in a shared-memory region: its name, offset and size in bytes
FaultText = tuple[str, str]  # the name of its class, and what it says


class Message(msgspec.Struct, array_like=True, gc=False):
    """A message or a part of one."""


# --- from a front end to the core ----------------------------------------------------------------


class PlanForm(Message):
    """A request form that a front end has checked, and the number that it has from now on."""

    number: int
    model: int
    inputs: tuple[InputForm, ...]
    outputs: tuple[str, ...]


class Traced(Message):
    """Of a request that may be traced or logged; ``received`` as for ``Tracer.start``."""

    protocol: str
    headers: dict[str, str]
    received: tuple[int, int]


class Extra(Message):
    """What few requests have. ``regions`` are where inputs lie, ``windows`` where outputs go."""

    priority: int = 0
    timeout_us: int = 0
    sequence: tuple[int | str, bool, bool] | None = None
    parameters: dict[str, ParameterValue] | None = None
    traced: Traced | None = None
    regions: tuple[Place | None, ...] = ()
    windows: dict[str, Place] | None = None


class Entry(Message):
    """A request. ``sizes`` are those of its inputs in bytes, None: as its plan says."""

    number: int
    plan: int
    arrived_ns: int
    id: str = ""
    sizes: tuple[int, ...] | None = None
    extra: Extra | None = None


class HttpCall(Message, tag="http"):
    """A call of control. ``target`` is its path, with the query that it had."""

    number: int
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class GrpcCall(Message, tag="grpc"):
    number: int
    path: str
    message: bytes


class Hello(Message, tag="hello"):
    """It runs, and listens once it has a state: from now on it is waited for when one changes."""


class Started(Message, tag="started"):
    """It listens; or why it does not."""

    failure: str = ""


class Seen(Message, tag="seen"):
    """No request for a model that was not in this state will follow."""

    epoch: int


class Counts(Message, tag="counts"):
    """What its clients do, at this moment; ``load`` is connections and requests by protocol."""

    question: int
    load: dict[str, tuple[int, int]]
    refusals: list[tuple[str, str, int]]
    buffered: int
    lag: list[int]
    lag_s: float


class ModelCounts(Message):
    """What a model has counted in a front end; see ``counts``. Times are in nanoseconds."""

    number: int
    sums: list[int]
    last_inference_ms: int
    failures: dict[str, int]
    batches: dict[int, tuple[int, int, int, int]]
    latencies: list[list[int]]
    summaries: dict[str, tuple[dict[int, int], int]] = {}


class Copied(Message, tag="copied"):
    """``waiting``: requests in the queues of the models that run in it, by model. ``loading``:
    it has not tried all of those that it is to run."""

    waiting: dict[int, int]
    counts: list[ModelCounts]
    loading: bool = False


class Bundle(Message):
    """``plain`` has three numbers of each request that is nothing but raw, small tensors: its own,
    that of its plan, and when it arrived; ``ids`` has what clients call some of them, by number.
    All others are ``entries``; their tensors come behind.

    Requests are before ``said``: with a Seen, all that were made before it are there.
    """

    plans: list[PlanForm]
    plain: list[int]
    ids: dict[int, str]
    entries: list[Entry]
    cancelled: list[int]
    said: list[HttpCall | GrpcCall | Hello | Started | Seen | Counts | Copied]


# --- from the core to a front end ----------------------------------------------------------------


class SpecForm(Message):
    """A tensor of a signature; see ``TensorSpec``."""

    name: str
    datatype: str
    dims: tuple[int, ...]
    reshape: tuple[int, ...] | None
    optional: bool
    labels: tuple[str, ...]
    ragged: bool
    shape_tensor: bool


class ModelForm(Message):
    """A model version that is new to front ends; ``config`` is its serialised configuration."""

    number: int
    name: str
    version: int
    config: bytes
    model: str  # as its signature calls it
    max_batch_size: int
    inputs: tuple[SpecForm, ...]
    outputs: tuple[SpecForm, ...]
    on_device: bool


class CopyForm(Message):
    """How a front end runs the model of that ``number`` itself.

    ``config`` is its complete configuration, serialised; ``files`` how its folder looked before the
    core loaded it, as entries of a ``Fingerprint``.
    """

    number: int
    name: str
    version: int
    config: bytes
    path: str
    config_path: str | None
    files: dict[str, tuple[int, int]]


class CopyRules(Message):
    """What is the same for all of them; as in ``Settings``. ``cores`` are those of one process."""

    cores: int
    backend_settings: dict[str, dict[str, str]]
    allow_code: frozenset[str] | None
    longest_wait_ns: int
    unload_timeout_s: float
    metrics: MetricsConfig


class RegionForm(Message):
    """A registered region; ``number`` tells it from an earlier one of the same name."""

    number: int
    name: str
    kind: str
    byte_size: int
    key: str
    offset: int


class State(Message, tag="state"):
    """All that front ends know by heart. ``ready`` is by key and version; see ``Directory``.

    ``runs`` are the models that a front end runs itself; ``copies`` those of them that are new, or
    have other instances than before.
    """

    epoch: int
    models: list[ModelForm]
    ready: list[tuple[str, str, int]]
    known: list[str]
    versions: dict[str, list[int]]
    regions: list[RegionForm]
    stopping: bool
    tracing: bool
    log: LogOptions
    copies: list[CopyForm] = []
    runs: list[int] = []


class Welcome(Message, tag="welcome"):
    """How to serve, and which calls the core answers: kinds of HTTP routes, gRPC's by path."""

    http: Listener
    http_options: HttpOptions
    grpc: Listener
    grpc_options: GrpcOptions
    limits: ConnectionLimits
    client_shared_memory: bool
    handlers: list[str]
    queries: dict[str, str]
    copies: CopyRules


class HttpReply(Message, tag="http"):
    number: int
    status: int
    content_type: bytes
    headers: bytes
    body: bytes


class GrpcReply(Message, tag="grpc"):
    number: int
    message: bytes
    fault: FaultText | None = None


class Count(Message, tag="count"):
    question: int


class Close(Message, tag="close"):
    """End; what is answered has so long to be read."""

    grace_s: float


class Layout(Message):
    """Names, shapes and numpy's letters for the types of an answer's tensors."""

    number: int
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    kinds: str


DELIVER, FAIL, REFUSE, RESPOND, LAST = range(5)
"""The calls of a sink, with both ways of ``respond``. REFUSE: it was never accepted."""


class More(Message):
    """``placed``: the outputs, by their places, that are in the client's memory already."""

    fault: FaultText | None = None
    parameters: dict[str, ParameterValue] | None = None
    placed: tuple[int, ...] = ()


class Answer(Message):
    """``layout`` 0: no tensors, and no response. ``sizes``: of tensors whose types do not tell."""

    number: int
    kind: int
    layout: int = 0
    sizes: tuple[int, ...] | None = None
    more: More | None = None


class Block(Message):
    """``plain`` has two numbers of each answer that is delivered and nothing but small tensors:
    of its request, and of its layout. All others are ``answers``; their tensors come behind.

    ``said`` is before answers: a model that a request has loaded is known when it is answered.
    """

    said: list[Welcome | State | HttpReply | GrpcReply | Count | Close]
    layouts: list[Layout]
    plain: list[int]
    answers: list[Answer]


_ENCODER = msgspec.msgpack.Encoder()
BUNDLES = msgspec.msgpack.Decoder(Bundle)
BLOCKS = msgspec.msgpack.Decoder(Block)


def encoded(message: Message) -> bytes:
    """Raises UnicodeEncodeError for texts that are not UTF-8: see ``legible``."""
    return _ENCODER.encode(message)


def legible(message: Any) -> Any:
    """A message with what cannot be written in UTF-8 replaced: names out of raw request bytes."""
    if isinstance(message, str):
        return message.encode("utf-8", "replace").decode()
    if isinstance(message, list):
        return [legible(item) for item in message]
    if isinstance(message, tuple):
        return tuple([legible(item) for item in message])
    if isinstance(message, dict):
        return {legible(key): legible(value) for key, value in message.items()}
    if isinstance(message, Message):
        fields = {name: legible(getattr(message, name)) for name in message.__struct_fields__}
        return type(message)(**fields)
    return message


def fault_text(error: Exception) -> FaultText:
    """What is neither a fault nor a surprise of ours becomes Internal."""
    kind = type(error).__name__ if isinstance(error, RuntimeFault) else Internal.__name__
    return kind, str(error) or type(error).__name__


def fault_of(text: FaultText) -> RuntimeFault:
    """The fault on the other side: class and words, which is all that clients see of one."""
    name, words = text
    kind = getattr(errors, name, Internal)
    fault: RuntimeFault = kind.__new__(kind)
    fault.args = (words,)
    return fault


def extra_of(
    request: InferRequest, regions: tuple[Place | None, ...], windows: Any
) -> Extra | None:
    """None for a request that has nothing of it."""
    if not (
        request.priority
        or request.timeout_ns
        or request.sequence
        or request.parameters
        or request.trace
        or regions
        or windows
    ):
        return None
    part = request.sequence
    return Extra(
        request.priority,
        request.timeout_ns // 1000,
        None if part is None else (part.id, part.start, part.end),
        request.parameters,
        request.trace,
        regions,
        windows,
    )
