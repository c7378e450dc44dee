"""The access log: a JSON line for each inference request that reached a model."""

import sys
from pathlib import Path
from time import monotonic_ns, time_ns
from typing import Any, TextIO

import msgspec

from worker_runtime.types.request import Arrays, InferRequest, Response, Sink

_US = 1000


class AccessLog:
    """``target`` is a file, or "-" for stderr. Raises OSError when it cannot be opened."""

    def __init__(self, target: str) -> None:
        self._stream: TextIO = sys.stderr
        if target != "-":
            self._stream = Path(target).open("a", buffering=1, encoding="utf-8")  # noqa: SIM115

    def watch(self, request: InferRequest, protocol: str) -> "Watched":
        """Write a line when the request has ended; its sink is replaced by one that looks."""
        watched = Watched(self, request, protocol)
        request.sink = watched
        return watched

    def write(self, line: dict[str, Any]) -> None:
        self._stream.write(msgspec.json.encode(line).decode() + "\n")

    def close(self) -> None:
        if self._stream is not sys.stderr:
            self._stream.close()


def access_log(target: str) -> AccessLog | None:
    """None for "". Raises OSError."""
    return AccessLog(target) if target else None


class Watched:
    """Stands before a request's sink and notes what passes: statuses, bytes of tensors, times."""

    __slots__ = ("_bytes_in", "_bytes_out", "_log", "_protocol", "_responses", "_sink", "_status")

    def __init__(self, log: AccessLog, request: InferRequest, protocol: str) -> None:
        self._log = log
        self._sink: Sink = request.sink
        self._protocol = protocol
        self._status = "OK"
        self._responses = 0
        self._bytes_in = sum(_size(buffer) for buffer in request.inputs)
        self._bytes_out = 0

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self._note(outputs)
        try:
            self._sink.deliver(request, outputs)
        finally:
            self._end(request)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if response is not None:
            self._note(response.arrays)
            if response.error is not None:
                self._status = type(response.error).__name__
        try:
            self._sink.respond(request, response, final=final)
        finally:
            if final:
                self._end(request)

    def fail(self, request: InferRequest, error: Exception) -> None:
        self._status = type(error).__name__
        try:
            self._sink.fail(request, error)
        finally:
            self._end(request)

    def refused(self, request: InferRequest, error: Exception) -> None:
        """Nobody took the request: its sink will not be called."""
        self._status = type(error).__name__
        self._end(request)

    def _note(self, arrays: Arrays) -> None:
        self._responses += 1
        self._bytes_out += sum(_size(array) for array in arrays)

    def _end(self, request: InferRequest) -> None:
        now = monotonic_ns()
        line: dict[str, Any] = {
            "time": time_ns() // 1000 / 1e6,
            "id": request.id,
            "model": request.model.name,
            "version": request.model.version,
            "protocol": self._protocol,
            "status": self._status,
            "rows": request.plan.rows,
            "responses": self._responses,
            "request_bytes": self._bytes_in,
            "response_bytes": self._bytes_out,
            "total_us": (now - request.arrived_ns) // _US if request.arrived_ns else 0,
        }
        if request.timings is not None:
            start, fed, computed, end = request.timings
            line["queue_us"] = (start - request.queued_ns) // _US
            line["compute_input_us"] = (fed - start) // _US
            line["compute_infer_us"] = (computed - fed) // _US
            line["compute_output_us"] = (end - computed) // _US
        self._log.write(line)


def _size(buffer: Any) -> int:
    """Bytes of a tensor; an array of strings counts its texts."""
    if getattr(buffer, "dtype", None) is not None and buffer.dtype.hasobject:
        return sum(len(item) for item in buffer.reshape(-1))
    return int(getattr(buffer, "nbytes", 0)) or len(buffer)
