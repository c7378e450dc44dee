"""Streams and events of a device; on the CPU the same steps happen one after the other."""

import contextlib
import os
import threading
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

import torch

_NS_PER_MS = 1_000_000


def memory_of(device: torch.device) -> int:
    """All the bytes that a device has."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class Moment:
    """A point in the order of a stream."""

    def __init__(self, event: Any = None) -> None:
        self.event = event
        self._now_ns = 0 if event is not None else perf_counter_ns()

    def wait(self) -> None:
        """Return when the device has come to it. Other threads run meanwhile."""
        if self.event is not None:
            self.event.synchronize()

    def until(self, later: "Moment") -> int:
        """Nanoseconds on the device from this moment to a ``later`` one; both are past."""
        if self.event is None or later.event is None:
            return later._now_ns - self._now_ns
        return int(self.event.elapsed_time(later.event) * _NS_PER_MS)


class Stream:
    """What is given to one stream happens in its order, beside that of other streams."""

    def __init__(self, device: torch.device) -> None:
        made: Any = torch.cuda.Stream
        self._stream = made(device) if device.type == "cuda" else None

    @property
    def handle(self) -> int:
        """The address that other libraries know it by, 0 on the CPU."""
        return int(self._stream.cuda_stream) if self._stream is not None else 0

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """PyTorch's work of this thread goes to it."""
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield

    def mark(self) -> Moment:
        if self._stream is None:
            return Moment()
        make: Any = torch.cuda.Event
        event = make(enable_timing=True)
        event.record(self._stream)
        return Moment(event)

    def after(self, moment: Moment) -> None:
        """What comes next waits, on the device, for a moment of another stream."""
        if self._stream is not None and moment.event is not None:
            self._stream.wait_event(moment.event)

    def drain(self) -> None:
        """Wait for all that it was given."""
        if self._stream is not None:
            self._stream.synchronize()


class _Captures:
    """Executions beside one another, and captures of CUDA graphs beside nothing.

    why: ONNX Runtime captures in the mode in which any other thread's allocation or wait, of
    whatever model, makes the capture fail.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._capturing = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            while self._capturing:
                self._changed.wait()
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                if not self._running:
                    self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            while self._capturing:
                self._changed.wait()
            self._capturing = True  # nobody begins any more
            while self._running:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._capturing = False
                self._changed.notify_all()


CAPTURES = _Captures()


class Turn:
    """The stream on which one model instance computes, and whose turn it is to give it work.

    Batches compute in the order in which they got their turn, so that a model that keeps a state
    never sees two at once.
    """

    def __init__(self, device: torch.device) -> None:
        self.stream = Stream(device)
        self.lock = threading.Lock()
