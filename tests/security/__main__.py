"""``make security``: what an attacker tries on a fresh installation, and how each of it ended.

    python -m tests.security [PART ...]

Prints a line for each try: refused, held, BROKEN, or "not here" where this machine cannot show it.
The exit code is 1 when anything is broken. The parts are those of ``PARTS``.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.security import (
    agents,
    audit,
    credentials,
    headers,
    listeners,
    modes,
    replicas,
    roles,
    uploads,
)
from tests.security.ground import Ground
from tests.security.tries import Try, table
from tests.support import reaper

PARTS: dict[str, Callable[[Ground], Iterator[Try]]] = {
    headers.PART: headers.tries,
    roles.PART: roles.tries,
    listeners.PART: listeners.tries,
    modes.PART: modes.tries,
    credentials.PART: credentials.tries,
    agents.PART: agents.tries,
    uploads.PART: uploads.tries,
    replicas.PART: replicas.tries,
    audit.PART: audit.tries,
}


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.security", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    options = parser.parse_args()
    reaper.guard()
    tries: list[Try] = []
    with tempfile.TemporaryDirectory(prefix="shoal-security-") as folder:
        say("== make up, on free ports")
        ground = Ground.start(Path(folder) / "home", replicas.SETTINGS)
        try:
            for name in options.parts or PARTS:
                found = list(PARTS[name](ground))
                say(f"== {name}\n{table(found)}")
                tries += found
        finally:
            ground.product.stop()
    counts = Counter(row.outcome for row in tries)
    say(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return 1 if counts["BROKEN"] or not tries else 0


if __name__ == "__main__":
    sys.exit(main())
