"""What a model asks of the server while it runs (other models, logs, metrics), and the answers."""

import base64
import logging
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any

import msgspec

from worker_runtime.backends.base import Array, Host, ModelCall, RequestTrace
from worker_runtime.backends.python.messages import arrays_of, code_of, response_message
from worker_runtime.backends.python.process import Message, StubProcess
from worker_runtime.backends.python.stub.shoal_stub.channel import Closed
from worker_runtime.errors import BackendFailed, RuntimeFault
from worker_runtime.observability.requests.watched import Watch
from worker_runtime.types.request import Response, SequencePart

logger = logging.getLogger(__name__)
_LEVELS = (logging.INFO, logging.WARNING, logging.ERROR, logging.DEBUG)
_START, _END = 1, 2
_AT_ONCE_BYTES = 64 * 2**10  # of tensors; copying more would hold the event loop up
_AT_ONCE_TEXTS = 256

_Waiting = tuple[int, Response | None, bool]  # call, answer, whether it is the last


class Calls:
    """``handle`` is called by the thread that receives the process's messages.

    ``trace_of`` gives the trace of a request that the process has, by its number; ``watch`` notes
    a call with those that it is made for. ``caller`` is the model's name and version.
    """

    def __init__(
        self,
        caller: tuple[str, str],
        host: Host,
        process: StubProcess,
        trace_of: Callable[[int], RequestTrace | None],
        watch: Callable[[int], Watch | None],
    ) -> None:
        self._caller = caller
        self._model = model = caller[0]
        self._host = host
        self._process = process
        self._trace_of = trace_of
        self._watch = watch
        self._cancels: dict[int, Callable[[], None]] = {}
        self._replies = Replies(model, process)

    def handle(self, message: Message) -> None:
        kind = message["op"]
        if kind == "bls":
            self._infer(message)
        elif kind == "bls_cancel":
            cancel = self._cancels.get(message["call"])
            if cancel is not None:
                cancel()
        elif kind == "log":
            level = _LEVELS[message["level"] if 0 <= message["level"] < len(_LEVELS) else 0]
            logger.log(level, "%s: %s", self._model, message["text"])
        elif kind == "room":
            self._answered(message, dict)  # what became free goes with every message
        elif kind == "metric":
            self._answered(message, lambda: self._metric(message))
        elif kind == "model":
            # why a thread: a load takes long, and may ask this very model for something.
            threading.Thread(
                target=self._answered, args=(message, lambda: self._control(message)), daemon=True
            ).start()
        else:
            logger.error("model %s sent an unknown message '%s'", self._model, kind)

    def abandon(self) -> None:
        """The process is gone: what it asked for is not needed any more."""
        cancels, self._cancels = self._cancels, {}
        for cancel in cancels.values():
            cancel()
        self._replies.close()

    # --- inference -----------------------------------------------------------------------------

    def _infer(self, message: Message) -> None:
        number, data = message["call"], message["request"]
        ended = threading.Event()

        def answer(response: Response | None, final: bool) -> None:
            if final:
                ended.set()
                self._cancels.pop(number, None)
            self._replies.send(number, response, final=final)

        try:
            call = self._call(data, decoupled=message["decoupled"])
            self._cancels[number] = self._host.infer(call, answer)
        except RuntimeFault as error:
            answer(Response(error=error), True)
        if ended.is_set():  # it may have ended in the event loop before it could be kept
            self._cancels.pop(number, None)

    def _call(self, data: Mapping[str, Any], *, decoupled: bool) -> ModelCall:
        names, arrays = arrays_of(data["inputs"], self._process.channel.window, self._model)
        version, correlation = data["version"], data["corr"]
        sequence = None
        if correlation:
            flags = data["flags"]
            sequence = SequencePart(correlation, bool(flags & _START), bool(flags & _END))
        return ModelCall(
            model=data["model"],
            version="" if version < 0 else str(version),
            inputs=tuple(
                (name, tensor[1], array)
                for name, tensor, array in zip(names, data["inputs"], arrays, strict=True)
            ),
            outputs=tuple(data["outputs"]),
            id=data["id"],
            sequence=sequence,
            timeout_ns=data["timeout"] * 1000,
            parameters=msgspec.json.decode(data["parameters"]) or None,
            decoupled=decoupled,
            trace=self._trace_of(data["trace"]),
            watch=self._watch(data["trace"]),
            caller=self._caller,
        )

    # --- the rest ------------------------------------------------------------------------------

    def _answered(self, message: Message, work: Callable[[], Mapping[str, Any]]) -> None:
        """Reply with what ``work`` gives, or with its fault."""
        reply: Message = {"op": "reply", "call": message["call"], "final": True}
        try:
            reply.update(work())
        except RuntimeFault as error:
            reply["error"] = [code_of(error), str(error)]
        try:
            self._process.send(reply)
        except Closed:
            logger.debug("an answer came after model %s had ended", self._model)

    def _metric(self, message: Message) -> Mapping[str, Any]:
        metrics, name, what = self._host.metrics, message["name"], message["do"]
        if what == "family":
            metrics.family(name, message["text"], message["kind"])
            return {}
        labels = message["labels"]
        if what == "make":
            metrics.make(name, labels, message["buckets"])
        elif what == "value":
            return {"value": metrics.value(name, labels)}
        else:
            metrics.change(name, labels, what, message["value"])
        return {}

    def _control(self, message: Message) -> Mapping[str, Any]:
        host, name, what = self._host, message["name"], message["do"]
        if what == "is_ready":
            return {"ready": host.model_ready(name, message["version"])}
        if what == "load":
            files = {path: base64.b64decode(data) for path, data in message["files"].items()}
            host.load_model(name, message["config"], files)
        else:
            host.unload_model(name, dependents=message["dependents"])
        return {}


