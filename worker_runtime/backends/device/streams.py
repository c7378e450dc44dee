"""Streams and events of a device; on the CPU the same steps happen one after the other."""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

import torch

_NS_PER_MS = 1_000_000
_SLOWLY = 3  # an eighth of what is new
_CROSSING_NS = 200_000  # from one thread to the loop and from there to another one
_MOST_SHAPES = 1024


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

    def past(self) -> bool:
        """The device has come to it."""
        return self.event is None or bool(self.event.query())

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
    """Executions and loads beside one another, and captures of CUDA graphs beside nothing.

    why: ONNX Runtime captures in the mode in which any other thread's allocation or wait, of
    whatever model, makes the capture fail.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = self._loads = 0
        self._capturing = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """An execution: captures wait for its end."""
        with self._changed:
            while self._capturing:
                self._changed.wait()
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def load(self) -> Iterator[None]:
        """A load, which may take minutes: nothing is captured meanwhile."""
        with self._changed:
            while self._capturing:
                self._changed.wait()
            self._loads += 1
        try:
            yield
        finally:
            with self._changed:
                self._loads -= 1

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """A capture; False where there is a load, and it is not the time for one."""
        with self._changed:
            while self._capturing:
                self._changed.wait()
            free = not self._loads
            self._capturing = free  # nobody begins any more
            while free and self._running:
                self._changed.wait()
        try:
            yield free
        finally:
            if free:
                with self._changed:
                    self._capturing = False
                    self._changed.notify_all()


CAPTURES = _Captures()


class Forecast:
    """When the next batch of an instance should come, so that the device need not wait for it.

    From how long batches of the same shapes took before, and how long a batch takes until it is
    given to the device. Used in the instance's turn (``started``) and in any thread (``ended``).
    """

    def __init__(self) -> None:
        self._took: dict[object, int] = {}
        self._under_way: deque[int] = deque()  # what those are expected to take, the first first
        self._ends_ns = 0
        self._lead_ns = 0

    def started(self, shapes: object, arrived_ns: int, now_ns: int) -> int:
        """A batch is given to the device at ``now_ns``: when the next one should come.

        0, at once, where batches of these shapes have not been seen.
        """
        self._lead_ns += (now_ns - arrived_ns - self._lead_ns) >> _SLOWLY
        took_ns = self._took.get(shapes)
        self._under_way.append(took_ns or 0)
        self._ends_ns = max(now_ns, self._ends_ns) + (took_ns or 0)
        return 0 if took_ns is None else self._ends_ns - self._lead_ns - _CROSSING_NS

    def failed(self) -> None:
        """Nothing is under way any more."""
        self._under_way.clear()
        self._ends_ns = 0

    def ended(self, shapes: object, compute_ns: int, now_ns: int) -> None:
        """The first of those under way has computed.

        The shortest time so far counts, and is forgotten slowly: who comes too early waits a
        little, for who comes too late the device has waited.
        """
        if self._under_way:
            self._under_way.popleft()
        self._ends_ns = now_ns + sum(self._under_way)
        if len(self._took) >= _MOST_SHAPES:
            self._took.clear()
        before = self._took.get(shapes, compute_ns)
        self._took[shapes] = min(compute_ns, before + ((compute_ns - before) >> _SLOWLY))


class Turn:
    """The stream on which one model instance computes, and whose turn it is to give it work.

    Batches compute in the order in which they got their turn, so that a model that keeps a state
    never sees two at once.
    """

    def __init__(self, device: torch.device) -> None:
        self.stream = Stream(device)
        self.lock = threading.Lock()
        self.forecast = Forecast()
        self.device_lost = False  # CUDA's context is broken, as after an illegal access
