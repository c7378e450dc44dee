"""Clients' device memory that the server lends to this process by its handle.

A region is opened when a model first touches it, once, and stays open until the server says that
it leaves, and nothing of the model's is there any more.
"""

import gc
import sys
import threading
import time
import weakref
from typing import Any, Optional

import numpy as np

from . import cuda
from .channel import Channel, Closed
from .dlpack import CapsuleTensor, capsule_of, host_bytes
from .memory import lent
from .objects import InferenceRequest
from .session import Session
from .tensors import Tensor

_FIRST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.05

# number, offset, size, DLPack's type of device, its number, handle
Place = "tuple[int, int, int, int, int, bytes]"


class _Region:
    """``users`` are those that read or write there, or may."""

    def __init__(self, device: int, handle: bytes) -> None:
        self.device = device
        self.users: weakref.WeakSet[Part] = weakref.WeakSet()
        self._handle = handle
        self._address = 0
        self._lock = threading.Lock()

    def address(self) -> int:
        """Raises RuntimeError where CUDA does not open it."""
        with self._lock:
            if not self._address:
                self._address = cuda.open_memory(self.device, self._handle)
            return self._address

    def close(self) -> None:
        """Raises RuntimeError."""
        with self._lock:
            if self._address:
                address, self._address = self._address, 0
                cuda.close_memory(self.device, address)


class Part:
    """Some bytes of a region, which stays open for as long as this is kept."""

    def __init__(self, region: _Region, place: Any) -> None:
        _, offset, size, kind, number, _ = place
        self._offset: int = offset
        self.size: int = size
        self.device = (kind, number)
        self.region = region
        region.users.add(self)

    def address(self) -> int:
        """Raises RuntimeError."""
        return self.region.address() + self._offset

    def fill(self, tensor: Tensor) -> int:
        """Copy an output here, on the device: its size, -1 for one that is not there or too large.

        Raises RuntimeError when CUDA fails.
        """
        found = _memory(tensor)
        if found is None or found.device != self.device or found.nbytes > self.size:
            return -1
        if found.nbytes:
            cuda.copy_on_device(
                self.device[1],
                self.address(),
                found.address,
                found.nbytes,
                # why: a bare capsule does not tell on which stream it is made
                after_all=isinstance(tensor._foreign, CapsuleTensor),
            )
        return int(found.nbytes)


class RegionTensor:
    """A tensor there, for DLPack. Its client wrote it before it asked: any stream may read."""

    def __init__(self, part: Part, datatype: str, shape: "list[int]") -> None:
        self._part = part
        self.dtype = datatype
        self.shape = list(shape)
        self.nbytes = part.size

    def is_contiguous(self) -> bool:
        return True

    def __dlpack_device__(self) -> "tuple[int, int]":
        return self._part.device

    def __dlpack__(self, **options: Any) -> Any:
        wanted = options.get("dl_device")
        if options.get("copy") or wanted not in (None, self._part.device):
            raise BufferError("a tensor in a client's device memory is not copied by DLPack")
        part = self._part
        return capsule_of(part.address(), self.dtype, self.shape, part.device, part)

    def get(self) -> "np.ndarray[Any, Any]":
        """A copy of its bytes on the host. Raises RuntimeError."""
        return host_bytes(self._part.device[1], self._part.address(), self.nbytes)


class Regions:
    """All that are lent to this process. Used in any thread."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._open: dict[int, _Region] = {}

    def read(self, data: "dict[str, Any]", session: Session) -> InferenceRequest:
        """A request, of which some inputs may be there and some outputs wanted there."""
        request = InferenceRequest.read(data, session)
        places = data.get("places")
        if places:
            request._inputs = [
                self._tensor(tensor, places[tensor._name]) if tensor._name in places else tensor
                for tensor in request._inputs
            ]
        windows = data.get("windows")
        if windows:
            request._windows = {name: self._part(place) for name, place in windows.items()}
        return request

    def _tensor(self, tensor: Tensor, place: Any) -> Tensor:
        found = RegionTensor(self._part(place), tensor._datatype, tensor._shape)
        return Tensor.on_device(tensor._name, found)

    def _part(self, place: Any) -> Part:
        region = self._open.get(place[0])
        if region is None:
            region = self._open[place[0]] = _Region(place[4], place[5])
        return Part(region, place)

    def leaves(self, number: int) -> None:
        """The server wants it back, as soon as nothing is there any more."""
        region = self._open.pop(number, None)
        if region is not None and region.users:
            # why a thread that looks: what lets go last may do so in any thread, inside anything
            watch = threading.Thread(target=self._wait, args=(number, region), daemon=True)
            watch.start()
            return
        self._give_back(number, region)

    def _wait(self, number: int, region: _Region) -> None:
        pause_s = _FIRST_PAUSE_S
        while region.users:
            time.sleep(pause_s)
            if pause_s < _LONGEST_PAUSE_S <= 2 * pause_s:
                gc.collect()  # once: what a model left in a circle
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        try:
            self._give_back(number, region)
        except Closed:
            return  # the server has gone, and its loans with it

    def _give_back(self, number: int, region: "Optional[_Region]") -> None:
        """Raises Closed."""
        if region is not None:
            try:
                region.close()
            except RuntimeError as error:
                # why given back all the same: nobody here uses it, and more cannot be done
                sys.stderr.write(f"a client's device memory was not closed: {error}\n")
        self._channel.window.released.append(lent(number))
        self._channel.send({"op": "given_back"})


class _HostArray:
    """Where an array is; only on the CPU's double of a device is that where a window is."""

    def __init__(self, array: "np.ndarray[Any, Any]") -> None:
        self.device = (1, 0)
        self.address = array.ctypes.data
        self.nbytes = array.nbytes


def _memory(tensor: Tensor) -> Any:
    """Where a tensor's bytes are, None for texts and for what has no such place."""
    if tensor._datatype == "BYTES":
        return None
    if tensor._foreign is not None:
        try:
            # why -1: what is to be waited for was told when the tensor was made
            return CapsuleTensor(tensor._foreign.__dlpack__(stream=-1))
        except (AttributeError, BufferError, TypeError, ValueError):
            return None  # a library that knows no such stream: it goes by way of the host
    array = tensor._raw if tensor._raw is not None else tensor._array
    return None if array is None else _HostArray(array)
