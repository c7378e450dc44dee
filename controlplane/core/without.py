"""Libraries import whatever is installed, for features that nobody here uses."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(*names: str) -> Iterator[None]:
    """What is imported inside does not find the modules ``names``, as if they were not installed.

    Those that were imported before stay. For one thread, while a process starts.
    """
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment] # what the import system takes for absent
    try:
        yield
    finally:
        for name in hidden:
            if sys.modules.get(name) is None:
                del sys.modules[name]
