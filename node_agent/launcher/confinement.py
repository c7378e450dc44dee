"""All steps of a plan, taken by the process that calls."""

import os

from node_agent.launcher import landlock, plan, privileges, seccomp, view


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
            cuda=wanted.cuda,
        )


def rules(wanted: plan.Plan) -> list[tuple[str, int]]:
    """What the plan allows, in Landlock's terms."""
    return [
        *((path, landlock.READ) for path in wanted.read),
        *((path, landlock.LIST) for path in wanted.listed),
        *((path, landlock.OWN) for path in wanted.write),
        *((path, landlock.SHARE) for path in wanted.share),
        *((path, landlock.DEVICE) for path in wanted.devices),
        *([("/proc", landlock.WRITE_FILE | landlock.TRUNCATE)] if wanted.cuda else ()),
        *([(view.TEMPORARY, landlock.OWN)] if wanted.temporary and wanted.namespaces else ()),
    ]
