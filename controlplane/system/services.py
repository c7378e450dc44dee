"""The one write of this app."""

from datetime import datetime

from controlplane.system.models import Pulse


def pulse_note(*, queue: str, worker: str, sent_at: float | None, now: datetime) -> None:
    """A job of ``queue`` is being done. ``sent_at`` is when beat sent it, in seconds of Unix time.

    Clocks of two machines may differ: a wait is never less than none.
    """
    waited_s = None if sent_at is None else max(0.0, now.timestamp() - sent_at)
    Pulse.objects.update_or_create(
        queue=queue, defaults={"at": now, "worker": worker, "waited_s": waited_s}
    )