class Replies:
    """Sends them in their order, and never waits: whoever does not read holds up a thread only."""

    def __init__(self, model: str, process: StubProcess) -> None:
        self._model = model
        self._channel = process.channel
        self._waiting: SimpleQueue[_Waiting | Message | None] = SimpleQueue()
        self._count = 0  # of those that wait, the one that is being written included
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None
        self._closed = False

    def send(self, number: int, response: Response | None, *, final: bool) -> None:
        """Called in the event loop, or in the thread that receives the process's messages."""
        with self._lock:
            if self._closed:
                return
            reply: _Waiting | Message = (number, response, final)
            if not self._count and (response is None or _is_small(response)):
                reply = self._message(number, response, final=final)
                if self._sent_at_once(reply):
                    return
            self._count += 1
            self._waiting.put(reply)
            if self._writer is None:
                name = f"{self._model}-replies"
                self._writer = threading.Thread(target=self._write_all, name=name, daemon=True)
                self._writer.start()

    def close(self) -> None:
        """The process is gone: what waits is dropped."""
        with self._lock:
            self._closed = True
        self._waiting.put(None)

    def _sent_at_once(self, message: Message) -> bool:
        try:
            return self._channel.try_send(message)
        except Closed:
            return True  # whoever reads its messages finds out, too

    def _write_all(self) -> None:
        while (reply := self._waiting.get()) is not None:
            if self._closed:
                continue
            try:
                if isinstance(reply, tuple):
                    number, response, final = reply
                    reply = self._message(number, response, final=final)
                    del response  # why: clients and models want its memory back
                self._channel.send(reply)
            except Closed:
                logger.debug("an answer came after model %s had ended", self._model)
            with self._lock:
                self._count -= 1

    def _message(self, number: int, response: Response | None, *, final: bool) -> Message:
        arena = self._channel.arena
        try:
            data = response_message(response, arena)
        except Exception as error:  # why so wide: the model waits for an answer, whatever it is
            logger.warning("model %s cannot be given an answer: %s", self._model, error)
            data = response_message(Response(error=BackendFailed(str(error))), arena)
        return {"op": "reply", "call": number, "final": final, "response": data}


def _is_small(response: Response) -> bool:
    return sum(map(_bytes, response.arrays)) <= _AT_ONCE_BYTES


def _bytes(array: Array) -> int:
    if array.dtype != object:
        return array.nbytes
    if array.size > _AT_ONCE_TEXTS:
        return _AT_ONCE_BYTES + 1
    return sum(len(item) for item in array.flat if isinstance(item, bytes | str))
