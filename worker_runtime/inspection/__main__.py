"""``python -m worker_runtime.inspection repository DIR | serve``. Exit 2 is for usage only."""

import json
import sys
from pathlib import Path

from worker_runtime.inspection.repository import inspect_repository
from worker_runtime.inspection.service import answers

_USAGE = "usage: python -m worker_runtime.inspection repository DIR | serve\n"


def main(arguments: list[str]) -> int:
    match arguments:
        case ["repository", directory] if Path(directory).is_dir():
            sys.stdout.write(json.dumps(inspect_repository(Path(directory))) + "\n")
        case ["repository", directory]:
            sys.stderr.write(f"{_USAGE}{directory} is not a directory\n")
            return 2
        case ["serve"]:
            for answer in answers(sys.stdin):
                sys.stdout.write(answer + "\n")
                sys.stdout.flush()
        case _:
            sys.stderr.write(_USAGE)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
