"""Clients' device memory in a model's process: lent by handle, taken back when it is unregistered.

The process opens the memory itself. As long as it may, the region stays open here, too: the loan
ends when the process says so, or ends.
"""

import contextlib
import threading
from collections.abc import Mapping
from typing import Any

from worker_runtime.backends.base import BackendRequest
from worker_runtime.backends.python.process import StubProcess
from worker_runtime.backends.python.stub.shoal_stub.channel import Closed
from worker_runtime.types.device_memory import DeviceBuffer, DeviceWindow, SharedRegion
from worker_runtime.types.request import PlannedInput

DLPACK_DEVICE = 2  # kDLCUDA, as models see the memory

# number of the loan, offset, size, DLPack's type of device, its number, handle
Place = tuple[int, int, int, int, int, bytes]


class RegionLoans:
    """Of one process. ``sending`` is held from ``place`` until the message with it is sent.

    A region that is unregistered meanwhile is therefore taken back behind the message that says
    where it is, never before.
    """

    def __init__(self, process: StubProcess) -> None:
        self.process = process
        self._numbers: dict[int, tuple[SharedRegion, int]] = {}  # by the region's id
        self._lock = threading.Lock()
        self.sending = threading.Lock()

    def place(self, part: DeviceBuffer | DeviceWindow, size: int) -> Place | None:
        """Where the model's process finds it; None for memory that is no client's."""
        region, offset = part.place
        handle: bytes = getattr(region, "handle", b"")
        if not handle:
            return None
        return (self._number(region), offset, size, DLPACK_DEVICE, part.device_id, handle)

    def _number(self, region: SharedRegion) -> int:
        with self._lock:
            known = self._numbers.get(id(region))
            if known is not None:
                return known[1]
            number = self.process.channel.arena.lend(region.lend())
            self._numbers[id(region)] = (region, number)
        if region.lend_to(self):
            self.region_leaves(region)
        return number

    def region_leaves(self, region: SharedRegion) -> None:
        """Called in the event loop, which must not wait for the process to read."""
        with self._lock:
            known = self._numbers.pop(id(region), None)
        if known is not None:
            name = f"region-leaves-{self.process.pid}"
            threading.Thread(
                target=self._take_back, args=(known[1],), name=name, daemon=True
            ).start()

    def _take_back(self, number: int) -> None:
        with self.sending, contextlib.suppress(Closed):  # then it holds nothing any more
            self.process.send({"op": "region_leaves", "region": number})


def inputs_on_device(request: BackendRequest, loans: RegionLoans) -> dict[str, Place]:
    """The inputs of a request that its model gets where they are, by name."""
    found = {}
    source = request.source
    for item, buffer in zip(source.plan.inputs, source.inputs, strict=True):
        if isinstance(buffer, DeviceBuffer) and _is_sound(buffer, item):
            place = loans.place(buffer, buffer.nbytes)
            if place is not None:
                found[item.name] = place
    return found


def _is_sound(buffer: DeviceBuffer, item: PlannedInput) -> bool:
    """A kernel may read it where it is; what is not goes by way of the host.

    why: one that reads numbers at odd addresses, or behind the end, costs the process its device.
    """
    size = item.datatype.item_size
    return bool(size) and not buffer.pointer % size and buffer.nbytes == item.byte_size


def windows_of(request: BackendRequest, loans: RegionLoans) -> dict[str, Place]:
    """Where the model's process may copy outputs itself. A trace sees them on the host."""
    windows = request.source.device_windows
    if not windows or request.trace is not None:
        return {}
    found = {}
    for name, window in windows.items():
        place = loans.place(window, window.byte_size)
        if place is not None:
            found[name] = place
    return found


def note_placed(request: BackendRequest, data: Mapping[str, Any] | None) -> None:
    """The outputs that the process has copied to where its client wants them."""
    windows = request.source.device_windows
    for name in (data or {}).get("placed", ()):
        if windows and name in windows:
            windows[name].filled = True
