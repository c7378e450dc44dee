"""Takes a sample of the requests, with their answers, and hands it to a thread that writes it.

Nobody waits for it: copies of a sampled request's tensors go through a queue that is bounded in
bytes, and what does not fit is dropped and counted.
"""

import logging
import math
import random
import threading
import time
from collections import deque
from collections.abc import Iterator
from time import time_ns
from typing import Final

from worker_runtime.observability.capture.records import Record, Recorder
from worker_runtime.observability.capture.settings import CaptureConfig
from worker_runtime.observability.capture.spool import Spool
from worker_runtime.observability.metrics.text import Family
from worker_runtime.types.request import Arrays, InferRequest, Response, Sink

logger = logging.getLogger(__name__)

QUEUE_BYTES: Final = 16 * 2**20
PAUSE_S: Final = 0.05
_END_S: Final = 5.0  # for what is still queued when the server ends


class Capture:
    """``due`` and ``watch`` belong to the event loop; what they hand on is written by a thread."""

    def __init__(self, config: CaptureConfig) -> None:
        """Raises InvalidArgument for a directory that cannot be made."""
        self._recorder = Recorder(config)
        self._spool = Spool(config.directory, config.settings.roll_seconds)
        self._rate = config.settings.sampling_rate
        self._skip = self._gap()
        self._waiting: deque[Record] = deque()
        self._ending = threading.Event()
        # why two: each is written by one thread only, so that neither needs a lock
        self._put_bytes = self._taken_bytes = 0
        self._queue_dropped = self._told_dropped = 0
        self.written = self._spool_dropped = 0
        self._thread = threading.Thread(target=self._write, name="capture", daemon=True)

    @property
    def dropped(self) -> int:
        return self._queue_dropped + self._spool_dropped

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what is queued and finish the file. Blocks for some seconds at most."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(_END_S)

    def due(self) -> bool:
        """Whether this request is one of the sample."""
        if self._skip:
            self._skip -= 1
            return False
        self._skip = self._gap()
        return True

    def _gap(self) -> int:
        """How many requests to pass over: as if each one was drawn for, at the price of one."""
        if self._rate >= 1:
            return 0
        return int(math.log(1.0 - random.random()) / math.log1p(-self._rate))  # noqa: S311

    def watch(self, request: InferRequest) -> None:
        """Copy its inputs, and put a sink before its own that copies the answer."""
        record = self._recorder.begin(request, time_ns())
        request.sink = _CapturingSink(self, request.sink, record)

    def answered(self, record: Record, request: InferRequest, response: Response) -> None:
        if response.error is not None:
            record.error = type(response.error).__name__
        try:
            self._recorder.answered(
                record, request, response.names, response.arrays, response.types
            )
        except Exception:  # why: what is captured must never cost anybody an answer
            logger.exception("outputs %s could not be captured", response.names)

    def finish(self, record: Record) -> None:
        if self._put_bytes - self._taken_bytes + record.copied > QUEUE_BYTES:
            self._queue_dropped += 1
            return
        self._put_bytes += record.copied
        self._waiting.append(record)

    def collect(self) -> Iterator[Family]:
        """For Prometheus."""
        family = Family(
            "shoal_capture_records_total",
            "Requests of the captured sample: written to a file, or dropped for want of room",
            "counter",
        )
        family.add({"outcome": "written"}, self.written)
        family.add({"outcome": "dropped"}, self.dropped)
        yield family

    def _write(self) -> None:
        # why by the clock: waking a thread for each record costs the loop more than the record does
        while not self._ending.wait(PAUSE_S):
            self._write_waiting()
        self._write_waiting()
        self._spool.roll()

    def _write_waiting(self) -> None:
        while self._waiting:
            self._write_one(self._waiting.popleft())
            time.sleep(0)  # the loop goes first: many records at once must not hold up requests
        self._tell_dropped()
        if self._spool.due_s == 0:
            self._spool.roll()

    def _write_one(self, record: Record) -> None:
        self._taken_bytes += record.copied
        try:
            line = self._recorder.line(record)
        except Exception:  # why: one odd tensor must not end capture
            logger.exception("a request of model '%s' could not be captured", record.model)
            taken = self._spool.drop()
        else:
            taken = self._spool.write(line, record.time_ns)
        if taken:
            self.written += 1
        else:
            self._spool_dropped += 1

    def _tell_dropped(self) -> None:
        """Of what was dropped in the loop the next file tells, too."""
        lost = self._queue_dropped - self._told_dropped
        if lost:
            self._told_dropped += lost
            self._spool.drop(lost)


class _CapturingSink:
    """Stands before a sampled request's sink, so that nobody else need know of capture."""

    __slots__ = ("_capture", "_record", "_sink")

    def __init__(self, capture: Capture, sink: Sink, record: Record) -> None:
        self._capture = capture
        self._sink = sink
        self._record = record

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        request.sink = self._sink
        answer = Response(request.plan.outputs, outputs)
        # why before: what an answer is written from may be another's soon
        self._capture.answered(self._record, request, answer)
        self._capture.finish(self._record)
        self._sink.deliver(request, outputs)

    def fail(self, request: InferRequest, error: Exception) -> None:
        request.sink = self._sink
        self._record.error = type(error).__name__
        self._capture.finish(self._record)
        self._sink.fail(request, error)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if response is not None:
            self._capture.answered(self._record, request, response)
        if final:
            request.sink = self._sink
            self._capture.finish(self._record)
        self._sink.respond(request, response, final=final)
