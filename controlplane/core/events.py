"""The one way to say that something happened: an audit row, a hint to live sockets on commit."""

from typing import Any

from controlplane.core import fanout, seals
from controlplane.core.models import Event

EVENTS_GROUP = "events"


def record(
    *,
    actor: str,
    verb: str,
    subject: str,
    message: str,
    severity: Event.Severity = Event.Severity.INFO,
    data: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> Event:
    """Append an event in the caller's transaction; sockets hear of it once that commits.

    ``before`` and ``after`` are what a change was about, by field; never secrets.
    """
    told = dict(data or {})
    if before is not None:
        told["before"] = before
    if after is not None:
        told["after"] = after
    event = Event(
        actor=actor,
        verb=verb,
        subject=subject,
        message=message,
        severity=severity,
        data=told,
    )
    event.mac = seals.event_mac(event)
    event.save(force_insert=True)
    # A hint only: sockets also look at the table now and then, a lost hint costs a second.
    fanout.send_on_commit(
        EVENTS_GROUP, {"type": "event.recorded", "seq": event.seq, "subject": subject}
    )
    return event
