"""The bookkeeping of a stream, with an engine that does what the test says."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tritonclient.grpc import service_pb2 as pb

from worker_runtime.core.parameters import NOTHING, RequestParameters
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import BackendFailed, InvalidArgument, NotFound, QueueFull
from worker_runtime.protocols.grpc import streaming
from worker_runtime.protocols.grpc.requests import GrpcForm
from worker_runtime.protocols.grpc.service import (
    HEALTH_CHECK,
    MODEL_INFER,
    MODEL_STREAM_INFER,
    Service,
)
from worker_runtime.protocols.grpc.streaming import StreamInfer
from worker_runtime.protocols.slices import Later, Slices, Steps
from worker_runtime.types.listening import Category, Restriction
from worker_runtime.types.request import InferRequest, Plan, Response
from worker_runtime.types.tensor import MANY_STRINGS, string_array

PLAN = Plan(inputs=(), order=None, rows=1, batch_key=(), outputs=("y",))
SLICES = 3
TEXTS = string_array([b"a"] * (MANY_STRINGS + 1))  # which are written in slices
VALUE = np.array([1.0], np.float32)


class FakeCall:
    """Keeps what is sent; ``full`` plays a client that does not read."""

    def __init__(self, path: str = MODEL_STREAM_INFER, *metadata: tuple[str, str]) -> None:
        self.released = 0
        self.head = SimpleNamespace(path=path, metadata=metadata)
        self.sent: list[Any] = []
        self.status: tuple[int, str] | None = None
        self.paused = False
        self.full = False

    @property
    def congested(self) -> bool:
        return self.full

    def send(self, parts: list[Any], size: int) -> None:
        message = b"".join(parts)
        assert len(message) == size
        assert self.status is None
        self.sent.append(pb.ModelStreamInferResponse.FromString(message))

    answer = send

    def finish(self, status: int, message: str = "", *, late: bool = False) -> None:
        del late
        assert self.status is None
        self.status = (status, message)

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def release(self, size: int) -> None:
        self.released += size

    @property
    def ids(self) -> list[str]:
        return [reply.infer_response.id for reply in self.sent]


class FakeEngine:
    """Models are ordinary unless their name says decoupled; requests wait in ``submitted``."""

    def __init__(self) -> None:
        self.stopping = False
        self.shared_memory = SharedMemory()
        self.submitted: dict[str, InferRequest] = {}
        self.cancelled: list[str] = []
        self.refuse: Exception | None = None

    def submit(self, model: Any, request: InferRequest) -> None:
        if self.refuse is not None:
            raise self.refuse
        request.model = model
        self.submitted[request.id] = request

    def cancel(self, request: InferRequest) -> None:
        self.cancelled.append(request.id)
        request.sink.fail(request, BackendFailed("late"))

    def answer(self, request_id: str) -> None:
        request = self.submitted[request_id]
        request.sink.deliver(request, [VALUE])

    def respond(self, request_id: str, *, final: bool, empty: bool = False) -> None:
        request = self.submitted[request_id]
        response = None if empty else Response(("y",), [VALUE])
        request.sink.respond(request, response, final=final)

    def fail(self, request_id: str, text: str = "no luck") -> None:
        request = self.submitted[request_id]
        request.sink.fail(request, BackendFailed(text))


class FakeDecoder:
    def __init__(self) -> None:
        self.parameters = NOTHING

    def model(self, message: Any) -> Any:
        if message.name == "nope":
            raise NotFound("no such model")
        return SimpleNamespace(
            name=message.name,
            version=1,
            decoupled=message.name == "decoupled",
            signature=SimpleNamespace(outputs=()),
        )

    def decode(self, model: Any, message: Any, sink: Any, head: Any) -> InferRequest:
        form = GrpcForm(plan=PLAN, outputs={}, parameters=self.parameters, heads={})
        found = InferRequest(plan=PLAN, inputs=[], sink=sink, id=message.id, form=form, model=model)
        if message.id.startswith("many"):
            raise Later(self._in_slices(found))
        return found

    def _in_slices(self, found: InferRequest) -> Steps[InferRequest]:
        for _ in range(SLICES):
            yield None
        if found.id.endswith("broken"):
            raise InvalidArgument("broken")
        return found


class Stream:
    def __init__(self, *metadata: tuple[str, str]) -> None:
        self.engine = FakeEngine()
        self.decoder = FakeDecoder()
        self.call = FakeCall(MODEL_STREAM_INFER, *metadata)
        engine: Any = self.engine
        decoder: Any = self.decoder
        self.handler = StreamInfer(engine, decoder, Slices(), self.call)

    def ask(self, request_id: str, model: str = "plain") -> None:
        message = pb.ModelInferRequest(model_name=model, id=request_id)
        self.handler.message(message.SerializeToString())


def test_ordinary_models_answer_in_order() -> None:
    stream = Stream()
    for name in "abc":
        stream.ask(name)
    stream.engine.answer("c")
    stream.engine.answer("b")
    assert stream.call.ids == []
    stream.engine.answer("a")
    assert stream.call.ids == ["a", "b", "c"]


def test_decoupled_models_answer_at_once_and_interleave() -> None:
    stream = Stream()
    stream.ask("slow")
    stream.ask("a", "decoupled")
    stream.ask("b", "decoupled")
    for name in "abab":
        stream.engine.respond(name, final=False)
    assert stream.call.ids == ["a", "b", "a", "b"]
    stream.engine.answer("slow")
    assert stream.call.ids[-1] == "slow"


async def turns() -> None:
    """As many as all slices need."""
    for _ in range(10 * SLICES):
        await asyncio.sleep(0)


async def test_a_request_read_in_slices_keeps_its_place() -> None:
    stream = Stream()
    stream.ask("a")
    for name in ("many", "b", "many more", "many broken", "c"):
        stream.ask(name)
    stream.handler.half_close()
    assert list(stream.engine.submitted) == ["a"]
    assert stream.call.paused
    await turns()
    assert list(stream.engine.submitted) == ["a", "many", "b", "many more", "c"]
    assert not stream.call.paused
    for name in ("c", "many more", "b", "many", "a"):
        stream.engine.answer(name)
    assert stream.call.ids == ["a", "many", "b", "many more", "many broken", "c"]
    assert stream.call.sent[-2].error_message == "broken"
    assert stream.call.status == (0, "")


async def test_nothing_is_read_on_once_the_client_has_gone() -> None:
    stream = Stream()
    stream.ask("many")
    stream.ask("b")
    stream.handler.cancel()
    await turns()
    assert stream.engine.submitted == {}


async def test_answers_written_in_slices_keep_their_order() -> None:
    stream = Stream()
    stream.ask("a", "decoupled")
    stream.ask("b", "decoupled")
    request = stream.engine.submitted["a"]
    for values in (VALUE, TEXTS, VALUE, TEXTS):
        request.sink.respond(request, Response(("y",), [values]), final=False)
    request.sink.fail(request, BackendFailed("no more"))
    stream.engine.respond("b", final=True)
    stream.handler.half_close()
    assert stream.call.ids == ["a", "b"]
    await turns()
    sizes = [len(b"".join(reply.infer_response.raw_output_contents)) for reply in stream.call.sent]
    assert sizes == [4, 4, 5 * len(TEXTS), 4, 5 * len(TEXTS), 0]
    assert stream.call.sent[-1].error_message == "no more"
    assert stream.call.status == (0, "")


async def test_an_only_answer_written_in_slices_ends_its_request() -> None:
    stream = Stream()
    stream.ask("a")
    stream.ask("b")
    request = stream.engine.submitted["a"]
    request.sink.deliver(request, [TEXTS])
    stream.engine.answer("b")
    assert stream.call.ids == []
    await turns()
    assert stream.call.ids == ["a", "b"]


def test_an_error_waits_for_its_turn_and_the_stream_goes_on() -> None:
    stream = Stream()
    stream.ask("a")
    stream.ask("b", "nope")
    stream.ask("c")
    stream.engine.fail("c")
    assert stream.call.ids == []
    stream.engine.answer("a")
    assert [(r.infer_response.id, r.error_message) for r in stream.call.sent] == [
        ("a", ""),
        ("b", "no such model"),
        ("c", "no luck"),
    ]
    assert stream.call.status is None


def test_a_full_queue_is_told_in_the_stream() -> None:
    stream = Stream()
    stream.engine.refuse = QueueFull("Exceeds maximum queue size")
    stream.ask("a", "decoupled")
    assert stream.call.sent[0].error_message == "Exceeds maximum queue size"


@pytest.mark.parametrize(("wanted", "answers"), [(False, 0), (True, 1)])
def test_the_empty_final_answer_is_sent_on_request(wanted: bool, answers: int) -> None:
    stream = Stream()
    stream.decoder.parameters = RequestParameters(empty_final=wanted)
    stream.ask("a", "decoupled")
    stream.handler.half_close()
    assert stream.call.status is None
    stream.engine.respond("a", final=True, empty=True)
    assert len(stream.call.sent) == answers
    assert stream.call.status == (0, "")
    for reply in stream.call.sent:
        assert reply.infer_response.parameters["triton_final_response"].bool_param
        assert not reply.infer_response.outputs


def test_half_closing_waits_for_what_is_in_flight() -> None:
    stream = Stream()
    stream.ask("a")
    stream.handler.half_close()
    assert stream.call.status is None
    stream.engine.answer("a")
    assert stream.call.status == (0, "")


def test_a_client_that_hangs_up_cancels_everything() -> None:
    stream = Stream()
    stream.ask("a")
    stream.ask("b", "decoupled")
    stream.handler.cancel()
    assert sorted(stream.engine.cancelled) == ["a", "b"]
    assert stream.call.sent == []
    assert stream.call.status is None


@pytest.mark.parametrize(
    ("fail", "code"),
    [
        (lambda engine: engine.fail("b"), 13),
        (
            lambda engine: engine.submitted["b"].sink.respond(
                engine.submitted["b"], Response(error=QueueFull("no luck")), final=False
            ),
            14,
        ),
    ],
)
def test_strict_streams_end_with_the_first_failure(
    fail: Callable[[FakeEngine], None], code: int
) -> None:
    stream = Stream(("triton_grpc_error", "true"))
    stream.ask("a", "decoupled")
    stream.ask("b", "decoupled")
    stream.engine.respond("a", final=False)
    fail(stream.engine)
    assert stream.call.ids == ["a"]
    assert stream.call.status == (code, "no luck")
    assert "a" in stream.engine.cancelled
    stream.ask("late")
    assert "late" not in stream.engine.submitted


def test_strict_streams_keep_the_order_of_what_came_before() -> None:
    stream = Stream(("triton_grpc_error", "true"))
    stream.ask("a")
    stream.ask("b")
    stream.engine.fail("b")
    assert stream.call.status is None
    stream.engine.answer("a")
    assert stream.call.ids == ["a"]
    assert stream.call.status == (13, "no luck")


def test_a_stream_has_only_so_many_requests_in_the_works() -> None:
    stream = Stream()
    count = 0
    while not stream.call.paused:
        stream.ask(str(count))
        count += 1
    assert count == 1024
    stream.engine.answer("0")
    assert not stream.call.paused


def test_a_stream_has_only_so_many_bytes_in_the_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it sends may be small: compressed messages count as what they unpack to."""
    monkeypatch.setattr(streaming, "_MAX_AHEAD_BYTES", 100)
    stream = Stream()
    count = 0
    while not stream.call.paused:
        stream.ask(str(count))
        count += 1
    assert 3 < count < 20
    stream.engine.answer("0")
    assert not stream.call.paused


