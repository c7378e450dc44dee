"""Counters of one model version. Written once per batch in the event loop, read by scrapes."""

from bisect import bisect_left
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from worker_runtime.observability.metrics.latency import BOUNDS, Histogram, Latencies, Summaries
from worker_runtime.types.request import InferRequest

_US = 1000
# Indices of answers that are told apart; those of longer streams count with the last.
MOST_RESPONSES = 1024
# Models that one calls (BLS) are told apart up to so many; their names may come from its requests.
MOST_CALLEES = 100
LONGEST_CALLEE = 256


class FailureReason(StrEnum):
    REJECTED = "REJECTED"
    CANCELED = "CANCELED"
    BACKEND = "BACKEND"
    OTHER = "OTHER"


class BatchCount:
    """Executions of one batch size; durations are sums over executions."""

    # why no Struct, here and below: its attributes take two and a half times as long to set, and
    # each request sets fifteen of these.
    __slots__ = ("count", "infer_ns", "input_ns", "output_ns")

    def __init__(
        self, count: int = 0, input_ns: int = 0, infer_ns: int = 0, output_ns: int = 0
    ) -> None:
        self.count = count
        self.input_ns = input_ns
        self.infer_ns = infer_ns
        self.output_ns = output_ns


class ResponseCount:
    """Answers of one index (0 is a request's first) of a decoupled model; sums in nanoseconds.

    The last of ``MOST_RESPONSES`` has all answers from it on.
    """

    __slots__ = (
        *("cancel_count", "cancel_ns", "empty_count", "empty_ns", "fail_count", "fail_ns"),
        *("infer_count", "infer_ns", "output_count", "output_ns", "success_count", "success_ns"),
    )

    def __init__(self) -> None:
        self.infer_count = 0
        self.infer_ns = 0
        self.output_count = 0
        self.output_ns = 0
        self.success_count = 0
        self.success_ns = 0
        self.fail_count = 0
        self.fail_ns = 0
        self.empty_count = 0
        self.empty_ns = 0
        self.cancel_count = 0
        self.cancel_ns = 0


class CallCount:
    """Calls (BLS) of one model that have ended; ``total_ns`` is the sum of their durations.

    ``failed`` are those of which an answer was an error. ``last_ms`` is when the last one ended, in
    Unix milliseconds.
    """

    __slots__ = ("count", "failed", "last_ms", "total_ns")

    def __init__(self) -> None:
        self.count = 0
        self.failed = 0
        self.total_ns = 0
        self.last_ms = 0


class ResponseEnd(StrEnum):
    SUCCESS = "success"
    FAIL = "fail"
    EMPTY = "empty"
    CANCEL = "cancel"


class MemoryUsage(Struct, frozen=True):
    """``kind`` is CPU, CPU_PINNED or GPU."""

    kind: str
    device: int
    byte_size: int


