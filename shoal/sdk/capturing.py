"""What a deployment's file says of captured data, in Shoal's words or Azure's."""

from shoal.entities import OnlineDeployment
from shoal.entities.base import Values, plain
from shoal.entities.errors import EntityInvalid, Fault
from shoal.entities.settings import DataCollector
from wire.data_collector import NotCollected, captured


def capture_of(deployment: OnlineDeployment) -> Values | None:
    """REST's ``capture``; empty: the file switches it off. None: it says nothing of it.

    Raises EntityInvalid, which names what Shoal does not collect.
    """
    if deployment.capture is not None:
        return dict(deployment.capture)
    return collected(deployment.data_collector)


def collected(collector: DataCollector | None) -> Values | None:
    """The same of the block alone."""
    if collector is None:
        return None
    try:
        return captured(plain(collector))
    except NotCollected as error:
        faults = [Fault(f"data_collector.{where}", what) for where, what in error.faults]
        raise EntityInvalid("The deployment", faults) from error
