"""A front end's engine and the core's side of it, over a real socket: every call of a sink."""

import asyncio
import inspect
import socket
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from worker_runtime import errors
from worker_runtime.core.plans import Planner
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import Internal, InvalidArgument, QueueFull, RuntimeFault, Unavailable
from worker_runtime.frontends import answering
from worker_runtime.frontends import requests as core_requests
from worker_runtime.frontends.link import Link
from worker_runtime.frontends.memory import RemoteRegion
from worker_runtime.frontends.messages import (
    BLOCKS,
    BUNDLES,
    ModelForm,
    RegionForm,
    SpecForm,
    State,
    Traced,
    fault_of,
    fault_text,
)
from worker_runtime.frontends.remote import RemoteEngine
from worker_runtime.frontends.requests import RemoteRequests
from worker_runtime.observability.logging import LogOptions
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.request import InferRequest, Response, SequencePart
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME, MANY_STRINGS, string_array
from worker_runtime.types.triton_messages import model_config_pb2

MANY_WORDS = [b"a" * (i % 3) for i in range(3 * MANY_STRINGS)]
NUMBERS, WORDS = ("NUMBERS", "FP32"), ("WORDS", "BYTES")
FAULTS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, RuntimeFault)
]


class CoreEngine:
    """What the core's side asks for; what a test submits waits in ``requests``."""

    def __init__(self) -> None:
        specs = tuple(
            TensorSpec(name, BY_NAME[kind], (-1,), optional=name == "WORDS")
            for name, kind in (NUMBERS, WORDS)
        )
        self.planner = Planner(Signature("m", 0, specs, specs))
        self.shared_memory = SharedMemory()
        self.tracer = SimpleNamespace(active=False)
        self.requests: asyncio.Queue[InferRequest] = asyncio.Queue()
        self.cancelled: asyncio.Queue[InferRequest] = asyncio.Queue()
        self.refusal: RuntimeFault | None = None

    def plan(self, _model: Any, _id: str, inputs: Any, outputs: Any) -> Any:
        return self.planner.plan(inputs, outputs)

    def submit(self, model: Any, request: InferRequest) -> None:
        if self.refusal is not None:
            raise self.refusal
        request.model = model
        self.requests.put_nowait(request)

    def cancel(self, request: InferRequest) -> None:
        self.cancelled.put_nowait(request)


class Sink:
    def __init__(self) -> None:
        self.told: asyncio.Queue[Any] = asyncio.Queue()

    def deliver(self, _request: InferRequest, outputs: Any) -> None:
        self.told.put_nowait(outputs)

    def fail(self, _request: InferRequest, error: Exception) -> None:
        self.told.put_nowait(error)

    def respond(self, _request: InferRequest, response: Any, *, final: bool) -> None:
        self.told.put_nowait((response, final))


