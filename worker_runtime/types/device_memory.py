"""Memory of a device that a client shares, as requests carry it: no byte of it is on the host."""

from typing import Any, Protocol


class DeviceRegion(Protocol):
    """A registered region on a device. Its functions raise Internal when the driver refuses."""

    device_id: int

    def pointer(self, offset: int) -> int:
        """The device address of a byte of it."""
        ...

    def read(self, offset: int, byte_size: int) -> memoryview:
        """A host copy; blocking."""
        ...

    def write(self, offset: int, data: Any) -> None:
        """Copy a host buffer there; blocking."""
        ...

    def hold(self) -> Any:
        """Something that keeps the region open for as long as it is kept."""
        ...


class DeviceBuffer:
    """An input that lies on a device; the region stays open for as long as this is held.

    ``bytes()`` of it is a host copy, for whatever needs one.
    """

    __slots__ = ("_hold", "_offset", "_region", "nbytes")

    def __init__(self, region: DeviceRegion, offset: int, byte_size: int) -> None:
        self._region = region
        self._offset = offset
        self._hold = region.hold()
        self.nbytes = byte_size

    @property
    def device_id(self) -> int:
        return self._region.device_id

    @property
    def pointer(self) -> int:
        return self._region.pointer(self._offset)

    def __len__(self) -> int:
        return self.nbytes

    def __bytes__(self) -> bytes:
        return bytes(self._region.read(self._offset, self.nbytes))


class DeviceWindow:
    """The part of a region on a device that one output may fill; holding it keeps the region.

    An executor may copy the output there on the device, and says so by ``filled``.
    """

    __slots__ = ("_hold", "_offset", "_region", "byte_size", "filled")

    def __init__(self, region: DeviceRegion, offset: int, byte_size: int) -> None:
        self._region = region
        self._offset = offset
        self._hold = region.hold()
        self.byte_size = byte_size
        self.filled = False

    @property
    def device_id(self) -> int:
        return self._region.device_id

    @property
    def pointer(self) -> int:
        return self._region.pointer(self._offset)

    def write(self, data: Any) -> None:
        """Copy ``data``, any C-contiguous buffer of at most ``byte_size`` bytes, to the front.

        Nothing is left to do where the output is there already.
        """
        if not self.filled:
            self._region.write(self._offset, data)
