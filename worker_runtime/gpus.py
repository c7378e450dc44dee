"""GPUs as NVML, the driver's library, tells of them: the runtime and the node's agent ask here.

By UUID throughout. CUDA numbers its devices by CUDA_DEVICE_ORDER and CUDA_VISIBLE_DEVICES, NVML the
cards by their place on the PCI bus; and a card in MIG mode is no device, its MIG devices are.
"""

import logging
import math
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Self

logger = logging.getLogger(__name__)

MIG: Final = "MIG-"
CARD: Final = "GPU-"
_PROFILE: Final = re.compile(r"\bMIG (\d+c\.)?\d+g\.\d+gb")
_NUMBER: Final = re.compile(r"\s*[+-]?[0-9]+")
_MIG_ON: Final = 1
_SLICES: Final = 8  # into which a card's memory is divided at most
_MIB: Final = 2**20
_GIB: Final = 2**30


class NvmlFailed(Exception):
    """There is no driver, or the library refuses, or it does not know the device."""


class Memory(NamedTuple):
    used: int
    total: int


class Card(NamedTuple):
    """``devices``: UUIDs of what CUDA can use of it: its own, or those of its MIG devices."""

    uuid: str
    devices: tuple[str, ...]


def visible(cards: Sequence[Card], text: str | None) -> list[str]:
    """UUIDs of the devices that a CUDA_VISIBLE_DEVICES leaves, in its order; None leaves all.

    ``cards`` in the order of the PCI bus, in which numbers count (CUDA_DEVICE_ORDER=PCI_BUS_ID).
    As CUDA reads it: of a card's UUID the beginning is enough, what names nothing ends the list (a
    UUID behind a space names nothing, a number does), who names a device twice gets none. A card in
    MIG mode stands for all of its MIG devices: who starts processes can give each of them to one,
    though CUDA shows a process only the first.
    """
    if text is None:
        return [uuid for card in cards for uuid in card.devices]
    kind = text[: len(MIG)]
    single = [Card(uuid, (uuid,)) for card in cards for uuid in card.devices]
    named = single if kind == MIG else cards
    chosen: list[int] = []
    for name in text.split(","):
        place = _place(name, kind, named)
        if place is None:
            break
        if place in chosen:
            return []
        chosen.append(place)
    return [uuid for place in chosen for uuid in named[place].devices]


def _place(name: str, kind: str, named: Sequence[Card]) -> int | None:
    """Where among ``named`` a name leads, of the kind that the first of all is of."""
    if kind not in (CARD, MIG):
        number = _NUMBER.match(name)  # as strtol reads it: what follows the digits does not matter
        return int(number[0]) if number and 0 <= int(number[0]) < len(named) else None
    if not name.startswith(kind):
        return None
    uuids = [card.uuid for card in named]
    if kind == MIG:
        return uuids.index(name) if name in uuids else None
    meant = [place for place, uuid in enumerate(uuids) if uuid.startswith(name)]
    return meant[0] if len(meant) == 1 else None


class Nvml:
    """The library, open until it is closed. Raises NvmlFailed where there is no driver."""

    def __init__(self) -> None:
        import pynvml  # noqa: PLC0415 # 8,000 lines, for machines with GPUs

        self._library: Any = pynvml
        self.ask("nvmlInit")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._library.nvmlShutdown()

    def ask(self, function: str, *about: Any) -> Any:
        """What one of its functions returns. Raises NvmlFailed with its words."""
        try:
            return getattr(self._library, function)(*about)
        except self._library.NVMLError as error:
            raise NvmlFailed(f"{function}: {error}") from error

    def told(self, function: str, *about: Any) -> Any:
        """The same; None where the device, the driver or our rights do not allow the question."""
        try:
            return self.ask(function, *about)
        except NvmlFailed as error:
            logger.debug("%s", error)
            return None

    def driver_version(self) -> str:
        """Empty where it is not told."""
        return _text(self.told("nvmlSystemGetDriverVersion") or "")

    def devices(self, visible_devices: str | None = None) -> list["Device"]:
        """Those that a CUDA_VISIBLE_DEVICES leaves, in its order. Raises NvmlFailed.

        A card that cannot be read is left out and logged, the others stay.
        """
        found = [self._of_card(number) for number in range(self.ask("nvmlDeviceGetCount"))]
        known = {device.uuid: device for _, devices in found for device in devices}
        cards = [Card(uuid, tuple(item.uuid for item in devices)) for uuid, devices in found]
        return [known[uuid] for uuid in visible(cards, visible_devices)]

    def device(self, uuid: str) -> "Device":
        """The card or MIG device that CUDA calls so: a UUID without NVML's prefix.

        Raises NvmlFailed.
        """
        refused = []
        for name in (CARD + uuid, MIG + uuid):
            try:
                return Device(self, self.ask("nvmlDeviceGetHandleByUUID", name))
            except NvmlFailed as error:
                refused.append(f"{name}: {error}")
        raise NvmlFailed("; ".join(refused))

    def _of_card(self, number: int) -> tuple[str, list["Device"]]:
        """Its UUID and devices: itself, or those that it was divided into."""
        try:
            card = Device(self, self.ask("nvmlDeviceGetHandleByIndex", number))
        except NvmlFailed as error:
            logger.warning("GPU %d cannot be read: %s", number, error)
            return "", []
        modes = self.told("nvmlDeviceGetMigMode", card.handle)  # now, and from the next reset on
        return card.uuid, self._migs(card) if modes and modes[0] == _MIG_ON else [card]

    def _migs(self, card: "Device") -> list["Device"]:
        found = []
        for index in range(self.told("nvmlDeviceGetMaxMigDeviceCount", card.handle) or 0):
            # why silent: of the numbers that there can be, many have no device
            handle = self.told("nvmlDeviceGetMigDeviceHandleByIndex", card.handle, index)
            if handle is not None:
                found.append(Device(self, handle))
        return found


