"""Events about nodes."""

from typing import Any

from controlplane.core import events
from controlplane.core.models import Event


def node_record(
    name: str,
    verb: str,
    message: str,
    severity: Event.Severity = Event.Severity.INFO,
    data: dict[str, Any] | None = None,
) -> None:
    events.record(
        actor="system",
        verb=verb,
        subject=f"node/{name}",
        message=message,
        severity=severity,
        data=data,
    )
