"""``python -m worker_runtime``: flags to settings to a server; the exit code says how it went."""

import gc
import importlib
import sys

gc.disable()  # why: it would look a hundred times through what stays for good; see ``main``

from worker_runtime.config import HelpRequested, UsageError, help_text, parse  # noqa: E402
from worker_runtime.process import serve  # noqa: E402

# What nearly every replica of a node imports later: files are looked at where code is limited.
_LATER = ("worker_runtime.files.contents", "worker_runtime.files.graphs", "encodings.idna")


def preload() -> None:
    """For a process that forks others, which then have it: no threads are started, and no device
    is opened."""
    for name in _LATER:
        importlib.import_module(name)


def main(arguments: list[str]) -> int:
    """Run until stopped. 0 after a clean stop, 1 for a bad command line or a failed start."""
    gc.freeze()  # what was imported is never looked at again
    gc.enable()
    try:
        settings = parse(arguments)
    except HelpRequested:
        sys.stdout.write(help_text())
        return 0
    except UsageError as error:
        # why the reason last: it stays in sight below the long list, as Triton has it.
        sys.stderr.write(f"{help_text()}\n{error}\n")
        return 1
    for line in settings.deprecations:
        sys.stderr.write(f"{line}\n")
    return serve(settings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
