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


class DeviceBuffer(_Part):
    """An input that lies on a device. ``bytes()`` of it is a host copy, for whatever needs one."""

    __slots__ = ("nbytes",)

    def __init__(self, region: DeviceRegion, offset: int, byte_size: int) -> None:
        super().__init__(region, offset)
        self.nbytes = byte_size

    def __len__(self) -> int:
        return self.nbytes

    def __bytes__(self) -> bytes:
        return bytes(self._region.read(self._offset, self.nbytes))


class DeviceWindow(_Part):
    """The part of a region on a device that one output may fill.

    An executor may copy the output there on the device, and says so by ``filled``.
    """

    __slots__ = ("byte_size", "filled")

    def __init__(self, region: DeviceRegion, offset: int, byte_size: int) -> None:
        super().__init__(region, offset)
        self.byte_size = byte_size
        self.filled = False

    def write(self, data: Any) -> None:
        """Copy ``data``, any C-contiguous buffer of at most ``byte_size`` bytes, to the front.

        Nothing is left to do where the output is there already.
        """
        if not self.filled:
            self._region.write(self._offset, data)
