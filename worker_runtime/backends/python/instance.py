"""One model instance: batches to its process, answers back, a new process when it dies."""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from time import monotonic_ns

from msgspec import Struct

from worker_runtime.backends.attempt import Attempt
from worker_runtime.backends.base import BackendRequest, Host, RequestTrace
from worker_runtime.backends.python.calls import Calls
from worker_runtime.backends.python.messages import request_message, response_of
from worker_runtime.backends.python.process import Command, Message, StubProcess
from worker_runtime.backends.python.stub.shoal_stub.channel import Closed
from worker_runtime.errors import BackendFailed, Internal, LoadFailed, RuntimeFault
from worker_runtime.observability.requests.watched import CALL, Watch, below
from worker_runtime.types.request import Response

logger = logging.getLogger(__name__)
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 30.0
_FAILED_GRACE_S = 1.0
_HAND_OVERS = 3
_STEADY_S = 60.0  # a process that lived so long earns the short pause again
_NOTHING_TO_DO = ("finalized", "given_back")  # the channel has heard what came back with them
_READY_TIMEOUT_S = 5.0  # for an answer of ``is_ready``
_READY_INTERVAL_S = 1.0  # from one answer to the next question


class InstanceSpec(Struct, frozen=True):
    """``start`` is the message that initialises the process; ``types`` are of the inputs.

    ``caller``: the model's name and version, for calls. Times in seconds, 0 for no limit.
    """

    model: str
    command: Command
    start: Message
    types: Mapping[str, str]
    caller: tuple[str, str]
    decoupled: bool
    start_timeout_s: float = 0.0
    execute_timeout_s: float = 0.0