class Device:
    """A card, or a MIG device. What it cannot tell is None; NvmlFailed where it must be known."""

    def __init__(self, nvml: Nvml, handle: Any) -> None:
        self._nvml = nvml
        self.handle = handle
        self.uuid = _text(nvml.ask("nvmlDeviceGetUUID", handle))
        self.mig = self.uuid.startswith(MIG)

    def name(self) -> str:
        """The product; of a MIG device also its profile, as in ``NVIDIA H100 MIG 1g.10gb``."""
        name = _text(self._nvml.ask("nvmlDeviceGetName", self.handle))
        if not self.mig:
            return name
        try:
            card = self._card()
            product = card.name()
            own = name if _PROFILE.search(name) else f"MIG {self._profile(card)}"
        except NvmlFailed as error:
            logger.debug("%s has no profile: %s", self.uuid, error)
            return name
        return own if own.startswith(product) else f"{product} {own}"

    def memory(self) -> Memory:
        """Bytes, whoever uses them. Raises NvmlFailed."""
        found = self._nvml.ask("nvmlDeviceGetMemoryInfo", self.handle)
        return Memory(int(found.used), int(found.total))

    def memory_by_process(self) -> dict[int, int]:
        """Process id -> bytes, of those that compute there. Without what is not told: in a
        container that does not see the machine's process ids none of them may be known."""
        found = self._nvml.told("nvmlDeviceGetComputeRunningProcesses", self.handle) or ()
        return {int(one.pid): int(one.usedGpuMemory) for one in found if one.usedGpuMemory}

    def utilization(self) -> float | None:
        """0..1: the share of the last moments in which a kernel ran."""
        rates = self._of_card("nvmlDeviceGetUtilizationRates")
        return None if rates is None else float(rates.gpu) / 100

    def temperature_c(self) -> float | None:
        celsius = self._of_card("nvmlDeviceGetTemperature", 0)  # NVML_TEMPERATURE_GPU
        return None if celsius is None else float(celsius)

    def power_w(self) -> float | None:
        return _thousandth(self._of_card("nvmlDeviceGetPowerUsage"))

    def power_limit_w(self) -> float | None:
        return _thousandth(self._of_card("nvmlDeviceGetPowerManagementLimit"))

    def energy_j(self) -> float | None:
        """Since the driver was loaded."""
        return _thousandth(self._of_card("nvmlDeviceGetTotalEnergyConsumption"))

    def _of_card(self, function: str, *about: Any) -> Any:
        """why never of a MIG device: a driver that answers speaks of the whole card, for each."""
        return None if self.mig else self._nvml.told(function, self.handle, *about)

    def _card(self) -> "Device":
        handle = self._nvml.ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", self.handle)
        return Device(self._nvml, handle)

    def _profile(self, card: "Device") -> str:
        """As NVIDIA names them: slices of compute where they are fewer, of the card, and memory.

        The memory is its share of the card's in eighths, rounded up, of the card's gigabytes: a
        ``1g.18gb`` has 16 GiB.
        """
        has = self._nvml.ask("nvmlDeviceGetAttributes", self.handle)
        total = card.memory().total
        eighths = math.ceil(has.memorySizeMB * _MIB * _SLICES / total)
        size = math.floor(eighths * math.ceil(total / _GIB) / _SLICES + 0.5)
        part = has.computeInstanceSliceCount < has.gpuInstanceSliceCount
        compute = f"{has.computeInstanceSliceCount}c." if part else ""
        return f"{compute}{has.gpuInstanceSliceCount}g.{size}gb"


def _thousandth(value: Any) -> float | None:
    return None if value is None else float(value) / 1000


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