class Pair:
    """Both sides. ``ask`` submits a request in the front end and gives it and its sink."""

    def __init__(self) -> None:
        self.core = CoreEngine()
        self.model = SimpleNamespace(name="m", version=1, on_device=False)
        self.requests = RemoteRequests(self.core, {7: self.model}, self._wake)  # type: ignore[arg-type, dict-item]
        self.core_link = Link(self._to_core, self.requests.close, lambda _: None)
        self.link = Link(self._to_front_end, self._lost, lambda _: None)
        self.engine = RemoteEngine(self.link, shared_memory=True)
        spec = [
            SpecForm(n, k, (-1,), None, n == "WORDS", (), False, False) for n, k in (NUMBERS, WORDS)
        ]
        config = model_config_pb2.ModelConfig(name="m").SerializeToString()
        form = ModelForm(7, "m", 1, config, "m", 0, tuple(spec), tuple(spec), False)
        ready = [("m", "", 7), ("m", "1", 7)]
        state = State(1, [form], ready, ["m"], {"m": [1]}, [], False, False, LogOptions())
        self.engine.follow(state)

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        for one, link in zip(socket.socketpair(), (self.core_link, self.link), strict=True):
            one.setblocking(False)
            await loop.create_unix_connection(lambda link=link: link, sock=one)  # type: ignore[misc]

    def _to_core(self, message: memoryview, frame: Any, start: int) -> None:
        self.requests.take(BUNDLES.decode(message), frame, start)

    def _to_front_end(self, message: memoryview, frame: Any, start: int) -> None:
        self.engine.answered(BLOCKS.decode(message), frame, start)

    def _lost(self) -> None:
        self.engine.lose()

    def _wake(self) -> None:
        asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        self.core_link.send(*self.requests.block([]))

    def ask(self, numbers: Any, words: list[bytes], **options: Any) -> tuple[InferRequest, "Sink"]:
        model = self.engine.resolve("m")
        forms = ((*NUMBERS, (len(numbers),)), (*WORDS, (len(words),)))
        plan = self.engine.plan(model, "", forms, None)
        sink = options.pop("sink", None) or Sink()
        request = InferRequest(plan, [numbers, string_array(words)], sink, **options)
        self.engine.submit(model, request)
        return request, sink

    def ask_plainly(self, numbers: Any, sink: Sink, **options: Any) -> None:
        """For small numbers alone: what goes without an object for each."""
        raw = np.asarray(numbers, dtype="<f4")
        forms = ((*NUMBERS, raw.shape),)
        plan = self.engine.plan(self.engine.resolve("m"), "", forms, ("NUMBERS",))
        request = InferRequest(plan, [raw.tobytes()], sink, **options)
        self.engine.submit(self.engine.resolve("m"), request)

    async def asked(self, numbers: Any = (), words: Any = (), **options: Any) -> Any:
        """The request in the core, the one in the front end and its sink."""
        mine, sink = self.ask(np.asarray(numbers, dtype="<f4"), list(words), **options)
        return await asyncio.wait_for(self.core.requests.get(), 5), mine, sink


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    found = Pair()
    await found.connect()
    yield found
    found.link.abort()
    found.core_link.abort()


async def told(sink: Sink) -> Any:
    return await asyncio.wait_for(sink.told.get(), 5)


@pytest.mark.parametrize("size", [0, 1, 1000, 4095, 4096, 4097, 70_000, 3_000_000])
async def test_tensors_of_any_size_come_and_go_whole(pair: Pair, size: int) -> None:
    numbers = np.arange(size, dtype="<f4")
    words = [b"", b"a", b"\xff" * 300]
    there, _, sink = await pair.asked(numbers, words)
    got = np.frombuffer(there.inputs[0], "<f4")
    assert (got == numbers).all()
    assert size < 4096 or got.ctypes.data % 64 == 0
    assert list(there.inputs[1]) == words
    there.sink.deliver(there, [got * 2, string_array(words)])
    first, second = await told(sink)
    assert (first == numbers * 2).all()
    assert first.shape == (size,)
    assert list(second) == words


async def test_all_of_one_turn_are_one_bundle_and_are_answered_one_by_one(pair: Pair) -> None:
    asked = [pair.ask(np.full(3, n, dtype="<f4"), [b"%d" % n]) for n in range(40)]
    there = [await asyncio.wait_for(pair.core.requests.get(), 5) for _ in asked]
    for one in reversed(there):
        one.sink.deliver(one, [np.frombuffer(one.inputs[0], "<f4"), one.inputs[1]])
    for number, (_, sink) in enumerate(asked):
        numbers, words = await told(sink)
        assert list(numbers) == [number] * 3
        assert list(words) == [b"%d" % number]


async def test_what_few_requests_have_arrives(pair: Pair) -> None:
    largest = (2**64 - 1) * 1000
    part = SequencePart(2**64 - 1, start=True)
    custom: dict[str, Any] = {"a": True, "b": -(2**63), "c": 0.5, "d": "text"}
    there, mine, _ = await pair.asked(
        priority=2**64 - 1, timeout_ns=largest, sequence=part, parameters=custom, id="é"
    )
    assert (there.priority, there.timeout_ns, there.sequence) == (2**64 - 1, largest, part)
    assert (there.parameters, there.id, there.arrived_ns) == (
        custom,
        "é",
        mine.arrived_ns or there.arrived_ns,
    )
    assert type(there.parameters["a"]) is bool


async def test_texts_that_are_no_utf_8_do_not_cost_others_their_requests(pair: Pair) -> None:
    pair.ask(np.zeros(1, "<f4"), [b""], id="\udcff")
    pair.ask(np.zeros(1, "<f4"), [b""], id="fine")
    assert [(await asyncio.wait_for(pair.core.requests.get(), 5)).id for _ in range(2)] == [
        "?",
        "fine",
    ]


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_faults_keep_their_class_and_their_words(kind: type[RuntimeFault]) -> None:
    there = kind.__new__(kind)
    there.args = ("why",)
    here = fault_of(fault_text(there))
    assert type(here) is kind
    assert str(here) == "why"