def test_a_client_that_does_not_read_is_not_read_from() -> None:
    stream = Stream()
    stream.call.full = True
    stream.ask("a")
    assert stream.call.paused
    stream.engine.answer("a")
    assert stream.call.paused
    stream.call.full = False
    stream.handler.drained()
    assert not stream.call.paused


def test_a_stopping_server_refuses_in_the_stream() -> None:
    stream = Stream()
    stream.ask("a")
    stream.engine.stopping = True
    stream.ask("b")
    stream.engine.answer("a")
    assert [reply.error_message for reply in stream.call.sent] == [
        "",
        "GRPC server is shutting down and has stopped accepting new requests.",
    ]


def test_an_ordinary_model_without_an_answer_is_an_error() -> None:
    stream = Stream()
    stream.ask("a")
    stream.engine.respond("a", final=True, empty=True)
    assert stream.call.sent[0].error_message == "received an unexpected null response"


def service(**options: Any) -> Service:
    engine: Any = FakeEngine()
    return Service(engine, **options)


@pytest.mark.parametrize(
    ("metadata", "opened"),
    [
        ((), False),
        ((("triton-grpc-protocol-key", "other"),), False),
        ((("key", "value"),), False),
        ((("triton-grpc-protocol-key", "value"),), True),
    ],
)
@pytest.mark.parametrize("path", [MODEL_INFER, MODEL_STREAM_INFER])
def test_restricted_protocols_want_their_header(
    path: str, metadata: tuple[tuple[str, str], ...], opened: bool
) -> None:
    limited = service(restrictions={Category.INFERENCE: Restriction("key", "value")})
    call = FakeCall(path, *metadata)
    assert (limited.open(call) is not None) is opened
    if not opened:
        text = "This protocol is restricted, expecting header 'triton-grpc-protocol-key'"
        assert call.status == (14, text)
    assert limited.open(FakeCall(HEALTH_CHECK)) is not None


def test_unknown_methods_have_no_handler() -> None:
    assert service().open(FakeCall("/grpc.health.v1.Health/Watch")) is None


def test_every_method_of_the_service_has_a_handler() -> None:
    methods = pb.DESCRIPTOR.services_by_name["GRPCInferenceService"].methods
    paths = {f"/inference.GRPCInferenceService/{method.name}" for method in methods}
    assert set(service().paths) == paths | {HEALTH_CHECK}
