"""`python -I -S .../sandbox/__main__.py PROGRAM ARGUMENTS`: reads a plan from its standard input,
confines itself as that says, and becomes the program. With `--probe` instead it tells as JSON which
of the plan's steps this machine allows.

Nothing of the program's environment or folders is looked at before: whoever may write there would
else run code outside.
"""

import json
import os
import sys
from pathlib import Path

# why by hand: isolated Python knows neither the folder of this file nor installed packages
sys.path.append(str(Path(__file__).parents[2]))

from node_agent.launcher import FAILED, plan, probe
from node_agent.launcher.confinement import confine


def main() -> int:
    """Does not return where all is well."""
    command = sys.argv[1:]
    wanted = plan.load(sys.stdin.buffer.read())
    if command == ["--probe"]:
        json.dump(probe.offers(wanted, confine), sys.stdout)
        return 0
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        confine(wanted)
        os.execve(command[0], command, wanted.environment)  # noqa: S606 - becoming it is our purpose
    except OSError as error:
        sys.stderr.write(f"the sandbox could not be made: {error}\n")
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