class Statistics:
    """``*_ns`` are sums over requests; the time of a batch counts for each request in it.

    ``summaries`` and ``first_response`` are kept only where they were asked for. ``elsewhere`` has
    the requests that wait in copies of the model in other processes, by whose copy it is.
    """

    __slots__ = (
        *("batches", "cache_hit_count", "cache_hit_ns", "cache_miss_count", "cache_miss_ns"),
        "calls",
        "elsewhere",
        *("execution_count", "fail_count", "fail_ns", "failures", "first_response"),
        *(
            "error_answer_count",
            "gpu_out_of_memory_count",
            "infer_ns",
            "input_ns",
            "last_inference_ms",
            "latencies",
        ),
        *("load_duration_s", "memory", "output_ns", "queue_ns", "responses", "row_count"),
        *("success_count", "success_ns", "summaries"),
    )

    def __init__(self, load_duration_s: float = 0.0) -> None:
        self.success_count = 0
        self.success_ns = 0
        self.fail_count = 0
        self.fail_ns = 0
        self.queue_ns = 0
        self.input_ns = 0
        self.infer_ns = 0
        self.output_ns = 0
        self.row_count = 0
        self.execution_count = 0
        self.cache_hit_count = 0
        self.cache_hit_ns = 0
        self.cache_miss_count = 0
        self.cache_miss_ns = 0
        self.last_inference_ms = 0
        self.gpu_out_of_memory_count = 0  # executions
        # Requests that a model answered with an error of its own: as in Triton, each is a success.
        self.error_answer_count = 0
        self.load_duration_s = load_duration_s
        self.failures = dict.fromkeys(FailureReason, 0)
        self.batches: dict[int, BatchCount] = {}
        self.responses: dict[int, ResponseCount] = {}
        self.elsewhere: dict[int, int] = {}
        self.calls: dict[str, CallCount] = {}  # that the model made, by the name of the callee
        self.memory: tuple[MemoryUsage, ...] = ()
        self.latencies = Latencies()
        self.summaries: Summaries | None = None
        self.first_response: Histogram | None = None

    def executed(
        self,
        *,
        requests: int,
        rows: int,
        arrived_sum: int,
        queued_sum: int,
        times: tuple[int, int, int, int],
        now_ms: int,
        batch_rows: int = 0,
        each: Sequence[InferRequest] = (),
    ) -> None:
        """One batch succeeded; ``times`` are start, input end, compute end, output end (ns).

        ``batch_rows`` are the rows that ran when some of them belong to requests that failed.
        ``each`` are the requests where there are several: their latencies differ.
        """
        start, input_end, infer_end, end = times
        input_ns, infer_ns, output_ns = input_end - start, infer_end - input_end, end - infer_end
        self.success_count += requests
        self.success_ns += requests * end - arrived_sum
        self.queue_ns += requests * start - queued_sum
        self.input_ns += requests * input_ns
        self.infer_ns += requests * infer_ns
        self.output_ns += requests * output_ns
        self.row_count += rows
        self.execution_count += 1
        self.last_inference_ms = now_ms
        size = batch_rows or rows
        batch = self.batches.get(size)
        if batch is None:
            batch = self.batches[size] = BatchCount()
        batch.count += 1
        batch.input_ns += input_ns
        batch.infer_ns += infer_ns
        batch.output_ns += output_ns
        latencies = self.latencies
        latencies.compute_input[bisect_left(BOUNDS, input_ns)] += requests
        latencies.compute_infer[bisect_left(BOUNDS, infer_ns)] += requests
        latencies.compute_output[bisect_left(BOUNDS, output_ns)] += requests
        if requests == 1:
            latencies.request[bisect_left(BOUNDS, end - arrived_sum)] += 1
            latencies.queue[bisect_left(BOUNDS, start - queued_sum)] += 1
        else:
            request_counts, queue_counts = latencies.request, latencies.queue
            for request in each:
                request_counts[bisect_left(BOUNDS, end - request.arrived_ns)] += 1
                queue_counts[bisect_left(BOUNDS, start - request.queued_ns)] += 1
        if self.summaries is not None:
            pairs = [(arrived_sum, queued_sum)] if requests == 1 else _pairs(each)
            self._summarise(self.summaries, pairs, start, end, (input_ns, infer_ns, output_ns))

    def executed_alone(
        self, rows: int, arrived: int, queued: int, times: tuple[int, int, int, int], now_ms: int
    ) -> None:
        """``executed`` for one request that ran by itself: the commonest case, so the shortest."""
        if self.summaries is not None:
            self.executed(
                requests=1,
                rows=rows,
                arrived_sum=arrived,
                queued_sum=queued,
                times=times,
                now_ms=now_ms,
            )
            return
        start, input_end, infer_end, end = times
        input_ns, infer_ns, output_ns = input_end - start, infer_end - input_end, end - infer_end
        whole, waited, latencies = end - arrived, start - queued, self.latencies
        self.success_count += 1
        self.success_ns += whole
        self.queue_ns += waited
        self.input_ns += input_ns
        self.infer_ns += infer_ns
        self.output_ns += output_ns
        self.row_count += rows
        self.execution_count += 1
        self.last_inference_ms = now_ms
        batch = self.batches.get(rows)
        if batch is None:
            batch = self.batches[rows] = BatchCount()
        batch.count += 1
        batch.input_ns += input_ns
        batch.infer_ns += infer_ns
        batch.output_ns += output_ns
        first = BOUNDS[0]  # why: a comparison is cheaper than a search, and mostly enough
        latencies.compute_input[0 if input_ns <= first else bisect_left(BOUNDS, input_ns)] += 1
        latencies.compute_infer[0 if infer_ns <= first else bisect_left(BOUNDS, infer_ns)] += 1
        latencies.compute_output[0 if output_ns <= first else bisect_left(BOUNDS, output_ns)] += 1
        latencies.request[bisect_left(BOUNDS, whole)] += 1
        latencies.queue[0 if waited <= first else bisect_left(BOUNDS, waited)] += 1

    def _summarise(
        self,
        summaries: Summaries,
        pairs: Sequence[tuple[int, int]],
        start: int,
        end: int,
        computed: tuple[int, int, int],
    ) -> None:
        phases = summaries.phases
        for arrived, queued in pairs:
            phases["request"].observe(max(0, end - arrived) // _US)
            phases["queue"].observe(max(0, start - queued) // _US)
        names = ("compute_input", "compute_infer", "compute_output")
        for name, duration_ns in zip(names, computed, strict=True):
            phases[name].observe(max(0, duration_ns) // _US, len(pairs))

    @property
    def copies(self) -> int:
        """How often the model is in memory: here, and in other processes."""
        return 1 + len(self.elsewhere)

    def failed(self, reason: FailureReason, duration_ns: int) -> None:
        """One request ended without an answer."""
        self.fail_count += 1
        self.fail_ns += duration_ns
        self.failures[reason] += 1

    def called(self, callee: str, *, failed: bool, duration_ns: int, now_ms: int) -> None:
        """A call that the model made has ended. Callees beyond the most are not counted, nor are
        names that no model has."""
        calls = self.calls.get(callee)
        if calls is None:
            fit = len(callee) <= LONGEST_CALLEE and callee.isprintable()
            if not fit or len(self.calls) >= MOST_CALLEES:
                return
            calls = self.calls[callee] = CallCount()
        calls.count += 1
        calls.failed += failed
        calls.total_ns += duration_ns
        calls.last_ms = now_ms

    @property
    def rows(self) -> int:
        """Of how many batch sizes and answers these tell, and one."""
        return 1 + len(self.batches) + len(self.responses)

    def ends(self) -> int:
        """How many requests have ended, and answers of requests that go on: does it still work?"""
        answers = sum(row.infer_count + row.cancel_count for row in self.responses.values())
        return self.success_count + self.fail_count + answers

    def cache_hit(self, *, duration_ns: int, queue_ns: int, lookup_ns: int) -> None:
        """A request was answered by the response cache: a success that nothing executed."""
        self.success_count += 1
        self.success_ns += duration_ns
        self.queue_ns += queue_ns
        self.cache_hit_count += 1
        self.cache_hit_ns += lookup_ns
        self.latencies.request[bisect_left(BOUNDS, duration_ns)] += 1
        self.latencies.queue[bisect_left(BOUNDS, queue_ns)] += 1
        if self.summaries is not None:
            self.summaries.phases["queue"].observe(queue_ns // _US)
            self.summaries.cache_hit.observe(lookup_ns // _US)

    def cache_missed(self, duration_ns: int) -> None:
        """An executed request went into the cache; looking it up and keeping it took so long."""
        self.success_ns += duration_ns
        self.cache_miss_count += 1
        self.cache_miss_ns += duration_ns
        if self.summaries is not None:
            self.summaries.cache_miss.observe(duration_ns // _US)

    def responded(self, index: int, end: ResponseEnd, times: tuple[int, int, int]) -> None:
        """One answer of a decoupled model; ``times`` are start, output start, end (ns)."""
        start, output_start, stop = times
        index = min(index, MOST_RESPONSES - 1)
        row = self.responses.get(index)
        if row is None:
            row = self.responses[index] = ResponseCount()
        if end is ResponseEnd.CANCEL:
            row.cancel_count += 1
            row.cancel_ns += stop - start
            return
        row.infer_count += 1
        if end is ResponseEnd.EMPTY:
            row.infer_ns += stop - start
            row.empty_count += 1
            row.empty_ns += stop - start
            return
        row.infer_ns += output_start - start
        row.output_count += 1
        row.output_ns += stop - output_start
        if end is ResponseEnd.SUCCESS:
            row.success_count += 1
            row.success_ns += stop - start
        else:
            row.fail_count += 1
            row.fail_ns += stop - start


def _pairs(requests: Sequence[InferRequest]) -> list[tuple[int, int]]:
    return [(request.arrived_ns, request.queued_ns) for request in requests]
