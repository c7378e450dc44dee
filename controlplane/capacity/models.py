"""The prices of the installation: one row."""

from typing import Final

from django.db import models

from controlplane.core.models import Stamped

THE_ONE: Final = 1


class Prices(Stamped):
    """What an hour of an instance type or of a node costs. Without the row nothing has a price."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=THE_ONE)
    currency = models.CharField(max_length=16, blank=True)
    instance_types = models.JSONField(default=dict, blank=True)  # name -> per hour
    nodes = models.JSONField(default=dict, blank=True)  # name -> per hour
    labels = models.JSONField(default=list, blank=True)  # {key, value, per_hour}: first that fits

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=THE_ONE), name="one_row_of_prices")
        ]

    def __str__(self) -> str:
        return f"prices in {self.currency or 'no currency'}"