def test_what_is_no_fault_is_internal() -> None:
    assert fault_text(ValueError("odd")) == ("Internal", "odd")
    assert type(fault_of(("open", "no class of ours"))) is Internal


async def test_errors_and_refusals_reach_the_sink(pair: Pair) -> None:
    there, _, sink = await pair.asked()
    there.sink.fail(there, QueueFull("full"))
    assert type(await told(sink)) is QueueFull
    pair.core.refusal = Unavailable("no")
    _, sink = pair.ask(np.zeros(0, "<f4"), [])
    assert str(await told(sink)) == "no"

    class Stream(Sink):
        def turn_away(self, error: RuntimeFault) -> None:
            self.told.put_nowait(("refused", str(error)))

    class Connection(Sink):
        def refuse(self, refusal: Any) -> None:  # as HTTP's has it, for requests that are none
            raise AssertionError(refusal)

    _, connection = pair.ask(np.zeros(0, "<f4"), [], sink=Connection())
    assert str(await told(connection)) == "no"
    _, stream = pair.ask(np.zeros(0, "<f4"), [], sink=Stream())
    assert await told(stream) == ("refused", "no")


async def test_answers_that_say_themselves_what_is_in_them(pair: Pair) -> None:
    there, _, sink = await pair.asked()
    array = np.arange(6, dtype="<i8").reshape(2, 3)
    there.sink.respond(there, Response(("B",), [array], {"n": 1}), final=False)
    there.sink.respond(there, Response(error=Internal("one of them")), final=False)
    there.sink.respond(there, None, final=True)
    response, final = await told(sink)
    assert (response.names, response.parameters, final) == (("B",), {"n": 1}, False)
    assert (response.arrays[0] == array).all()
    response, final = await told(sink)
    assert (str(response.error), final) == ("one of them", False)
    assert await told(sink) == (None, True)


async def test_a_cancel_finds_its_request_and_no_other(pair: Pair) -> None:
    there, mine, sink = await pair.asked()
    other, _, _ = await pair.asked()
    pair.engine.cancel(mine)
    assert await asyncio.wait_for(pair.core.cancelled.get(), 5) is there
    assert there.cancelled
    there.sink.fail(there, errors.Cancelled("gone"))
    await told(sink)
    pair.engine.cancel(mine)  # over: nothing is sent
    other.sink.deliver(other, [np.zeros(0, "<f4"), string_array([])])
    assert pair.core.cancelled.empty()


async def test_who_ends_leaves_nothing_behind(pair: Pair) -> None:
    there, _, sink = await pair.asked()
    pair.core_link.abort()
    assert str(await told(sink)) == "the server's core has ended"
    assert await asyncio.wait_for(pair.core.cancelled.get(), 5) is there
    there.sink.deliver(there, [np.zeros(0, "<f4"), string_array([])])  # nobody waits
    with pytest.raises(Unavailable, match="core has ended"):
        pair.ask(np.zeros(0, "<f4"), [])


async def test_a_shape_that_no_message_can_carry_is_refused_alone(pair: Pair) -> None:
    model = pair.engine.resolve("m")
    forms = ((*NUMBERS, (2**63,)), (*WORDS, (0,)))
    plan = pair.engine.plan(model, "", forms, None)
    with pytest.raises(InvalidArgument, match="expected at most 9223372036854775807"):
        pair.engine.submit(model, InferRequest(plan, [b"", string_array([])], Sink()))
    there, _, sink = await pair.asked()
    there.sink.deliver(there, [np.zeros(0, "<f4"), string_array([])])
    assert len(await told(sink)) == 2


async def test_more_forms_than_are_remembered(pair: Pair) -> None:
    for size in range(3000):
        there, _, sink = await pair.asked(np.zeros(size, "<f4"), [])
        there.sink.deliver(there, [np.zeros(size, "<f4"), string_array([])])
        assert (await told(sink))[0].shape == (size,)


