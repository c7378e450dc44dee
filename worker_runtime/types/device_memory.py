"""Memory of a device, as requests and answers carry it: no byte of it is on the host."""

import math
from types import SimpleNamespace
from typing import Any, Final, Protocol

import numpy as np


class DeviceRegion(Protocol):
    """Memory on a device, of a client or our own. Raises Internal when the driver refuses."""

    device_id: int

    def pointer(self, offset: int) -> int:
        """The device address of a byte of it."""
        ...

    def read(self, offset: int, byte_size: int) -> memoryview:
        """A host copy; blocking."""
        ...

    def hold(self) -> Any:
        """Something that keeps the region open for as long as it is kept."""
        ...


class Lender(Protocol):
    """Another process's way to a region: it has opened the memory, or is about to."""

    def region_leaves(self, region: "SharedRegion") -> None:
        """It was unregistered: let go of it when nothing is in use there. Must not block."""
        ...


class SharedRegion(DeviceRegion, Protocol):
    """That of a client, who wants outputs there, and which other processes may open, too."""

    handle: bytes
    byte_size: int

    def lend(self) -> Any:
        """As ``hold``, for another process that opens it."""
        ...

    def lend_to(self, lender: Lender) -> bool:
        """Tell ``lender`` when the region is unregistered; True where it is already."""
        ...

    def write(self, offset: int, data: Any) -> None:
        """Copy a host buffer there; blocking."""
        ...


class _Part:
    """Of a region, which stays open for as long as this is held."""

    __slots__ = ("_hold", "_offset", "_region")

    def __init__(self, region: DeviceRegion, offset: int) -> None:
        self._region = region
        self._offset = offset
        self._hold = region.hold()

    @property
    def device_id(self) -> int:
        return self._region.device_id

    @property
    def pointer(self) -> int:
        return self._region.pointer(self._offset)

    @property
    def place(self) -> tuple[Any, int]:
        """The region, and where in it."""
        return self._region, self._offset


class DeviceBuffer(_Part):
    """An input that lies on a device; ``bytes()`` of it is a host copy, for whatever needs one.

    It is no buffer: numpy and ``bytes.join`` say TypeError to it, where few inputs are such.
    """

    __slots__ = ("nbytes",)

    def __init__(self, region: DeviceRegion, offset: int, byte_size: int) -> None:
        super().__init__(region, offset)
        self.nbytes = byte_size

    def __len__(self) -> int:
        return self.nbytes

    def __bytes__(self) -> bytes:
        return bytes(self._region.read(self._offset, self.nbytes))

    def read(self) -> memoryview:
        """A host copy that is the caller's own; blocking. Raises Internal."""
        return self._region.read(self._offset, self.nbytes)


class DeviceTensor(DeviceBuffer):
    """An output that was left on a device, for whoever takes it next as an input.

    It has what is asked of an array on its way there: type, shape, rows of it, another shape.
    """

    __slots__ = ("dtype", "shape")
    flags: Final = SimpleNamespace(c_contiguous=True)

    def __init__(
        self, region: DeviceRegion, offset: int, dtype: "np.dtype[Any]", shape: tuple[int, ...]
    ) -> None:
        super().__init__(region, offset, dtype.itemsize * math.prod(shape))
        self.dtype = dtype
        self.shape = shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, rows: slice) -> "DeviceTensor":
        """Rows that follow one another."""
        start, stop, _ = rows.indices(self.shape[0])
        row = self.nbytes // self.shape[0] if self.shape[0] else 0
        shape = (max(0, stop - start), *self.shape[1:])
        return DeviceTensor(self._region, self._offset + start * row, self.dtype, shape)

    def reshape(self, shape: tuple[int, ...]) -> "DeviceTensor":
        """The same bytes. Raises ValueError for a shape of another size."""
        if math.prod(shape) != math.prod(self.shape):
            raise ValueError(f"cannot reshape {list(self.shape)} into {list(shape)}")
        return DeviceTensor(self._region, self._offset, self.dtype, shape)


class DeviceWindow(_Part):
    """The part of a region on a device that one output may fill.

    An executor may copy the output there on the device, and says so by ``filled``.
    """

    __slots__ = ("_write", "byte_size", "filled")

    def __init__(self, region: SharedRegion, offset: int, byte_size: int) -> None:
        super().__init__(region, offset)
        self._write = region.write
        self.byte_size = byte_size
        self.filled = False

    def write(self, data: Any) -> None:
        """Copy ``data``, any C-contiguous buffer of at most ``byte_size`` bytes, to the front.

        Nothing is left to do where the output is there already.
        """
        if not self.filled:
            self._write(self._offset, data)
