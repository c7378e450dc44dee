"""How requests end: counted, then told to their sinks. Everything here runs in the event loop."""

import logging
from collections.abc import Sequence
from time import monotonic_ns, time_ns
from zlib import crc32

from worker_runtime.core.statistics import FailureReason, Statistics
from worker_runtime.errors import BackendFailed, GpuMemoryFull, RuntimeFault
from worker_runtime.observability.requests.watched import RANDOM, VERSION_AT, answered, ended
from worker_runtime.types.gpu_memory import gpu_memory_ran_out
from worker_runtime.types.request import Arrays, InferRequest, Response

logger = logging.getLogger(__name__)
Times = tuple[int, int, int, int]  # start, input end, compute end, output end: monotonic ns


def backend_fault(error: Exception) -> RuntimeFault:
    """Whatever a model raised, as a fault that clients may see."""
    if isinstance(error, RuntimeFault):
        return error
    return BackendFailed(str(error) or type(error).__name__)


class Answers:
    """The ends of one model version's requests. A broken sink never costs others their answers."""

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        self._full_at = -1  # start of the last execution for which a GPU had no memory

    def awaits(self, request: InferRequest) -> bool:  # noqa: ARG002 # for those that tell apart
        """Somebody waits for its answer; a scheduler may fill up batches with what nobody sent."""
        return True

    def count(self, done: Sequence[InferRequest], times: Times, batch_rows: int = 0) -> None:
        """The requests of one execution that succeeded; ``batch_rows`` when others did not."""
        rows = arrived = queued = 0
        for request in done:
            rows += request.plan.rows
            arrived += request.arrived_ns
            queued += request.queued_ns
            request.timings = times
        if len(done) > 1:
            for request in done:
                request.batch = len(done)
        self.statistics.executed(
            requests=len(done),
            rows=rows,
            arrived_sum=arrived,
            queued_sum=queued,
            times=times,
            now_ms=time_ns() // 1_000_000,
            batch_rows=batch_rows,
            each=done,
        )

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        try:
            request.sink.deliver(request, outputs)
        except Exception:  # why: one broken connection must not cost the others their answers
            logger.exception("an answer with %s could not be written", request.plan.outputs)
        watched = request.watched
        # why asked from here: nearly all requests end so, and nobody wants to know of them
        if watched is not None and (
            monotonic_ns() - request.arrived_ns > watched.slower_than
            or (
                found[-1] not in watched.skipped
                if (found := request.x_request_id)[VERSION_AT] == RANDOM
                else crc32(found, watched.salt) < watched.ranked_below
            )
        ):
            watched.ended(request)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        try:
            request.sink.respond(request, response, final=final)
        except Exception:
            logger.exception("an answer with %s could not be written", request.plan.outputs)
        answered(request, response, final=final)

    def fail(self, request: InferRequest, fault: RuntimeFault, reason: FailureReason) -> None:
        """Count the failure and report it."""
        self.statistics.failed(reason, monotonic_ns() - request.arrived_ns)
        self.send_error(request, fault)

    def execution_failed(self, fault: RuntimeFault, start: int) -> None:
        """Count an execution, begun at `start`, whose GPU had no memory left for it; once."""
        if start == self._full_at:
            return
        if isinstance(fault, GpuMemoryFull) or gpu_memory_ran_out(str(fault)):
            self._full_at = start
            self.statistics.gpu_out_of_memory_count += 1

    def send_error(self, request: InferRequest, fault: RuntimeFault) -> None:
        """Report a failure that is counted already, or does not count."""
        try:
            request.sink.fail(request, fault)
        except Exception:
            logger.exception("an error could not be written")
        ended(request, fault)