async def test_small_requests_keep_what_clients_call_them(pair: Pair) -> None:
    for _ in range(2):  # the form is known the second time
        for name in ("a", "", "\udcff", "é"):
            pair.ask_plainly([1.0], Sink(), id=name)
        there = [await asyncio.wait_for(pair.core.requests.get(), 5) for _ in range(4)]
        assert [one.id for one in there] == ["a", "", "?", "é"]


async def test_requests_and_answers_keep_their_order_whatever_they_have(pair: Pair) -> None:
    """Models may be told to answer in the order in which they were asked."""
    sink = Sink()  # one for all, as a stream's answers go one way
    plain = [bool(n % 3) for n in range(30)]
    for turn in (0, 15):  # the forms are known in the second
        for number in range(turn, turn + 15):
            pair.ask_plainly([number], sink, priority=0 if plain[number] else 1)
        there = [await asyncio.wait_for(pair.core.requests.get(), 5) for _ in range(15)]
        found = [float(np.frombuffer(one.inputs[0], "<f4")[0]) for one in there]
        assert found == list(range(turn, turn + 15))
        for one in there:
            array = np.frombuffer(one.inputs[0], "<f4")
            if plain[int(array[0])]:
                one.sink.deliver(one, [array])
            else:
                one.sink.respond(one, Response(("NUMBERS",), [array]), final=True)
        for number in range(turn, turn + 15):
            got = await told(sink)
            outputs = got if plain[number] else got[0].arrays
            assert outputs[0] == [number]


async def test_a_form_of_long_ago_is_still_understood(pair: Pair) -> None:
    numbers, words = np.ones(1, "<f4"), string_array([])

    async def plain() -> None:
        there, _, sink = await pair.asked(numbers, [])
        there.sink.deliver(there, [numbers, numbers])
        assert (await told(sink))[1] == numbers

    await plain()
    there, _, sink = await pair.asked(numbers, [])
    for size in range(3000):
        there.sink.respond(there, Response(("W",), [np.zeros(size, "<f4")]), final=False)
        assert (await told(sink))[0].arrays[0].shape == (size,)
    there.sink.deliver(there, [numbers, words])
    await told(sink)
    await plain()


