"""What every target stands on: a real engine with small models, and connections without sockets.

Anything that surprises the server (an exception that is no RuntimeFault, an error in the log with
a traceback, a request that stays in the works) is raised as a ``Finding``.
"""

import asyncio
import gc
import json
import logging
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvloop

from tests.fuzz.finding import Finding
from tests.support import builtin_models, onnx_models
from worker_runtime.core.engine import Engine
from worker_runtime.core.loading import LoadingRules
from worker_runtime.core.local import ModelHost
from worker_runtime.core.manager import Manager
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import RuntimeFault
from worker_runtime.machine import this_machine
from worker_runtime.observability.metrics.connections import Refusals
from worker_runtime.observability.model_metrics import OwnMetrics
from worker_runtime.observability.tracing.tracer import Tracer
from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.grpc.native import connection as http2
from worker_runtime.protocols.grpc.native.messages import Turns
from worker_runtime.protocols.grpc.service import Service
from worker_runtime.protocols.http import errors as http_errors
from worker_runtime.protocols.http.app import HttpApp
from worker_runtime.protocols.http.errors import HttpRefusal
from worker_runtime.types.listening import ConnectionLimits, GrpcOptions, Keepalive

INPUT_LIMIT = 1 << 20
_HANG_UP_S = 0.05  # then the client hangs up
_HANG_S = 20.0  # then it is a finding

_TYPES = ("BOOL", "UINT8", "INT32", "INT64", "FP16", "FP32", "FP64", "STRING")
_SEQUENCES = """
backend: "identity"
max_batch_size: 2
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 1 ] }
sequence_batching { max_sequence_idle_microseconds: 100000 }
instance_group { count: 1 kind: KIND_CPU }
"""


class Surprises(logging.Handler):
    """Remembers errors of the log that carry a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.seen.append(self.format(record))


class Transport:
    """Takes what is written. ``closed`` once the server hangs up."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = self.ended = False
        self.protocol: Any = None

    def is_closing(self) -> bool:
        return self.closed

    def write(self, data: Any) -> None:
        if self.closed or self.ended:
            raise Finding("written to a closed transport")
        self.written.append(bytes(data))

    def writelines(self, parts: Any) -> None:
        self.write(b"".join(bytes(part) for part in parts))

    def close(self) -> None:
        self.closed = True

    abort = close

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    @property
    def output(self) -> bytes:
        return b"".join(self.written)


class Served:
    """An engine that serves the models below, and both protocols; as long as the process."""

    def __init__(self) -> None:
        self.surprises = Surprises()
        root_logger = logging.getLogger("worker_runtime")
        root_logger.addHandler(self.surprises)
        root_logger.propagate = False
        self.loop = uvloop.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.loop.set_exception_handler(self._unhandled)
        # why kept: the directory goes with the object.
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        root = Path(self._folder.name)
        place_models(root)
        host = ModelHost(OwnMetrics())
        self.manager = Manager((root,), LoadingRules(this_machine(), host=host), explicit=False)
        self.engine = Engine(
            self.manager, "triton", tracer=Tracer(), shared_memory=SharedMemory(enabled=True)
        )
        host.bind(self.engine, self.loop)
        if not self.loop.run_until_complete(self.manager.start(None)):
            raise Finding(f"the models do not load: {self.engine.index(failures=True)}")
        self.engine.started = True
        self.app = HttpApp(self.engine, INPUT_LIMIT)
        self.connection_owner = ConnectionOwner(Service(self.engine))
        self._told_status = http_errors.status_of
        http_errors.status_of = self._status_of

    def _status_of(self, error: Exception) -> int:
        if not isinstance(error, RuntimeFault | HttpRefusal):
            self.surprises.seen.append(f"{type(error).__name__}: {error}")
        return self._told_status(error)

    def _unhandled(self, _loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = traceback.format_exception(error) if error else [context["message"]]
        self.surprises.seen.append("".join(told))

    # --- driving ---------------------------------------------------------------------------

    def within(self, step: Callable[[], None]) -> None:
        """Run ``step`` in the loop, as a transport would; what it raises is raised."""
        raised: list[BaseException] = []

        def run() -> None:
            try:
                step()
            except BaseException as error:  # why so wide: the loop would only log it
                raised.append(error)

        self.loop.call_soon(run)
        self.turn()
        if raised:
            raise raised[0]

    def turn(self) -> None:
        """One turn of the loop."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def settle(self, idle: Callable[[], bool], timeout_s: float) -> bool:
        """Run the loop until ``idle``; False where it took too long."""
        deadline = time.monotonic() + timeout_s
        turns = 0
        while not idle():
            if time.monotonic() > deadline:
                return False
            if turns < 10:
                self.loop.call_soon(self.loop.stop)
            else:
                self.loop.call_later(0.0005, self.loop.stop)  # lets the models' threads run
            self.loop.run_forever()
            turns += 1
        return True

    def finish(self, connection: Any, what: str, *, answered: bool = False) -> None:
        """Wait for the answers, hang up, and see that nothing stays behind.

        With ``answered`` it is a finding when they do not come.
        """
        idle = self.settle(lambda: connection.idle, _HANG_S if answered else _HANG_UP_S)
        if answered and not idle:
            raise Finding(f"not answered: {what}")
        self.within(lambda: connection.connection_lost(None))
        if not self.settle(lambda: not self.pending, _HANG_S):
            raise Finding(f"requests stay in the queues of {self.pending}: {what}")
        self.turn()
        if self.surprises.seen:
            seen, self.surprises.seen = self.surprises.seen, []
            raise Finding(f"{what}: {seen[0]}")

    @property
    def pending(self) -> list[str]:
        return [v.name for v in self.manager.versions if v.scheduler.pending]


class ConnectionOwner:
    """The owner of gRPC connections."""

    compressed = frozenset[str]()
    options = GrpcOptions(keepalive=Keepalive(max_ping_strikes=0))

    def __init__(self, service: Service) -> None:
        self.service = service
        self.admission = ConnectionAdmission(ConnectionLimits(), Refusals())
        self.turns = Turns()

    def joined(self, connection: http2.Connection) -> None: ...

    def left(self, connection: http2.Connection) -> None: ...


def place_models(root: Path) -> None:
    for kind in _TYPES:
        tensor = f"data_type: TYPE_{kind} dims: [ -1 ]"
        builtin_models.place(
            root,
            f"id_{kind.lower()}",
            'backend: "identity"\nmax_batch_size: 4\n'
            f'input {{ name: "INPUT0" {tensor} }}\noutput {{ name: "OUTPUT0" {tensor} }}\n'
            "dynamic_batching { }\ninstance_group { count: 1 kind: KIND_CPU }\n",
        )
    builtin_models.place(root, "fixed", builtin_models.IDENTITY.replace("-1", "4"))
    builtin_models.place(root, "seq", _SEQUENCES)
    builtin_models.place(root, "square", builtin_models.SQUARE)
    onnx_models.save(root, "simple", onnx_models.add_sub(), "max_batch_size: 8\n")


def counted() -> dict[str, int]:
    """What a leak would make grow."""
    gc.collect()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "objects": len(gc.get_objects()),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": int(status["Threads"]),
        "KiB of memory": int(status["VmRSS"].split()[0]),
    }


def is_json(text: bytes) -> bool:
    """Bytes of names and ids that are not UTF-8 come back as they were, as in Triton."""
    try:
        json.loads(text.decode("utf-8", "surrogateescape"))
    except ValueError:
        return False
    return True
