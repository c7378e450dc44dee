"""Pure: very many replicas are fetched and started some at a time, one wave after the other."""

from dataclasses import dataclass

from controlplane.operations.reconcile.values import Case, R, missing_ordinals


@dataclass(frozen=True, slots=True)
class Wave:
    """Where an operation stands: ``room`` more replicas may be placed now, ``left`` wait."""

    number: int
    of: int
    room: int
    left: int

    @property
    def text(self) -> str:
        """Empty where everything goes at once."""
        return f"wave {self.number} of {self.of}" if self.of > 1 else ""


def wave_of(case: Case) -> Wave:
    """By what the operation has placed so far; with a size of 0 there is one wave, of all."""
    own = case.own()
    left = len(missing_ordinals(case.replicas, case.instance_count))
    size = case.wave_size or max(len(own) + left, 1)
    room = max(0, size - sum(replica.state != R.READY for replica in own))
    begun = len(own) + min(room, left)
    return Wave(
        number=max(1, waves(begun, size)), of=waves(len(own) + left, size), room=room, left=left
    )


def waves(replicas: int, size: int) -> int:
    """How many waves that many replicas take; at least one."""
    return max(1, -(-replicas // size)) if size else 1