class PythonInstance:
    """``execute_requests`` is called by one thread at a time; the process has its own."""

    def __init__(self, spec: InstanceSpec, host: Host) -> None:
        self._spec = spec
        self._host = host
        self._calls: Calls | None = None
        self._process: StubProcess | None = None
        self._numbers = itertools.count(1)
        self._batch: dict[int, BackendRequest] = {}  # of the execution under way
        self._open: dict[int, BackendRequest] = {}  # those that are answered apart from their batch
        self._outcomes: SimpleQueue[Message | None] = SimpleQueue()
        self._starting: SimpleQueue[Message | None] = SimpleQueue()
        self._asked: dict[int, SimpleQueue[Message]] = {}
        self._lock = threading.Lock()
        self._healthy = threading.Event()
        self._trouble = ""
        self._pause_s = _FIRST_PAUSE_S
        self._closed = threading.Event()
        self._up_since = 0.0  # monotonic seconds; 0 while it is not in service
        self._has_ready = False
        self._says_ready = False
        self._readiness_trouble = ""
        self._watch: threading.Thread | None = None

    # --- life ------------------------------------------------------------------------------

    def start(self, attempt: Attempt | None = None) -> None:
        """Start and initialise the process; blocking. Raises LoadFailed with what it said.

        The process ends when ``attempt`` is given up, whatever it does.
        """
        self._starting = SimpleQueue()
        process = StubProcess(self._spec.command, self._on_message, self._on_exit)
        self._process = process
        if attempt is not None:
            attempt.on_give_up(process.kill)
        if self._closed.is_set():  # meanwhile, and then nobody has seen the new process
            process.kill()
        self._calls = Calls(self._spec.caller, self._host, process, self._trace_of, self._watch_of)
        limit = self._spec.start_timeout_s
        try:
            process.send(self._spec.start)
            reply = self._starting.get(timeout=limit or None)
            if reply is not None and reply["op"] == "hello":
                # why without a limit: a model may take as long as it needs to initialize.
                reply = self._starting.get()
        except Closed:
            reply = None
        except Empty:
            reply = {
                "op": "failed",
                "message": f"the process of model instance '{self._spec.command.name}' did not "
                f"start within {limit:g} s",
            }
        if reply is None or reply["op"] == "failed":
            process.stop(_FAILED_GRACE_S)
            raise LoadFailed(
                reply["message"] if reply is not None else self._death(process), kind="Internal"
            )
        self._has_ready = reply["is_ready"]
        self._says_ready = False
        self._up_since = time.monotonic()
        self._healthy.set()
        # why only now: a process that ends while it is asked must be seen to, as one in service
        if self._has_ready:
            self._says_ready = self._ask_ready()
            self._watch_readiness()

    def close(self) -> None:
        """Finalize the model and end its process; blocking. One that never was up is killed."""
        self._closed.set()
        starting = not self._healthy.is_set()
        self._up_since = 0.0
        self._healthy.clear()
        if self._process is not None:
            if starting:
                self._process.kill()
            self._process.stop()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def ready(self) -> bool:
        """The process lives and, where the model has ``is_ready``, said yes when last asked."""
        return self._healthy.is_set() and (not self._has_ready or self._says_ready)

    def _watch_readiness(self) -> None:
        """Ask ``is_ready`` beside everything else, as long as the instance is there."""
        # why: probes are answered in the event loop, and a model may take as long as it likes.
        if self._watch is None:
            name = f"{self._spec.command.name}-readiness"
            self._watch = threading.Thread(target=self._keep_asking, name=name, daemon=True)
            self._watch.start()

    def _keep_asking(self) -> None:
        while not self._closed.wait(_READY_INTERVAL_S):
            if self._healthy.is_set():
                self._says_ready = self._ask_ready()

    def _ask_ready(self) -> bool:
        """What ``is_ready`` says now; False without an answer in time. Blocking."""
        process, number, answer = self._process, next(self._numbers), SimpleQueue[Message]()
        assert process is not None  # noqa: S101 # it was started
        self._asked[number] = answer
        try:
            process.send({"op": "is_ready", "n": number})
            reply = answer.get(timeout=_READY_TIMEOUT_S)
        except (Closed, Empty):
            return False
        finally:
            self._asked.pop(number, None)
        trouble, self._readiness_trouble = self._readiness_trouble, reply["error"]
        if reply["error"] and reply["error"] != trouble:  # why: it is asked every second
            logger.warning("is_ready of %s failed: %s", self._spec.command.name, reply["error"])
        return bool(reply["ready"])

    # --- execution ---------------------------------------------------------------------------

    def execute_requests(self, requests: Sequence[BackendRequest]) -> tuple[int, int]:
        numbered = {next(self._numbers): request for request in requests}
        if self._spec.decoupled:
            with self._lock:
                self._open.update(numbered)
        else:
            self._batch = dict(numbered)
        try:
            process = self._hand_over(numbered)
            given = monotonic_ns()
            outcome = self._result(process)
            computed = monotonic_ns()
        finally:
            self._batch = {}  # why: requests hold memory that clients want back
        self._settle(outcome, numbered, process)
        return given, computed

    def _result(self, process: StubProcess) -> Message:
        """Wait for the end of a batch. Raises BackendFailed when the process dies."""
        outcomes, limit = self._outcomes, self._spec.execute_timeout_s
        try:
            # why not when decoupled: answers come at any time, and another thread reads them.
            if not self._spec.decoupled and not process.read_until(self._has_outcome, limit):
                raise Empty
            outcome = outcomes.get(timeout=limit or None)
        except Empty:
            self._healthy.clear()
            process.kill()
            raise BackendFailed(
                f"model instance '{self._spec.command.name}' did not answer within "
                f"{self._spec.execute_timeout_s:g} s and was restarted"
            ) from None
        if outcome is None:
            raise BackendFailed(self._death(process))
        return outcome

    def _has_outcome(self) -> bool:
        return not self._outcomes.empty()

    def _hand_over(self, numbered: dict[int, BackendRequest]) -> StubProcess:
        """Send a batch to a process that lives; one that is found dead costs no request."""
        for _ in range(_HAND_OVERS):
            self._wait_until_healthy()
            process = self._process
            assert process is not None  # noqa: S101 # it was started
            while not self._outcomes.empty():
                self._outcomes.get()  # of a batch that ran out of time before its process died
            try:
                self._give(process, numbered)
            except Closed:
                self._healthy.clear()  # its own thread is about to find out, and starts another
            else:
                return process
        raise BackendFailed(f"Stub process '{self._spec.command.name}' is not healthy.")

    def _give(self, process: StubProcess, numbered: Mapping[int, BackendRequest]) -> None:
        """Raises Closed when the process is gone."""
        arena, types = process.channel.arena, self._spec.types
        requests = [request_message(n, request, types, arena) for n, request in numbered.items()]
        process.send({"op": "execute", "requests": requests})

    def _settle(
        self, outcome: Message, numbered: dict[int, BackendRequest], process: StubProcess
    ) -> None:
        window = process.channel.window
        for number, data in outcome.get("answers", ()):
            numbered[number].send(response_of(data, window, self._spec.model), final=True)
        error = outcome.get("error")
        if error:
            with self._lock:
                for number in numbered:
                    self._open.pop(number, None)
            raise BackendFailed(
                "Failed to process the request(s) for model "
                f"'{self._spec.command.name}', message: {error}"
            )
        for number in outcome.get("again", ()):
            with self._lock:
                self._open.pop(number, None)
            numbered[number].reschedule()

    def _wait_until_healthy(self) -> None:
        """A process that died is about to be back: wait for it, unless it keeps dying."""
        if not self._healthy.is_set() and (
            self._trouble or not self._healthy.wait(_LONGEST_PAUSE_S)
        ):
            raise BackendFailed(
                f"Stub process '{self._spec.command.name}' is not healthy."
                + (f" {self._trouble}" if self._trouble else "")
            )

    def _death(self, process: StubProcess) -> str:
        lines = "\n".join(process.last_lines)
        end = process.end[:1].upper() + process.end[1:]
        return f"Stub process '{self._spec.command.name}' is not healthy. {end}." + (
            f" Its last output:\n{lines}" if lines else ""
        )

    # --- in the process's threads --------------------------------------------------------------

    def _on_message(self, message: Message) -> None:
        kind = message["op"]
        if kind == "done":
            self._keep(message.get("late", ()))
            self._outcomes.put(message)
        elif kind == "response":
            self._answered(message)
        elif kind in ("hello", "initialized", "failed"):
            self._starting.put(message)
        elif kind == "cancelled":
            self._send_cancelled(message)
        elif kind == "is_ready":
            answer = self._asked.get(message["n"])
            if answer is not None:
                answer.put(message)
        elif kind not in _NOTHING_TO_DO and self._calls is not None:
            self._calls.handle(message)

    def _keep(self, late: Sequence[int]) -> None:
        """Requests of an ordinary model that it answers after their batch."""
        for number in late:
            request = self._batch.pop(number, None)
            if request is not None:  # it was not answered meanwhile
                request.detach()
                with self._lock:
                    self._open[number] = request
        if late and self._process is not None:
            self._process.expect(True)

    def _answered(self, message: Message) -> None:
        """One answer of a response sender."""
        number, final = message["n"], message["final"]
        request = self._batch.pop(number, None)
        if request is not None:
            request.detach()
        else:
            request = self._open.get(number)
        process = self._process
        if request is None or process is None:
            return
        if final:
            with self._lock:
                self._open.pop(number, None)
            if not self._open:
                process.expect(False)
        data = message["response"]
        response = None
        if data is not None:
            response = self._read(
                lambda: response_of(data, process.channel.window, self._spec.model)
            )
        self._send(request, response, final=final)

    def _send(self, request: BackendRequest, response: Response | None, *, final: bool) -> None:
        """An answer of a response sender; the request may have failed with its batch meanwhile."""
        try:
            request.send(response, final=final)
        except Internal as error:
            logger.debug("model instance %s: %s", self._spec.command.name, error)

    def _read(self, read: Callable[[], Response]) -> Response:
        try:
            return read()
        except (RuntimeFault, ValueError) as error:
            return Response(error=BackendFailed(str(error)))

    def _trace_of(self, number: int) -> RequestTrace | None:
        return getattr(self._request(number), "trace", None)

    def _watch_of(self, number: int) -> Watch | None:
        named = self._request(number)
        had = [*self._batch.values(), *self._open.values()] if named is None else [named]
        return below(CALL, [one.source for one in had])

    def _request(self, number: int) -> BackendRequest | None:
        return self._batch.get(number) or self._open.get(number)

    def _send_cancelled(self, message: Message) -> None:
        request = self._request(message["n"])
        gone = request is None or request.cancelled
        if self._process is not None:
            self._process.send(
                {"op": "reply", "call": message["call"], "final": True, "gone": gone}
            )

    def _on_exit(self, process: StubProcess) -> None:
        """The process is gone: whoever waits is told; if it was in service it comes back."""
        self._starting.put(None)
        for asked in list(self._asked.values()):
            asked.put({"ready": False, "error": ""})
        if self._calls is not None:
            self._calls.abandon()
        lived_s = time.monotonic() - self._up_since
        in_service, self._up_since = bool(self._up_since), 0.0
        self._outcomes.put(None)
        if self._closed.is_set() or not in_service:
            self._fail_open(f"model instance '{self._spec.command.name}' was unloaded")
            return
        self._healthy.clear()
        death = self._death(process)
        logger.error("%s", death)
        self._fail_open(death)
        if lived_s > _STEADY_S:
            self._pause_s = _FIRST_PAUSE_S
        name = f"{self._spec.command.name}-restart"
        threading.Thread(target=self._come_back, name=name, daemon=True).start()

    def _fail_open(self, text: str) -> None:
        """End the requests that were to be answered apart from their batch."""
        with self._lock:
            orphans, self._open = self._open, {}
        for request in orphans.values():
            self._send(request, Response(error=BackendFailed(text)), final=True)

    def _come_back(self) -> None:
        """Start again until it works; each failure in a row doubles the pause."""
        name = self._spec.command.name
        while not self._closed.wait(self._pause_s):
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
            try:
                self.start()
            except (LoadFailed, OSError) as error:
                if self._closed.is_set():
                    return
                self._trouble = str(error)
                logger.error("model instance %s could not be started again: %s", name, error)
                continue
            self._trouble = ""
            logger.warning("model instance %s was started again", name)
            return
