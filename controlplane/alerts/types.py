"""Values of alerts: states, severities, what channels speak."""

from datetime import timedelta
from typing import Final

from django.db import models


class AlertState(models.TextChoices):
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class Severity(models.TextChoices):
    PAGE = "page"  # somebody should look at once
    TICKET = "ticket"  # somebody should look tomorrow


class ThresholdKind(models.TextChoices):
    """What may have a threshold of its own."""

    PROJECT = "project"
    ENDPOINT = "endpoint"
    NODE = "node"


class ChannelKind(models.TextChoices):
    WEBHOOK = "webhook"
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"
    EMAIL = "email"


class DeliveryStatus(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


# Why an alert was resolved; why nothing can be told of a queue.
HOLDS_AGAIN: Final = "The rule holds again."
SUBJECT_GONE: Final = "What it was about is not there any more."
RULE_OFF: Final = "The rule is off."
NOT_SAMPLED: Final = "Its replicas were not sampled."
ACTIVE: Final = (AlertState.PENDING, AlertState.FIRING)
LOOK_EVERY_S: Final = 15.0
KEEP_RESOLVED: Final = timedelta(days=90)
KEEP_DELIVERIES: Final = timedelta(days=30)
# Alertmanager forgets what it is not told again.
REPEAT_AFTER: Final = timedelta(hours=1)
FORGOTTEN_AFTER: Final = timedelta(hours=3)
