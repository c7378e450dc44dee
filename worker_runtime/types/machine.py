"""What instances can be placed on."""

from msgspec import Struct


class Machine(Struct, frozen=True):
    cores: int
    gpus: int = 0
