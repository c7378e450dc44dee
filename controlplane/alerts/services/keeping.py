"""History that is old enough is dropped."""

from datetime import datetime

from controlplane.alerts.models import Alert, Delivery, Silence
from controlplane.alerts.types import KEEP_DELIVERIES, KEEP_RESOLVED, AlertState, DeliveryStatus


def alerts_prune(*, now: datetime) -> int:
    """Drop alerts that were resolved, silences that ended and deliveries that were made long ago.
    Returns how many alerts."""
    old = now - KEEP_RESOLVED
    Silence.objects.filter(ends_at__lt=old).delete()
    gone = Delivery.objects.filter(created_at__lt=now - KEEP_DELIVERIES)
    gone.exclude(status=DeliveryStatus.WAITING).delete()
    return Alert.objects.filter(state=AlertState.RESOLVED, resolved_at__lt=old).delete()[0]
