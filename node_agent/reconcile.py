"""Pure: from what is desired and what is known to what must be done."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wire.messages import DesiredReplica


@dataclass(frozen=True, slots=True)
class Known:
    """A replica that this agent runs, ran, or found in its journal. `stopping` is past recall."""

    generation: int
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """Nothing of it exists here."""

    replica: DesiredReplica


@dataclass(frozen=True, slots=True)
class Replace:
    """It exists at an older generation: drain and stop that, then start this."""

    replica: DesiredReplica


@dataclass(frozen=True, slots=True)
class Stop:
    replica_id: str


@dataclass(frozen=True, slots=True)
class Keep:
    """It exists at this generation; a failed one stays failed until a new generation."""

    replica: DesiredReplica


Action = Start | Replace | Stop | Keep


def actions(desired: Iterable[DesiredReplica], known: Mapping[str, Known]) -> list[Action]:
    """What to do, stops first so that they free memory and disk for the starts.

    A desired generation below the known one is an old answer that overtook a newer one: kept as is.
    A replica that is stopping is started only once it is gone, by a later pass.
    """
    wanted = {replica.replica_id: replica for replica in desired}
    stops: list[Action] = [
        Stop(replica_id)
        for replica_id, have in known.items()
        if replica_id not in wanted and not have.stopping
    ]
    rest: list[Action] = []
    for replica_id, replica in wanted.items():
        have = known.get(replica_id)
        if have is None:
            rest.append(Start(replica))
        elif have.stopping:
            continue
        elif replica.generation > have.generation:
            rest.append(Replace(replica))
        else:
            rest.append(Keep(replica))
    return stops + rest
