"""How a protocol writes settings down: the same rules, in its own terms."""

from enum import Enum, auto


class Dialect(Enum):
    """JSON: values as in a JSON body. LISTS: gRPC's, lists of texts or typed values."""

    JSON = auto()
    LISTS = auto()
