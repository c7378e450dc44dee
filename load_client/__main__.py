"""The load client as a process of a node's agent: ``python -m load_client``.

Its standard input is one line, the job, and stays open: once that ends, so does the agent, or it
wants no more, and so does this process. Its standard output is a line for each point, then a last
one. The kernel ends it should it take more of the processor or the clock than it may.
"""

import json
import resource
import select
import signal
import sys
from typing import Final

from load_client.sweep import NothingAnswered, Stopped, run
from load_client.targets import Target, Unreachable
from wire import codec
from wire.load import LoadPlan, LoadPoint

MEMORY_BYTES: Final = 2 << 30


def main() -> int:
    # nothing follows the line: what select() sees later is the end
    job = json.loads(sys.stdin.buffer.readline())
    plan = codec.from_data(LoadPlan, job["plan"])
    longest_s = int(job["longest_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (longest_s, longest_s))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.alarm(longest_s)
    try:
        stopped_by = run(
            plan, Target(job["host"], int(job["port"])), tell=_tell_point, stop=_unwanted
        )
    except NothingAnswered as error:
        _tell({"failed": {"code": "NothingAnswered", "message": str(error), "detail": error.said}})
    except Unreachable as error:
        _tell({"failed": {"code": "ReplicaUnreachable", "message": f"{error}.", "detail": ""}})
    except Stopped:
        return 1
    except ValueError as error:
        _tell({"failed": {"code": "BadArgument", "message": f"{error}.", "detail": ""}})
    else:
        _tell({"stopped_by": stopped_by})
    return 0


def _unwanted() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def _tell_point(point: LoadPoint) -> None:
    _tell({"point": codec.as_data(point)})


def _tell(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
