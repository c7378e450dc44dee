"""Pure: whether an error's words say that the memory of a GPU ran out, and how much was wanted."""

import re
from typing import Final

# A line must say both: memory alone may be the machine's, a GPU alone any other trouble.
_MEMORY: Final = re.compile(
    r"out[ _]?of[ _]?memory|ALLOC_FAILED|cudaErrorMemoryAllocation|\bOOM\b"
    r"|failed to allocate|could not allocate",
    re.IGNORECASE,
)
_ON_A_GPU: Final = re.compile(
    r"\bcuda|\bcublas|\bcudnn|\bhip\b|\bgpu(?![a-z])|\bTensorRT\b|resizePhysical", re.IGNORECASE
)
_UNITS: Final = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = r"(\d+(?:\.\d+)?) ?(KiB|MiB|GiB|TiB|B|)\b"
# PyTorch and ONNX Runtime name what was asked for last; PyTorch also what the process has by then.
_TRIED: Final = re.compile(rf"(?:Tried to allocate|requested buffer of size) {_SIZE}", re.I)
_HELD: Final = re.compile(rf"this process has {_SIZE} memory in use", re.I)


def gpu_memory_ran_out(reason: str) -> bool:
    return any(_MEMORY.search(line) and _ON_A_GPU.search(line) for line in reason.splitlines())


def gpu_bytes_wanted(reason: str) -> int:
    """At least so many bytes of one GPU would have been needed; 0 where the words do not say."""
    tried = [_bytes(*found) for found in _TRIED.findall(reason)]
    held = [_bytes(*found) for found in _HELD.findall(reason)]
    return max(tried) + max(held, default=0) if tried else 0


def _bytes(number: str, unit: str) -> int:
    return int(float(number) * _UNITS[unit.upper()])
