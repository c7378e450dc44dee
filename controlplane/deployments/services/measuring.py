"""One measurement at a time on a node: load sweeps and tunings would measure each other."""

from controlplane.deployments.errors import SweepInProgress, TuningInProgress
from controlplane.deployments.models import LoadSweep, Replica, Tuning
from controlplane.deployments.types import RUN_ACTIVE, Desired
from controlplane.nodes.models import Node


def measuring_check(node: Node) -> None:
    """In the transaction that begins one, behind a change of the node's row, which makes others
    wait. Raises SweepInProgress, TuningInProgress."""
    # why everything: a node does one at a time, whoever asked for it
    if LoadSweep.everything.filter(node=node, state__in=RUN_ACTIVE).exists():
        raise SweepInProgress(f"A load sweep is under way on {node.name}.")
    if Tuning.everything.filter(node=node, state__in=RUN_ACTIVE).exists():
        raise TuningInProgress(f"A tuning is under way on {node.name}.")


def serving_count(node: Node) -> int:
    """How many replicas there get traffic. Of all projects: they share the machine."""
    rows = Replica.everything.filter(node=node, desired=Desired.RUNNING).values_list(
        "deployment__name", "deployment__endpoint__traffic"
    )
    return sum(bool(traffic.get(name)) for name, traffic in rows)