async def test_many_words_go_both_ways_in_slices(pair: Pair) -> None:
    """Smaller ones overtake them meanwhile."""
    sink = Sink()
    pair.ask(np.zeros(0, "<f4"), MANY_WORDS, sink=sink)
    small, _, _ = await pair.asked([1.0], [b"a"])
    there = await asyncio.wait_for(pair.core.requests.get(), 5)
    assert small.inputs[1].tolist() == [b"a"]
    assert there.inputs[1].tolist() == MANY_WORDS
    there.sink.deliver(there, [np.zeros(0, "<f4"), string_array(MANY_WORDS).reshape(2, -1)])
    answer = (await told(sink))[1]
    assert (answer.shape, answer.ravel().tolist()) == ((2, len(MANY_WORDS) // 2), MANY_WORDS)


async def test_answers_behind_many_words_keep_their_order(pair: Pair) -> None:
    there, _, sink = await pair.asked()
    given = [[b"1"], MANY_WORDS, [b"2"], MANY_WORDS, [b"3"]]
    for words in given:
        response = Response(("WORDS",), [string_array(words)])
        there.sink.respond(there, response, final=False)
    there.sink.respond(there, Response(error=Internal("one of them")), final=False)
    there.sink.fail(there, Internal("no more"))
    for words in given:
        response, final = await told(sink)
        assert (response.arrays[0].tolist(), final) == (words, False)
    response, _ = await told(sink)
    assert str(response.error) == "one of them"
    assert str(await told(sink)) == "no more"


async def test_who_loses_the_core_is_told_behind_what_had_come(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    began: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    read = answering._strings_read

    def read_later(*given: Any) -> Steps[Any]:
        began.set_result(None)
        yield held
        return (yield from read(*given))

    monkeypatch.setattr(answering, "_strings_read", read_later)
    there, _, sink = await pair.asked()
    there.sink.respond(there, Response(("WORDS",), [string_array(MANY_WORDS)]), final=False)
    await asyncio.wait_for(began, 5)
    pair.engine.lose()
    held.set_result(None)
    response, final = await told(sink)
    assert (response.arrays[0].tolist(), final) == (MANY_WORDS, False)
    assert isinstance(await told(sink), errors.Unavailable)


async def test_many_words_of_a_sequence_are_not_overtaken(pair: Pair) -> None:
    part = SequencePart(1)
    pair.ask(np.zeros(0, "<f4"), MANY_WORDS, sequence=part)
    second, _, _ = await pair.asked([1.0], [b"a"], sequence=part)
    assert len(second.inputs[1]) == len(MANY_WORDS)  # the first that came
    assert len((await asyncio.wait_for(pair.core.requests.get(), 5)).inputs[1]) == 1


@pytest.mark.parametrize("turns", [0, 1, 3])
async def test_many_words_are_dropped_when_their_client_goes(pair: Pair, turns: int) -> None:
    """While the front end writes them; ``turns`` later, when some are written."""
    request, sink = pair.ask(np.zeros(0, "<f4"), MANY_WORDS)
    for _ in range(turns):
        await asyncio.sleep(0)
    pair.engine.cancel(request)
    assert isinstance(await told(sink), errors.Cancelled)
    there, _, other = await pair.asked([1.0], [b"a"])
    assert len(there.inputs[1]) == 1
    there.sink.deliver(there, [np.zeros(0, "<f4"), string_array([])])
    await told(other)
    assert pair.core.requests.empty()


async def test_many_words_that_the_core_reads_are_dropped_likewise(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    held: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def read(*_: Any) -> Steps[Any]:
        began.set_result(None)
        yield held

    monkeypatch.setattr(core_requests, "_strings_read", read)
    request, sink = pair.ask(np.zeros(0, "<f4"), MANY_WORDS)
    await asyncio.wait_for(began, 5)
    pair.engine.cancel(request)
    assert isinstance(await told(sink), errors.Cancelled)
    held.set_result(None)
    await pair.asked([1.0], [b"a"])
    assert pair.core.requests.empty()


class Copy:
    """A model that runs in the front end; ``asked`` are the requests that it gets."""

    def __init__(self) -> None:
        self.scheduler = self
        self.asked: list[InferRequest] = []
        self.cancelled: list[InferRequest] = []

    def submit(self, request: InferRequest) -> None:
        self.asked.append(request)

    def cancel(self, request: InferRequest) -> None:
        self.cancelled.append(request)


async def test_a_model_that_runs_here_gets_its_requests_and_their_cancels(pair: Pair) -> None:
    copy = pair.engine.resolve("m").copy = Copy()
    mine, _ = pair.ask(np.zeros(1, "<f4"), [b"a"], priority=2, timeout_ns=5, parameters={"a": 1})
    assert copy.asked == [mine]
    assert mine.model is copy
    assert mine.arrived_ns
    pair.engine.cancel(mine)
    assert copy.cancelled == [mine]
    pair.engine.resolve("m").copy = None
    there, other, _ = await pair.asked()
    assert copy.asked == [mine]
    pair.engine.cancel(other)
    assert await asyncio.wait_for(pair.core.cancelled.get(), 5) is there


@pytest.mark.parametrize(
    "options",
    [
        {"sequence": SequencePart(3)},
        {"trace": Traced("HTTP", {}, (0, 0))},
        {"form": SimpleNamespace(windows={"NUMBERS": SimpleNamespace(place=("r", 0, 4))})},
        {},
    ],
    ids=["sequence", "trace", "window", "stopping"],
)
async def test_what_is_the_cores_takes_the_hop(
    pair: Pair, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = pair.engine.resolve("m").copy = Copy()
    window = SimpleNamespace(byte_size=4, filled=False, write=None, device=None)
    monkeypatch.setattr(pair.core.shared_memory, "window", lambda *_: window)
    pair.engine.stopping = not options
    there, mine, _ = await pair.asked([1], [b"a"], **options)
    assert there.inputs[1].tolist() == [b"a"]
    assert mine.model is not copy
    assert not copy.asked


async def test_an_input_in_a_region_takes_the_hop(pair: Pair) -> None:
    copy = pair.engine.resolve("m").copy = Copy()
    form = RegionForm(1, "r", "cuda", 64, "", 0)
    part = RemoteRegion(form).view(0, 4)
    plan = pair.engine.plan(pair.engine.resolve("m"), "", ((*NUMBERS, (1,)),), ("NUMBERS",))
    sink = Sink()
    pair.engine.submit(pair.engine.resolve("m"), InferRequest(plan, [part], sink))
    assert not copy.asked
    assert "Unable to find shared memory region: 'r'" in str(await told(sink))
