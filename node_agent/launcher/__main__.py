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

from node_agent.launcher import FAILED, landlock, plan, privileges, probe, seccomp, view


def confine(wanted: plan.Plan) -> None:
    """All steps of the plan, in an order in which none takes from a later one what that needs.

    Raises OSError for the first that the kernel refuses.
    """
    privileges.end_first_without_memory()
    if wanted.cgroup:
        privileges.enter_cgroup(wanted.cgroup)
    if wanted.namespaces:
        # why: the folders on the way to what is shown are to be passed, whatever our parent's mask
        os.umask(0o022)
        view.enter(network=wanted.network == "loopback")
        view.arrange(wanted)
    os.umask(0o077)
    privileges.limit(wanted.limits)
    privileges.bound()
    if wanted.user:
        privileges.become(wanted.user, wanted.groups)
    os.chdir(wanted.folder)
    privileges.renounce()
    if wanted.landlock:
        landlock.restrict(rules(wanted))
    if wanted.seccomp:
        seccomp.install(
            sockets=wanted.network != "none",
            truncate=landlock.abi() >= landlock.TRUNCATE_ABI,
        )


def rules(wanted: plan.Plan) -> list[tuple[str, int]]:
    """What the plan allows, in Landlock's terms."""
    return [
        *((path, landlock.READ) for path in wanted.read),
        *((path, landlock.LIST) for path in wanted.listed),
        *((path, landlock.OWN) for path in wanted.write),
        *((path, landlock.SHARE) for path in wanted.share),
        *((path, landlock.DEVICE) for path in wanted.devices),
        *([(view.TEMPORARY, landlock.OWN)] if wanted.temporary and wanted.namespaces else ()),
    ]


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
