"""What is wrong with a file or an entity, all of it at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.client.errors import ShoalError


@dataclass(frozen=True, slots=True)
class Fault:
    """``where`` is the path of the key, as in ``request_settings.request_timeout_ms``; ``line``
    that of the file, where it stands in one."""

    where: str
    text: str
    hint: str = ""
    line: int | None = None

    def __str__(self) -> str:
        told = f"{self.where}: {self.text}"
        return told if self.line is None else f"line {self.line}, {told}"


class EntityInvalid(ShoalError):
    """``faults`` names every key at fault; ``code`` is ``BadArgument``, as in Azure."""

    code = "BadArgument"

    def __init__(self, what: str, faults: Sequence[Fault]) -> None:
        super().__init__(
            f"{what} is not valid",
            "\n".join(map(str, faults)),
            [fault.hint for fault in faults if fault.hint],
        )
        self.faults = tuple(faults)
