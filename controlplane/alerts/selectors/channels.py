"""Channels and their deliveries: found, and as the API shows them."""

from typing import Any

from django.db.models import QuerySet

from controlplane.alerts.errors import ChannelNotFound, DeliveryNotFound
from controlplane.alerts.models import Channel, Delivery


def channel_list() -> QuerySet[Channel]:
    return Channel.objects.all()


def channel_get(name: str) -> Channel:
    """Raises ChannelNotFound."""
    row = Channel.objects.filter(pk=name).first()
    if row is None:
        raise ChannelNotFound(f"There is no channel called {name[:60]!r}.")
    return row


def delivery_list(channel: Channel) -> QuerySet[Delivery]:
    return channel.deliveries.all()


def delivery_get(channel: str, delivery_id: str) -> Delivery:
    """Raises DeliveryNotFound."""
    rows = Delivery.objects.select_related("channel")
    row = rows.filter(channel=channel, pk=delivery_id).first()
    if row is None:
        raise DeliveryNotFound(f"{channel[:60]} has no delivery {delivery_id[:60]!r}.")
    return row


def channel_shown(row: Channel) -> dict[str, Any]:
    """Neither its URL, of which a part may be a secret, nor the secret."""
    names = ("name", "kind", "enabled", "address", "recipients", "severities", "projects")
    return {
        **{name: getattr(row, name) for name in names},
        "signed": bool(row.secret),
        "created_by": row.created_by,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def delivery_shown(row: Delivery) -> dict[str, Any]:
    names = (
        "id", "event", "alert", "status", "attempts", "next_at", "created_at", "delivered_at",
        "replay_of", "log", "message",
    )  # fmt: skip
    return {"channel": row.channel_id, **{name: getattr(row, name) for name in names}}
