"""What a table says about one flag."""

from enum import StrEnum

from msgspec import Struct

INT32 = 2**31 - 1
PORT = 65535


class Kind(StrEnum):
    """What a value must be. A switch takes none."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "float"
    BOOLEAN = "boolean"
    SWITCH = "switch"


class Flag(Struct, frozen=True):
    """``shape`` is what --help shows for the value where the kind says too little.

    ``low`` and ``high`` bound integers. ``effect`` False: checked and accepted with a warning,
    because nothing here could follow it. ``ours``: Triton does not have it.
    """

    name: str
    kind: Kind
    text: str
    default: str = ""
    shape: str = ""
    low: int = -INT32 - 1
    high: int = INT32
    effect: bool = True
    ours: bool = False


class Group(Struct, frozen=True):
    title: str
    flags: tuple[Flag, ...]
