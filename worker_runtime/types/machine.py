"""What instances can be placed on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    cores: int
    gpus: int = 0
