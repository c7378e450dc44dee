"""Numbers in bodies of requests."""

import math
from typing import Any

from rest_framework import serializers


class NumberField(serializers.FloatField):
    """A finite number, and not what Python makes one of: true, or the text ``nan``."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):
            self.fail("invalid")
        number = float(super().to_internal_value(data))
        if not math.isfinite(number):
            self.fail("invalid")
        return number
