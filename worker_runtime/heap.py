"""What libc's heap keeps of freed memory: glibc's, nothing is done with others."""

import ctypes
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)
# Where glibc comes by itself once a block of 16 MB has been freed.
_LARGEST_BLOCK: Final = 16 << 20
_KEPT: Final = 32 << 20


def keep_freed() -> bool:
    """Have blocks of up to 16 MB, and 32 MB at the end of each heap, used again; whether it will.

    By default memory goes back to the machine from 128 KiB on, or from twice the largest block that
    was freed: a server of tensors of 600 KB gave it back after, and faulted it in page by page
    before, each request.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None:
        return False
    done = (set_option(_TRIM_THRESHOLD, _KEPT), set_option(_MMAP_THRESHOLD, _LARGEST_BLOCK))
    return all(done)


def trim() -> None:
    """Give pages that are free back to the machine, all of them."""
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)
