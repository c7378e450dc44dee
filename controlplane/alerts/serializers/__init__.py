"""Shapes of objectives, alerts, silences and channels on the wire."""

from typing import Any

from rest_framework import serializers


class NumberField(serializers.FloatField):
    """A number, and not what Python takes for one."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool):
            self.fail("invalid")
        return super().to_internal_value(data)
